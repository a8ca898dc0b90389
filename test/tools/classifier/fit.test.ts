// Tests of tools/classifier/fit.ts: the vocabulary that a training chooses.

import assert from 'node:assert/strict';
import type { Row } from '../../../tools/classifier/corpus.ts';
import { vocabularyOf } from '../../../tools/classifier/fit.ts';

const row = (text: string, more: Partial<Row> = {}): Row => ({
  set: 'own',
  text,
  domain: 'general',
  targets: [0, 0, 0],
  weights: [1, 1, 1],
  split: 'train',
  fold: 0,
  tag: '',
  ...more,
});

describe('the vocabulary of a training', () => {
  it('begins with the words that occur in the most texts, and counts each text once', () => {
    const rows = [row('pears and plums and and'), row('figs and pears'), row('figs and plums')];
    const twice = [...rows, row('dates'), row('dates')];
    assert.deepEqual(vocabularyOf(twice, 2), ['and', 'figs', 'pears', 'plums']);
  });

  it('has no word of texts that are held out, or of texts that disguise such words', () => {
    const held = [row('quinces', { split: 'test' }), row('quinces raw', { split: 'test' })];
    const hidden = [row('m3dlars nuts', { set: 'hatecheck' }), row('nuts', { set: 'hatecheck' })];
    assert.deepEqual(vocabularyOf([...held, ...hidden], 1), []);
  });
});
