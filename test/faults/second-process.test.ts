// Two processes on one data folder: the second is refused with an explanation, and the first continues.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { note, withLog } from '../log/write/kept-log.ts';
import { childArgs } from '../support/child.ts';

const opener = new URL('opener.ts', import.meta.url);

async function openElsewhere(folder: string): Promise<{ code: string | null; message?: string }> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...(await childArgs(opener)),
    folder,
  ]);
  return JSON.parse(stdout) as { code: string | null };
}

describe('a second process on the same data', () => {
  it(
    'is refused with advice, and does not disturb the first',
    withLog(async (kept) => {
      const [entry] = await kept.append(note('a'));
      const { code, message = '' } = await openElsewhere(kept.folder);
      assert.equal(code, 'log_locked');
      assert.ok(message.includes(kept.folder), 'names the folder');
      assert.match(message, /another process .* stop it first, or give this one another DATA_DIR/);
      assert.equal(kept.log.entry(entry!.index), entry!.text);
      await kept.append(note('b'));
      await kept.stop();
      assert.deepEqual(
        await openElsewhere(kept.folder),
        { code: null },
        'opens once the first has ended',
      );
      await kept.start();
    }),
  );
});
