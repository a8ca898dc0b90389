// A real log in a temporary folder, with a clock that the test sets. `check` verifies the whole log.

import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fsck } from '../../log/operate/fsck/fsck.ts';
import type { FsckResult } from '../../log/operate/fsck/fsck.ts';
import { openLog, openThreads } from '../../log/index.ts';
import type { EntryType, Kind, Log, OpenLogOptions, TimeSource } from '../../log/index.ts';
import { FileRegister } from '../../log/store/register.ts';

/** The clock of a test: wall and monotonic clock advance together, unless the test sets the wall clock alone. */
export class TestTime implements TimeSource {
  #wall: number;
  #monotonic = 1000;

  constructor(start_ms: number) {
    this.#wall = start_ms;
  }

  wall(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Advances both clocks. */
  advance(ms: number): void {
    this.#wall += ms;
    this.#monotonic += ms;
  }

  /** Sets the wall clock only, as an operator or a faulty NTP server would. */
  jump(to_ms: number): void {
    this.#wall = to_ms;
  }
}

/** Options for opening the log. */
export interface TestLogOptions {
  readonly kind?: Kind;
  readonly number?: number;
  readonly types?: readonly EntryType[];
  /** The types are declared when the log is opened, unless this is false. */
  readonly declare?: boolean;
  readonly start_ms?: number;
  /** An existing data folder; it is not removed on close. */
  readonly data?: string;
  /** Long by default, so that checkpoints are published only on request. */
  readonly checkpoint_interval_ms?: number;
  /** Other options of `openLog`. */
  readonly more?: Partial<OpenLogOptions>;
}

/** An open log and its folder. */
export interface TestLog {
  readonly log: Log;
  readonly time: TestTime;
  readonly data: string;
  /** The folder of this log, which contains `db/`. */
  readonly folder: string;
  readonly checkpoint_file: string;
  /** Publishes everything acknowledged so far. */
  publish(): Promise<void>;
  /**
   * Checks a consistent copy of the database: every rule by replay, and every row, tile and note by fsck. Throws with
   * the list of differences.
   */
  check(): Promise<FsckResult>;
  /** Closes the log and keeps the folder. */
  stop(): Promise<void>;
  /** Closes the log and removes the folder. */
  close(): Promise<void>;
}

/** Opens a log without worker threads, so that a test is one process with one thread. */
export async function openTestLog(options: TestLogOptions = {}): Promise<TestLog> {
  const { kind = 'live', number = 1, types = [], more = {} } = options;
  const data = options.data ?? (await mkdtemp(join(tmpdir(), 'actlog-test-')));
  const time = new TestTime(options.start_ms ?? Date.UTC(2026, 0, 1));
  const threads = openThreads({ inline: true });
  const checkpoints = more.checkpoints ?? join(data, 'checkpoints');
  const log = await openLog({
    data,
    checkpoints,
    kind,
    number,
    origin_base: 'log.example',
    checkpoint_interval_ms: options.checkpoint_interval_ms ?? 3_600_000,
    time,
    types,
    threads,
    ...more,
  });
  if (options.declare !== false && types.length > 0) await log.declare(types);
  const name = `${kind}-${String(number)}`;
  const checkpoint_file = join(checkpoints, `${name}.checkpoint`);
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (stopped) return;
    stopped = true;
    await log.close();
    await threads.close();
  };
  return {
    log,
    time,
    data,
    folder: join(data, kind, String(number)),
    checkpoint_file,
    publish: async () => {
      await log.whenPublished(log.size());
    },
    async check() {
      const copy = await mkdtemp(join(tmpdir(), 'actlog-check-'));
      try {
        // The checkpoint file is copied before the database: the log continues, so only the database may be newer.
        await copyFile(checkpoint_file, join(copy, basename(checkpoint_file)));
        await log.operator.backup(copy);
        const result = await fsck({
          folder: copy,
          outside: { register: new FileRegister(copy), name },
          vkey: log.vkey,
          types,
        });
        assert.deepEqual(result.differences, [], 'the database matches its entries');
        return result;
      } finally {
        await rm(copy, { recursive: true, force: true });
      }
    },
    stop,
    async close() {
      await stop();
      if (options.data === undefined) await rm(data, { recursive: true, force: true });
    },
  };
}
