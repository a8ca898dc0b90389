// Succession: closes log n of a kind and opens log n + 1, when the checkpoint key of log n must be replaced or its
// database is lost. Log n + 1 names the last checkpoint of log n, which takes no more entries. log/FORMAT.md §1, §5.

import { join } from 'node:path';
import type { Replica } from '../cluster/replica.ts';
import { toHex } from '../encoding/bytes.ts';
import { isLogError, LogError } from '../errors.ts';
import { openLog, type OpenLogOptions } from '../open.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import type { Cosign } from '../write/publisher.ts';
import { originParts } from '../map/grammar.ts';
import { readEntry } from '../write/statement.ts';
import { logNumbers } from '../store/data-folder.ts';
import { entryKey } from '../store/layout.ts';
import type { Register } from '../store/register.ts';
import { readRemembered, registerName } from '../store/register.ts';
import { openStore } from '../store/store.ts';
import type { Log } from '../types.ts';

/** Which log is succeeded, and how both logs are opened. */
export interface SuccessionOptions extends Omit<
  OpenLogOptions,
  | 'predecessor'
  | 'begins_after_ms'
  | 'origin_base'
  | 'cosign'
  | 'register'
  | 'checkpoints'
  | 'replica'
  | 'onFailure'
> {
  readonly number: number;
  readonly register: Register;
  /**
   * Asks the witnesses of the log with a number for cosignatures. If absent, checkpoints are published without them.
   */
  readonly cosign?: (number: number) => Cosign;
  /** On a node that leads a cluster: the copy of the log with a number, also of the log that begins. */
  readonly replicas?: (number: number) => Replica;
}

/** The log that was opened, and its predecessor. */
export interface Succession {
  readonly origin: string;
  /** Its verifier key, which witnesses and monitors must be given. */
  readonly vkey: string;
  /** False if its witnesses did not cosign its first checkpoint. The service asks them again once it serves the log. */
  readonly published: boolean;
  readonly predecessor: { readonly origin: string; readonly size: number };
  /** True if the predecessor was closed and names its successor; false if it was lost. */
  readonly orderly: boolean;
}

/**
 * Opens log n + 1 of a kind, writes its first entry and closes it again, so that the service can serve it.
 *
 * Log n is closed for good first. If it has lost entries (the checkpoint register has more), or its checkpoint or
 * receipt key is lost, it cannot be closed: nothing is written to it, and log n + 1 names the last checkpoint in the
 * register. A repeated call does not change log n once log n + 1 has its first entry.
 *
 * @throws LogError `not_found` if log n never published a checkpoint; `log_unavailable` if its last checkpoint is not
 *   published, because its witnesses did not cosign it or a write failed, and `clock_untrusted` if the clock is the
 *   reason: no successor is opened then, and a repeated call continues; and what `openLog` throws
 */
