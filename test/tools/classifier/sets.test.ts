// Tests of the training and test sets of the classifier: no text of a test set may be in a training set.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bare, digest } from '../../../tools/classifier/corpus.ts';
import type { Row } from '../../../tools/classifier/corpus.ts';
import { ownRows, unseenRows } from '../../../tools/classifier/own-rows.ts';
import { hasPublicSets, publicRows } from '../../../tools/classifier/public-rows.ts';

const FOLDER = fileURLToPath(new URL('../../../tools/classifier/data', import.meta.url));
const PUBLIC = fileURLToPath(new URL('../../../../shared/data/classify', import.meta.url));
/** Shorter texts are common phrases. */
const TELLING_CHARS = 13;

describe('the sets of this repository', () => {
  let rows: Row[] = [];

  before(() => {
    rows = ownRows(FOLDER);
  });

  it('train on no sentence of a test split', () => {
    const held = new Set(rows.filter(({ split }) => split === 'test').map(({ text }) => text));
    const leaked = rows.filter(({ split, text }) => split !== 'test' && held.has(text));
    assert.deepEqual(
      leaked.map(({ text }) => text),
      [],
    );
    assert.ok(held.size > 1000);
  });

  it('have no training line that contains a held-out text', () => {
    const files = new Set(
      readdirSync(join(FOLDER, 'taught')).map((file) => file.replace('.jsonl', '')),
    );
    const held = new Map<string, string[]>();
    for (const { split, text } of rows) {
      const words = bare(text);
      if (split !== 'test' || words.length < TELLING_CHARS) continue;
      const start = words.slice(0, TELLING_CHARS);
      held.set(start, [...(held.get(start) ?? []), words]);
    }
    const taught = rows.filter(({ set }) => files.has(set)).map(({ text }) => bare(text));
    assert.ok(taught.length > 30_000);
    const holding = taught.filter((text) => {
      for (let at = 0; at >= 0; at = text.indexOf(' ', at) + 1 || -1) {
        const alike = held.get(text.slice(at, at + TELLING_CHARS)) ?? [];
        if (alike.some((words) => text.startsWith(words, at))) return true;
      }
      return false;
    });
    assert.deepEqual(holding, []);
  });

  it('have no training text in common with the unseen sets', () => {
    const learnt = new Set(rows.map(({ text }) => bare(text)));
    const unseen = unseenRows(FOLDER).map(({ text }) => bare(text));
    assert.deepEqual(
      unseen.filter((text) => learnt.has(text)),
      [],
    );
    assert.ok(new Set(unseen).size > 4000);
  });

  it('keep all variants of a sentence on one side of the split', () => {
    const splits = new Map<string, Set<string>>();
    for (const line of readFileSync(join(FOLDER, 'varied.jsonl'), 'utf8').trim().split('\n')) {
      const { pair, split } = JSON.parse(line) as Record<'pair' | 'split', string>;
      splits.set(pair, (splits.get(pair) ?? new Set()).add(split));
    }
    const torn = [...splits].filter(([, sides]) => sides.size !== 1).map(([pair]) => pair);
    assert.deepEqual(torn, []);
  });
});

describe('the second labels', () => {
  const all = readFileSync(join(FOLDER, 'second-labels.txt'), 'utf8').trim().split('\n');

  it('list each text once, ordered by its digest', () => {
    for (const line of all) assert.match(line, /^[0-9a-f]{16} [VCS]$/);
    const names = all.map((line) => line.slice(0, 16));
    assert.deepEqual([...new Set(names)].sort(), names);
  });

  it('are about training texts, and replace the labels of the sets', function () {
    if (!hasPublicSets(PUBLIC)) this.skip();
    const rows = publicRows(PUBLIC, FOLDER);
    const again = rows.filter(({ set }) => set.endsWith('-again'));
    assert.equal(again.length, all.length);
    const held = new Set(rows.filter(({ split }) => split !== 'train').map(({ text }) => text));
    assert.deepEqual(
      again.filter(({ text }) => held.has(text)),
      [],
    );
    const named = new Set(again.map(({ text }) => digest(text)));
    const twice = rows.filter(
      ({ set, text, weights }) =>
        ['davidson', 'diasafety', 'diasafety-response'].includes(set) &&
        named.has(digest(text)) &&
        (weights[0] ?? 0) > 0,
    );
    assert.deepEqual(twice, []);
  });
});
