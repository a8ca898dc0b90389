// Tests of plugins/classify/engine/repeats.ts, and of the effect of repetition on a verdict.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { loadEngine } from '../../../../plugins/classify/engine/index.ts';
import { normalise } from '../../../../plugins/classify/engine/normalise.ts';
import { withoutRepeats } from '../../../../plugins/classify/engine/repeats.ts';
import { loadTables } from '../../../../plugins/classify/engine/tables.ts';
import { tokenise } from '../../../../plugins/classify/engine/tokens.ts';

const engine = loadEngine();
const { vocabulary } = loadTables();

function shortened(original: string): string | undefined {
  const { text } = normalise(original);
  return withoutRepeats(text, tokenise(text, vocabulary));
}

describe('repetition', () => {
  it('is read twice and then left out', () => {
    assert.equal(shortened('ok. '.repeat(12)), 'ok. ok. ok. ');
    assert.equal(shortened('thank you '.repeat(40)), 'thank you thank you thank ');
    assert.equal(shortened('blorf '.repeat(900)), 'blorf blorf blorf ');
    assert.equal(shortened("don't ".repeat(30)), "don't don't ");
  });

  it('reduces a phrase to the same text however often it is repeated', () => {
    const word = fc.constantFrom('please', 'find', 'blorf', "don't", '12345', 'not', 'kill', '😀');
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (words) => {
        const phrase = `${words.join(' ')}, `;
        assert.equal(shortened(phrase.repeat(300)), shortened(phrase.repeat(40)));
      }),
    );
  });

  it('does not change texts that people write', () => {
    for (const text of [
      'No, no, no. Not again!',
      'ha ha ha ha ha',
      'We sing: row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily, life is but a dream.',
      readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8').slice(0, 30_000),
    ])
      assert.equal(shortened(text), undefined, text.slice(0, 60));
  });

  it('hides nothing between the repetitions', () => {
    const filler = 'lorem ipsum dolor sit amet '.repeat(60);
    const threat = 'I will come to your house and kill you tonight.';
    assert.ok(shortened(`${filler}${threat} ${filler}`)?.includes(threat.toLowerCase()));
    const found = engine.classify(`${filler}${threat} ${filler}`, 'general');
    assert.equal(found.classification, 'VIOLATION');
  });

  it('causes no false alarm', () => {
    for (const piece of ['ok. ', 'the ', 'blorf ', '12345 ', 'thank you very much ', '😀', 'no '])
      for (const times of [1, 8, 30, 300, 1500])
        for (const domain of ['general', 'hiring', 'companion']) {
          const { classification } = engine.classify(piece.repeat(times), domain);
          assert.equal(classification, 'SAFE', `${String(times)} x ${piece} in ${domain}`);
        }
  });

  it('of letters causes no false alarm', () => {
    for (const piece of ['a', 'z', 'o', 'ha', 'xyz'])
      for (const length of [8, 12, 24, 60, 400, 32_000]) {
        const word = piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
        assert.equal(
          engine.classify(word, 'hiring').classification,
          'SAFE',
          `${piece} ${String(length)}`,
        );
        assert.equal(
          engine.classify(word, 'general').classification,
          'SAFE',
          `${piece} ${String(length)}`,
        );
      }
  });
});
