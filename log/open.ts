// Opens the logs of a data folder: the places of their files and the threads that they share.

import { NotePool } from './note/note-pool.ts';
import { join } from 'node:path';
import type { Replica } from './cluster/replica.ts';
import { LogClock, systemTime, type TimeSource } from './write/clock.ts';
import { openSignPool, type SignPool } from './crypto/sign-pool.ts';
import { makeFolder } from './store/durable-file.ts';
import type { EngineOptions, Predecessor } from './write/engine.ts';
import type { Cosign } from './write/publisher.ts';
import { OpenLog } from './log.ts';
import { openFold, type FoldHost } from './map/fold.ts';
import { openRegister } from './store/data-folder.ts';
import type { Register } from './store/register.ts';
import type { Store } from './store/store.ts';
import type { EntryType, Kind, Log } from './types.ts';

/** The threads of a process, shared by its logs: one signs, one folds the map. */
export interface Threads {
  readonly sign: SignPool;
  readonly fold: FoldHost;
  readonly notes: NotePool;
  close(): Promise<void>;
}

/** How a log is opened. Every path names a folder. */
export interface OpenLogOptions {
  /** The data folder; the log is in `<kind>/<number>/` of it, its keys in `keys/`. */
  readonly data: string;
  readonly kind: Kind;
  /** 1 unless the log has predecessors. */
  readonly number?: number;
  /** First part of the origin of a log that is created now: LOG_ORIGIN or the host of the base URL. */
  readonly origin_base: string;
  /** True when LOG_ORIGIN is set: an existing log of another origin then refuses to open. */
  readonly origin_fixed?: boolean;
  /**
   * Folder of the checkpoint register, preferably on another disk than the data. Default: a folder in the platform's
   * state folder.
   */
  readonly checkpoints?: string;
  /** Address of a PostgreSQL database that holds the checkpoint register in place of a folder. */
  readonly database?: string;
  /** The checkpoint register, if the caller has opened it already. */
  readonly register?: Register;
  readonly passphrase?: string;
  readonly predecessor?: Predecessor;
  /** Time of the last entry of the predecessor; entry 0 of a log that is created now is later. */
  readonly begins_after_ms?: number;
  /** Whether the log has a successor, and is therefore opened for reading only. */
  readonly has_successor?: boolean;
  readonly checkpoint_interval_ms?: number;
  /** Longest time without a checkpoint. Default: the constant of the format; tests set a shorter one. */
  readonly idle_ms?: number;
  /** How many groups may wait for a round. Further appends are refused with `log_busy`. */
  readonly max_waiting?: number;
  readonly time?: TimeSource;
  readonly types?: readonly EntryType[];
  /** Shared threads; without them the log signs and folds on threads of its own. */
  readonly threads?: Threads;
  /** Opens the database in a folder. Default: LevelDB. */
  readonly store?: (folder: string) => Promise<Store>;
  /** The node's copy of the log in a cluster, in place of a database of its own. */
  readonly replica?: Replica;
  /** Called after a key file was made, before the key is used. */
  readonly onKeyFile?: () => Promise<void>;
  /** Asks witnesses for cosignatures. Without it, every signed checkpoint is published at once. */
  readonly cosign?: Cosign;
  /** Whether checkpoints are signed with ML-DSA-44 as well. */
  readonly ml_dsa?: boolean;
  /** Compares the wall clock with an independent clock; see `EngineOptions`. */
  readonly judgeClock?: EngineOptions['judgeClock'];
  /** Called when a write or a checkpoint failed; see `EngineOptions`. */
  readonly onFailure?: EngineOptions['onFailure'];
}

/** Starts the threads; `inline` keeps everything on the calling thread, for small logs and tools. */
export function openThreads(options: { readonly inline?: boolean } = {}): Threads {
  const threads = options.inline !== true;
  const sign = openSignPool({ threads });
  const fold = openFold({ threads });
  const notes = new NotePool({ threads });
  return {
    sign,
    fold,
    notes,
    close: async () => {
      await notes.close();
      await sign.close();
      await fold.close();
    },
  };
}

/**
 * Opens a log, or creates it with its first entry and checkpoint when the folder is empty. A log whose checkpoint or
 * receipt key is lost is opened for reading only; its health says so.
 *
 * @throws LogError `log_rolled_back`, `log_locked`, `store_corrupt`, `key_invalid`, `entry_invalid`,
 *   `data_not_adopted`; `key_lost` when not even the verifier key of the log is known
 */
export async function openLog(options: OpenLogOptions): Promise<Log> {
  const { kind, number = 1 } = options;
  // The register is opened before the log's folder is made, because a data folder with logs and no register is refused.
  const own: { close(): Promise<void> }[] = [];
  const closeOwn = async (): Promise<void> => {
    for (const part of own.splice(0).reverse()) await part.close();
  };
  let { register, threads } = options;
  try {
    if (register === undefined) {
      const opened = await openRegister(options);
      own.push(opened.register);
      ({ register } = opened);
    }
    const folder = join(options.data, kind, String(number));
    await makeFolder(folder);
    if (threads === undefined) {
      threads = openThreads();
      own.push(threads);
    }
    return await OpenLog.open({
      kind,
      number,
      folder,
      keys_folder: join(options.data, 'keys'),
      ...(options.passphrase === undefined ? {} : { passphrase: options.passphrase }),
      register,
      origin_base: options.origin_base,
      origin_fixed: options.origin_fixed ?? false,
      ...(options.predecessor === undefined ? {} : { predecessor: options.predecessor }),
      ...(options.begins_after_ms === undefined
        ? {}
        : { begins_after_ms: options.begins_after_ms }),
      has_successor: options.has_successor ?? false,
      checkpoint_interval_ms: options.checkpoint_interval_ms ?? 1000,
      ...(options.idle_ms === undefined ? {} : { idle_ms: options.idle_ms }),
      max_waiting: options.max_waiting ?? 4096,
      clock: new LogClock(options.time ?? systemTime),
      types: options.types ?? [],
      sign: threads.sign,
      fold: threads.fold,
      ...(options.store === undefined ? {} : { store: options.store }),
      ...(options.replica === undefined ? {} : { replica: options.replica }),
      ...(options.onKeyFile === undefined ? {} : { onKeyFile: options.onKeyFile }),
      ...(options.cosign === undefined ? {} : { cosign: options.cosign }),
      ...(options.ml_dsa === true ? { ml_dsa: threads.notes } : {}),
      ...(options.judgeClock === undefined ? {} : { judgeClock: options.judgeClock }),
      ...(options.onFailure === undefined ? {} : { onFailure: options.onFailure }),
      onClosed: closeOwn,
    });
  } catch (error) {
    await closeOwn();
    throw error;
  }
}
