// A change of structure must not change any answer, entry, checkpoint or document. The golden run calls every route
// with a fixed clock, seeded randomness and fixed keys (./walk.ts); its output is compared with transcript.txt. After
// a change of behaviour `npm run golden` records the transcript again, and its commit shows the differences.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const HERE = import.meta.dirname;
const LISTED = 5;

describe('the golden run', function () {
  this.timeout(240_000);

  it('has the recorded output, byte for byte', async () => {
    const recorded = (await readFile(join(HERE, 'transcript.txt'), 'utf8')).split('\n');
    const seeded = ['--import', 'tsx', '--import', join(HERE, 'seeded.ts'), join(HERE, 'walk.ts')];
    const { stdout } = await promisify(execFile)(process.execPath, seeded, {
      maxBuffer: 64 * 1024 * 1024,
    });
    const lines = stdout.split('\n');
    const differing = lines.filter((line, i) => line !== recorded[i]);
    assert.deepEqual(differing.slice(0, LISTED), [], `${String(differing.length)} lines differ`);
    assert.equal(lines.length, recorded.length);
  });
});
