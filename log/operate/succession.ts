// The log after a log: when its checkpoint key must go, or when its database is lost for good. Log n + 1
// names the last checkpoint of n; n takes nothing more. log/FORMAT.md §1, §5.

import { join } from 'node:path';
import { toHex } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { openLog, type OpenLogOptions } from '../open.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import type { Cosign } from '../write/publisher.ts';
import { originParts } from '../rules/life.ts';
import { readEntry } from '../write/statement.ts';
import { logNumbers } from '../store/data-folder.ts';
import { entryKey } from '../store/layout.ts';
import type { Register } from '../store/register.ts';
import { readRemembered, registerName } from '../store/register.ts';
import { openStore } from '../store/store.ts';
import type { Log } from '../types.ts';

/** How the log of a number is succeeded. */
export interface SuccessionOptions extends Omit<
  OpenLogOptions,
  'predecessor' | 'origin_base' | 'cosign' | 'register' | 'checkpoints'
> {
  readonly number: number;
  readonly register: Register;
  /** Asks the witnesses of the log of a number; without it every signed checkpoint is published at once. */
  readonly cosign?: (number: number) => Cosign;
}

/** What was opened. */
export interface Succession {
  readonly origin: string;
  /** Its verifier key, for those who follow it and for its witnesses. */
  readonly vkey: string;
  /** False when its own witnesses did not cosign its first checkpoint: served, it goes on asking. */
  readonly published: boolean;
  readonly predecessor: { readonly origin: string; readonly size: number };
  /** True when the predecessor was closed and names its successor, false when it was lost. */
  readonly orderly: boolean;
}

/**
 * Opens log n + 1 of a kind and closes it again, ready to be served. Log n is closed for good first. When it stands
 * behind the checkpoint register, or its checkpoint or receipt key is lost, nothing is written to it any more, and
 * its successor names the last checkpoint that it signed. Once log n + 1 has its first entry, log n is not touched.
 *
 * @throws LogError `not_found` when log n never published; `log_unavailable` when its witnesses did not
 * cosign its last checkpoint: no successor is opened, and the same call again asks them again; what
 * `openLog` throws otherwise
 */
export async function openSuccessor(options: SuccessionOptions): Promise<Succession> {
  if (await hasBegun(options, options.number + 1)) return begun(options);
  const orderly = await closeForGood(options);
  const last = await lastCheckpoint(options);
  const log = await openLog({
    ...opening(options, options.number + 1),
    origin_base: last.host,
    origin_fixed: true,
    predecessor: { origin: last.origin, size: last.size, root: toHex(last.root) },
  });
  const { origin, vkey } = log;
  await log.close();
  const published = log.published().size > 0;
  return {
    origin,
    vkey,
    published,
    predecessor: { origin: last.origin, size: last.size },
    orderly,
  };
}

/** Why log n cannot be closed in order. */
const LOST: ReadonlySet<string> = new Set(['log_rolled_back', 'key_lost']);

/** Whether a log has its first entry: then its predecessor is named, and must not go on. */
async function hasBegun({ data, kind }: SuccessionOptions, number: number): Promise<boolean> {
  if (!logNumbers(data, kind).includes(number)) return false;
  const store = await openStore(join(data, kind, String(number), 'db'));
  try {
    return store.get(entryKey(0)) !== undefined;
  } finally {
    await store.close();
  }
}

/** The same call again: what the first one opened. */
async function begun(options: SuccessionOptions): Promise<Succession> {
  const { host, origin: name, size: last } = await lastCheckpoint(options);
  const log = await openLog({ ...opening(options, options.number + 1), origin_base: host });
  const { origin, vkey } = log;
  const { predecessor } = readEntry(log.entry(0) ?? '').statement as {
    readonly predecessor?: { readonly origin: string; readonly size: number } | null;
  };
  await log.close();
  const published = log.published().size > 0;
  const { origin: before = name, size = last } = predecessor ?? {};
  const orderly = await wasClosed(options, host);
  return { origin, vkey, published, predecessor: { origin: before, size }, orderly };
}

async function wasClosed(options: SuccessionOptions, host: string): Promise<boolean> {
  const { number } = options;
  try {
    const log = await openLog({
      ...opening(options, number),
      origin_base: host,
      has_successor: true,
    });
    const last = log.entry(log.size() - 2) ?? log.entry(0) ?? '';
    await log.close();
    return readEntry(last).statement['type'] === 'log.closed.v1';
  } catch (error) {
    if (error instanceof LogError && LOST.has(error.code)) return false;
    throw error;
  }
}

async function closeForGood(options: SuccessionOptions): Promise<boolean> {
  const { number, kind } = options;
  const { host } = await lastCheckpoint(options);
  const refused = new AbortController();
  let log: Log;
  try {
    const onRefused = (): void => {
      refused.abort();
    };
    log = await openLog({ ...opening(options, number, onRefused), origin_base: host });
  } catch (error) {
    if (error instanceof LogError && LOST.has(error.code)) return false;
    throw error;
  }
  if (log.health().lost_key !== null) {
    await log.close();
    return false;
  }
  try {
    const successor = `${host}/log/${kind}/${String(number + 1)}`;
    await log.operator.closeForGood(successor, refused.signal).catch(async (error: unknown) => {
      // A second try. The first one may have ended before the last checkpoint was published.
      if (!(error instanceof LogError) || error.code !== 'log_closed') throw error;
      await log.whenPublished(log.size(), refused.signal);
    });
    return true;
  } catch (error) {
    const waited = error instanceof LogError && error.code === 'log_unavailable';
    if (!waited || !refused.signal.aborted) throw error;
    throw new LogError(
      'log_unavailable',
      `${log.origin} is closed at ${String(log.size())} entries, but its witnesses did not cosign its ` +
        'last checkpoint: it is not published, and no successor was opened. The same again asks them again',
      { cause: error },
    );
  } finally {
    await log.close();
  }
}

/** How the log of a number is opened, and what is done when its witnesses are not enough. */
function opening(
  { cosign, ...options }: SuccessionOptions,
  number: number,
  onRefused: () => void = () => undefined,
): Omit<OpenLogOptions, 'origin_base'> {
  if (cosign === undefined) return { ...options, number };
  const ask = cosign(number);
  return {
    ...options,
    number,
    cosign: async (offer) => {
      const cosigned = await ask(offer);
      if (cosigned === null) onRefused();
      return cosigned;
    },
  };
}

async function lastCheckpoint({ register, kind, number }: SuccessionOptions) {
  const name = registerName(kind, number);
  const place = register.where(name);
  const note = (await readRemembered(register, name))?.note ?? null;
  if (note === null) {
    throw new LogError('not_found', `${place} has no checkpoint: there is nothing to succeed`);
  }
  const checkpoint = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
  const parts = originParts(checkpoint.origin);
  if (parts === null) throw new LogError('store_corrupt', `${place} has a checkpoint of no log`);
  return { ...checkpoint, ...parts };
}
