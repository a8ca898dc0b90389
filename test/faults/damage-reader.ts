// A child process of damaged-block.test.ts, because LevelDB may abort it: reads each given data folder, compares the
// answers with the undamaged content (from a file), and reports the result.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fsck } from '../../log/operate/fsck/fsck.ts';
import { LogError } from '../../log/index.ts';
import { FileRegister } from '../../log/store/register.ts';
import { KeptLog } from '../log/write/kept-log.ts';

/** The content of the log before the damage. */
export interface Good {
  readonly entries: readonly string[];
  readonly notes: readonly (readonly [number, string])[];
  readonly now_ms: number;
}

export type Found = 'refused to open' | 'named on reading' | 'named by fsck' | 'nothing was lost';

/** The result for a folder: how the damage was detected and with which message, or what was wrong. */
export type Told =
  { readonly found: Found; readonly message?: string } | { readonly wrong: string };

function named(error: unknown): string {
  assert.ok(error instanceof LogError, `not a LogError: ${String(error)}`);
  assert.ok(
    ['store_corrupt', 'log_rolled_back', 'log_unavailable'].includes(error.code),
    `${error.code}: ${error.message}`,
  );
  return error.message;
}

/** Reads everything; returns if the damage is reported or harmless, and throws at a wrong answer. */
async function readAll(folder: string, good: Good): Promise<Told> {
  const { entries, now_ms } = good;
  let message: string | undefined;
  const tell = (error: unknown): void => {
    message = named(error);
  };
  const image = { folder, notes: new Map(good.notes), now_ms };
  const kept = await KeptLog.open({}, image).catch(tell);
  if (kept === undefined) return { found: 'refused to open', message: message ?? '' };
  const { log } = kept;
  const tryTo = (read: () => void): void => {
    try {
      read();
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      tell(error);
    }
  };
  for (const [index, text] of entries.entries()) {
    tryTo(() => assert.equal(log.entry(index), text, `entry ${String(index)}`));
  }
  for (const [size, text] of good.notes) {
    tryTo(() => assert.equal(log.checkpointAt(size), text, `note ${String(size)}`));
  }
  for (let n = 0; n < 3; n += 1) tryTo(() => void log.tile(0, n, n < 2 ? 256 : 1));
  await kept.stop().catch(tell);
  if (message !== undefined) return { found: 'named on reading', message };
  const result = await fsck({
    folder: join(folder, 'live', '1'),
    outside: { register: new FileRegister(join(folder, 'checkpoints')), name: 'live-1' },
    vkey: log.vkey,
  }).catch((error: unknown) => {
    named(error);
    return { count: 1 };
  });
  return { found: result.count > 0 ? 'named by fsck' : 'nothing was lost' };
}

// A log that refused to open may have left a thread.
process.on('disconnect', () => process.exit());
const good = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as Good;
process.on('message', (folder: string) => {
  void readAll(folder, good)
    .catch((error: unknown): Told => ({ wrong: String(error) }))
    .then((told) => process.send?.(told));
});
