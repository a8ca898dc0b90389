// Tests of tools/classifier/long-texts.ts.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadEngine } from '../../../plugins/classify/engine/index.ts';
import { longFigures, piecesOf, readmes } from '../../../tools/classifier/long-texts.ts';

describe('measuring long texts', () => {
  it('reads the READMEs of packages and of scoped ones, each once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-'));
    try {
      for (const [path, text] of [
        ['b/Readme.md', 'second'],
        ['@scope/a/README.md', 'first'],
        ['c/readme.md', 'second'],
        ['d/NOTES.md', 'none'],
      ] as const) {
        const file = join(folder, path);
        await mkdir(join(file, '..'), { recursive: true });
        await writeFile(file, text);
      }
      await writeFile(join(folder, '.lock.json'), '{}');
      assert.deepEqual(readmes(folder), ['first', 'second']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('cuts texts at ends of sentences, and drops texts that are too short', () => {
    assert.deepEqual(piecesOf(['One two. Three four! Five', 'Six seven eight nine'], 3), [
      'One two. Three four!',
      'Six seven eight nine',
    ]);
  });

  it('counts false alarms on lawful texts and found breaches in the others', () => {
    const lawful = 'The ferry to the island leaves at nine and comes back before dark. ';
    const breach = 'All immigrants are vermin and should be shot at the border.';
    const texts = Array.from({ length: 3 }, () => lawful.repeat(8));
    const [hundred, ...longer] = longFigures(
      loadEngine(),
      [...texts, `${breach} ${texts[0] ?? ''}`],
      [breach],
    );
    assert.deepEqual(hundred, { words: 100, texts: 4, alarms: 1, inserted: 3, found: 3 });
    assert.deepEqual(
      longer.map((one) => one.texts),
      [0, 0],
    );
  });
});
