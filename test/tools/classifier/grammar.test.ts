// Tests of tools/classifier/grammar.ts.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sentencesOf } from '../../../tools/classifier/own-rows.ts';

const FOLDER = fileURLToPath(new URL('../../../tools/classifier/data', import.meta.url));

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