export async function openSuccessor(options: SuccessionOptions): Promise<Succession> {
  if (await hasBegun(options, options.number + 1)) return begun(options);
  const { orderly, last_ms } = await closeForGood(options);
  const last = await lastCheckpoint(options);
  const log = await openLog({
    ...opening(options, options.number + 1),
    origin_base: last.host,
    origin_fixed: true,
    predecessor: { origin: last.origin, size: last.size, root: toHex(last.root) },
    ...(last_ms === null ? {} : { begins_after_ms: last_ms }),
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

/** Errors of `openLog` after which log n cannot be closed: entries or keys are lost. */
const LOST: ReadonlySet<string> = new Set(['log_rolled_back', 'key_lost']);

/** Whether a log has its first entry, which names the predecessor. The predecessor must not take entries then. */
async function hasBegun(options: SuccessionOptions, number: number): Promise<boolean> {
  const { data, kind, replicas } = options;
  if (replicas !== undefined) return replicas(number).store.get(entryKey(0)) !== undefined;
  if (!logNumbers(data, kind).includes(number)) return false;
  const store = await openStore(join(data, kind, String(number), 'db'));
  try {
    return store.get(entryKey(0)) !== undefined;
  } finally {
    await store.close();
  }
}

/** The result for a log n + 1 that an earlier call opened. */
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

/** Whether log n was closed with `log.closed.v1`. */
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
    if (isLogError(error) && LOST.has(error.code)) return false;
    throw error;
  }
}

/** Whether log n was closed, and the time of its last entry if its database could be opened. */
interface Ended {
  readonly orderly: boolean;
  readonly last_ms: number | null;
}

/**
 * Closes log n and waits until its last checkpoint is published. A log that is lost is left as it is.
 *
 * A failed write or an untrusted clock ends the wait. The log would publish later, but a disk may stay full for days.
 */
async function closeForGood(options: SuccessionOptions): Promise<Ended> {
  const { number, kind } = options;
  const { host } = await lastCheckpoint(options);
  const ended = new AbortController();
  let failure: unknown = null;
  let log: Log;
  try {
    const onRefused = (): void => {
      ended.abort();
    };
    const onFailure = (error: unknown): void => {
      failure ??= error;
      ended.abort();
    };
    log = await openLog({ ...opening(options, number, onRefused), origin_base: host, onFailure });
  } catch (error) {
    if (isLogError(error) && LOST.has(error.code)) return { orderly: false, last_ms: null };
    throw error;
  }
  if (log.health().lost_key !== null) {
    const last_ms = lastTimeOf(log);
    await log.close();
    return { orderly: false, last_ms };
  }
  try {
    const successor = `${host}/log/${kind}/${String(number + 1)}`;
    await log.operator.closeForGood(successor, ended.signal).catch(async (error: unknown) => {
      // An earlier call closed the log, but may have ended before the last checkpoint was published.
      if (!isLogError(error) || error.code !== 'log_closed') throw error;
      await log.whenPublished(log.size(), ended.signal);
    });
    return { orderly: true, last_ms: lastTimeOf(log) };
  } catch (error) {
    const waited = isLogError(error) && error.code === 'log_unavailable';
    if (!waited || !ended.signal.aborted) throw error;
    if (failure !== null) {
      const why = failure instanceof Error ? failure.message : 'unknown';
      const clock = isLogError(failure) && failure.code === 'clock_untrusted';
      throw new LogError(
        clock ? 'clock_untrusted' : 'log_unavailable',
        `the last checkpoint of ${log.origin} is not published, and no successor was opened: ${why}. Run the command ` +
          'again when that is mended',
        { cause: failure },
      );
    }
    throw new LogError(
      'log_unavailable',
      `${log.origin} is closed at ${String(log.size())} entries, but its witnesses did not cosign its ` +
        'last checkpoint: it is not published, and no successor was opened. Run the command again to ask them again',
      { cause: error },
    );
  } finally {
    await log.close();
  }
}

const lastTimeOf = (log: Log): number =>
  readEntry(log.entry(log.size() - 1) ?? '').statement['issued_at_ms'] as number;

/** The options to open the log with a number. `onRefused` is called when too few witnesses cosigned a checkpoint. */
function opening(
  { cosign, replicas, ...options }: SuccessionOptions,
  number: number,
  onRefused: () => void = () => undefined,
): Omit<OpenLogOptions, 'origin_base'> {
  const own = {
    ...options,
    number,
    ...(replicas === undefined ? {} : { replica: replicas(number) }),
  };
  if (cosign === undefined) return own;
  const ask = cosign(number);
  return {
    ...own,
    cosign: async (offer) => {
      const cosigned = await ask(offer);
      if (cosigned === null) onRefused();
      return cosigned;
    },
  };
}

/** The last checkpoint of log n in the register, with the parts of its origin. */
async function lastCheckpoint({ register, kind, number }: SuccessionOptions) {
  const name = registerName(kind, number);
  const place = register.where(name);
  const note = (await readRemembered(register, name))?.note ?? null;
  if (note === null) {
    throw new LogError('not_found', `${place} has no checkpoint, so there is no log to succeed`);
  }
  const checkpoint = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
  const parts = originParts(checkpoint.origin);
  if (parts === null)
    throw new LogError('store_corrupt', `${place} has a checkpoint whose origin is malformed`);
  return { ...checkpoint, ...parts };
}
