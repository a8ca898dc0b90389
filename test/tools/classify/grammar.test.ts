// Tests of tools/classify/grammar.ts and of the sets it makes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bare, ownRows, unseenRows } from '../../../tools/classify/own-rows.ts';
import { sentencesOf } from '../../../tools/classify/grammar.ts';

const FOLDER = fileURLToPath(new URL('../../data/classify', import.meta.url));

const FILES = ['hiring-grammar.json', 'hiring-grammar-languages.json', 'general-grammar.json'];

for (const file of FILES) {
  describe(`the grammar ${file}`, () => {
    const path = join(FOLDER, file);

    it('makes the same sentences from the same seed, others from another', () => {
      const made = sentencesOf(path, 200, 1);
      assert.deepEqual(sentencesOf(path, 200, 1), made);
      assert.notDeepEqual(sentencesOf(path, 200, 2), made);
    });

    it('fills every slot, repeats nothing and makes both labels', () => {
      const made = sentencesOf(path, 400, 1);
      for (const { text } of made) assert.match(text, /^[^{}]+[.?!]$/u);
      assert.equal(new Set(made.map(({ text }) => text)).size, made.length);
      assert.deepEqual([...new Set(made.map(({ label }) => label))], ['VIOLATION', 'SAFE']);
    });
  });
}

describe('the own sets', () => {
  it('train on no sentence of a test split', () => {
    const rows = ownRows(FOLDER);
    const held = new Set(rows.filter(({ split }) => split === 'test').map(({ text }) => text));
    const leaked = rows.filter(({ split, text }) => split !== 'test' && held.has(text));
    assert.deepEqual(
      leaked.map(({ text }) => text),
      [],
    );
    assert.ok(held.size > 1000);
  });

  it('have learnt nothing of the unseen ones', () => {
    const learnt = new Set(ownRows(FOLDER).map(({ text }) => bare(text)));
    const unseen = unseenRows(FOLDER).map(({ text }) => bare(text));
    assert.deepEqual(
      unseen.filter((text) => learnt.has(text)),
      [],
    );
    assert.ok(new Set(unseen).size > 4000);
  });

  it('keep the twins of a varied sentence on one side', () => {
    const splits = new Map<string, Set<string>>();
    for (const line of readFileSync(join(FOLDER, 'varied.jsonl'), 'utf8').trim().split('\n')) {
      const { pair, split } = JSON.parse(line) as Record<'pair' | 'split', string>;
      splits.set(pair, (splits.get(pair) ?? new Set()).add(split));
    }
    const torn = [...splits].filter(([, sides]) => sides.size !== 1).map(([pair]) => pair);
    assert.deepEqual(torn, []);
  });
});
