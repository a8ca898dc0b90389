// The log after a log: when its checkpoint key must go, or when its database is lost for good. Log n + 1
// names the last checkpoint of n; n takes nothing more. formats.md §1, §5.

import { join } from 'node:path';
import { toHex } from './encoding/bytes.ts';
import { LogError } from './errors.ts';
import { openLog, type OpenLogOptions } from './open.ts';
import { parseCheckpoint } from './note/checkpoint.ts';
import { originParts } from './replay/life.ts';
import { readCheckpointFile } from './store/checkpoint-file.ts';

/** How the log of a number is succeeded. */
export interface SuccessionOptions extends Omit<OpenLogOptions, 'predecessor' | 'origin_base'> {
  readonly number: number;
  readonly checkpoints: string;
}

/** What was opened. */
export interface Succession {
  readonly origin: string;
  readonly predecessor: { readonly origin: string; readonly size: number };
  /** True when the predecessor was closed and names its successor, false when it was lost. */
  readonly orderly: boolean;
}

/**
 * Opens log n + 1 of a kind and closes it again, ready to be served. Log n is closed for good first; when
 * it stands behind its checkpoint file it is lost, and nothing is written to it any more.
 *
 * @throws LogError `not_found` when log n never published; what `openLog` throws otherwise
 */
export async function openSuccessor(options: SuccessionOptions): Promise<Succession> {
  const { number, kind, checkpoints } = options;
  const file = join(checkpoints, `${kind}-${String(number)}.checkpoint`);
  const orderly = await closeForGood(options, file);
  const last = await lastCheckpoint(file);
  const log = await openLog({
    ...options,
    number: number + 1,
    origin_base: last.host,
    origin_fixed: true,
    predecessor: { origin: last.origin, size: last.size, root: toHex(last.root) },
  });
  const { origin } = log;
  await log.close();
  return { origin, predecessor: { origin: last.origin, size: last.size }, orderly };
}

async function closeForGood(options: SuccessionOptions, file: string): Promise<boolean> {
  const { host, number, kind } = await lastCheckpoint(file);
  try {
    const log = await openLog({ ...options, origin_base: host });
    try {
      await log.operator.closeForGood(`${host}/log/${kind}/${String(number + 1)}`);
    } finally {
      await log.close();
    }
    return true;
  } catch (error) {
    if (error instanceof LogError && error.code === 'log_rolled_back') return false;
    if (error instanceof LogError && error.code === 'log_closed') return true; // a second try
    throw error;
  }
}

async function lastCheckpoint(file: string) {
  const remembered = await readCheckpointFile(file);
  const note = remembered?.note ?? null;
  if (note === null) {
    throw new LogError('not_found', `${file} has no checkpoint: there is nothing to succeed`);
  }
  const checkpoint = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
  const parts = originParts(checkpoint.origin);
  if (parts === null) throw new LogError('store_corrupt', `${file} has a checkpoint of no log`);
  return { ...checkpoint, ...parts };
}
