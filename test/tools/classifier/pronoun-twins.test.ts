// Tests of tools/classifier/pronoun-twins.ts, and that the shipped classifier judges women and men alike.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { loadEngine } from '../../../plugins/classify/engine/index.ts';
import { ownRows, unseenRows } from '../../../tools/classifier/own-rows.ts';
import type { Row } from '../../../tools/classifier/corpus.ts';
import { pronounFigures } from '../../../tools/classifier/cross-check.ts';
import { pronounTwin, withTwins } from '../../../tools/classifier/pronoun-twins.ts';

const FOLDER = fileURLToPath(new URL('../../../tools/classifier/data', import.meta.url));

describe('the twin of a text', () => {
  it('has each pronoun of the other gender', () => {
    for (const [text, twin] of [
      ['We gave her the job; tell her so.', 'We gave him the job; tell him so.'],
      ['Her skills fit, and hers alone.', 'His skills fit, and his alone.'],
      ['He’s late. HE said his boss likes him.', "She's late. She said her boss likes her."],
      ['He did it himself, and she did not.', 'She did it herself, and he did not.'],
    ] as const)
      assert.equal(pronounTwin(text), twin);
  });

  it('does not exist for a text without a pronoun, as in "the theory of ushers"', () => {
    assert.equal(pronounTwin('The theory of ushers, there and here.'), null);
  });

  it('is added to its training text at half of the weight, and to no other text', () => {
    const row: Row = {
      ...{ set: 'own', text: 'Hire her.', domain: 'hiring', targets: [0, 0, 0] },
      ...{ weights: [1, 8, 3], split: 'train', fold: 1, tag: '' },
    };
    const twins = withTwins([row]);
    assert.deepEqual(
      twins.map(({ text, weights }) => [text, weights]),
      [
        ['Hire her.', [0.5, 4, 1.5]],
        ['Hire him.', [0.5, 4, 1.5]],
      ],
    );
    for (const other of [
      { ...row, split: 'test' as const },
      { ...row, set: 'surge' },
    ])
      assert.deepEqual(withTwins([other]), [other]);
    const held: Row = { ...row, text: 'Hire him!', split: 'test' };
    assert.deepEqual(withTwins([row, held]), [row, held]);
  });
});

describe('the classifier', () => {
  it('alarms about women as often as about men in the same lawful words', () => {
    const hiring = unseenRows(FOLDER).filter(({ domain }) => domain === 'hiring');
    const rows = [...hiring, ...ownRows(FOLDER).filter(({ set }) => set === 'hiring')];
    const lawful = rows.filter(({ split, targets }) => split === 'test' && !targets.includes(1));
    const figures = pronounFigures(loadEngine(), lawful);
    assert.ok(figures.texts > 150, String(figures.texts));
    assert.ok(Math.abs(figures.alarms_she - figures.alarms_he) <= 3, JSON.stringify(figures));
    assert.ok(Math.abs(figures.difference_milli) <= 15, JSON.stringify(figures));
  });

  it('does not classify a plain decision as a violation', () => {
    for (const text of ['We should hire her', "Let's hire him", 'We will make her an offer'])
      assert.equal(loadEngine().classify(text, 'hiring').classification, 'SAFE', text);
  });
});
