// A test log on one folder that is opened several times, with a type, a tenant and every note that it published. At
// the end the replay verifies all entries and notes, and fsck the database.

import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setInterval } from 'node:timers/promises';
import { native } from '../../../log/crypto/native.ts';
import { isJsonObject } from '../../../log/index.ts';
import type {
  Appended,
  Draft,
  EntryType,
  JsonObject,
  Log,
  LogError,
  OpenLogOptions,
} from '../../../log/index.ts';
import { openCheckpoint } from '../../../log/note/checkpoint.ts';
import { Replay } from '../../../log/replay/replay.ts';
import type { Trust } from '../../../log/verify.ts';
import { openTestLog, TestTime } from '../../support/open-test-log.ts';
import type { TestLog } from '../../support/open-test-log.ts';

/** The time at which the log of each test begins. */
export const START_MS = 1_790_000_000_000;

export const TENANT = 'dGVuYW50LWV4YW1wbGUtMQ';
export const OTHER_TENANT = 'dGVuYW50LWV4YW1wbGUtMg';

/** A declared type with its own chain; its rows count the entries of each case and have the index of the last. */
export const NOTE: EntryType = {
  name: 'gate.note.v1',
  schema: {
    type: 'object',
    properties: {
      case_id: { type: 'string' },
      outcome: { enum: ['PERMIT', 'DENY', 'on hold'] },
      amount: { type: 'integer' },
      more: { type: 'object', properties: { text: {} } },
    },
    required: ['case_id'],
  },
  keys: [['gate.case', 'case_id']],
  project: ({ index, statement }, rows) => {
    const key = `gate/case/${statement.case_id as string}`;
    const before = rows.get(key);
    const count = isJsonObject(before ?? null) ? Number((before as JsonObject).count) : 0;
    if (statement.outcome === 'on hold') rows.del(key);
    else rows.put(key, { count: count + 1, last: index });
  },
};

/** An entry on the chain of a case. */
export const note = (case_id: string, members: JsonObject = {}): Draft => ({
  type: NOTE.name,
  tenant_ref: TENANT,
  members: { case_id, ...members },
});

/**
 * Waits until every timer of this interval that runs has fired at least so often: Node.js fires timers of one interval
 * in turn.
 */
export async function intervals(ms: number, count: number): Promise<void> {
  let left = count;
  for await (const _ of setInterval(ms)) if ((left -= 1) < 0) return;
}

export type KeptOptions = Partial<OpenLogOptions> & {
  /** Registers no tenant and declares no type: the log has entry 0 and its map head only. */
  readonly bare?: boolean;
};

/** A data folder that is not open, and the notes published from it. */
export interface Image {
  readonly folder: string;
  readonly notes: ReadonlyMap<number, string>;
  readonly now_ms: number;
}

/** A data folder whose log is opened several times. */
export class KeptLog {
  readonly folder: string;
  readonly options: KeptOptions;
  readonly time: TestTime;
  /** Every published note, by size. */
  readonly notes = new Map<number, string>();
  #opened: TestLog;
  #open = true;

  private constructor(folder: string, options: KeptOptions, time: TestTime, opened: TestLog) {
    this.folder = folder;
    this.options = options;
    this.time = time;
    this.#opened = opened;
    this.#watch();
  }

  /** Opens a log in a new folder, or in that of an image. */
  static async open(options: KeptOptions = {}, image?: Image): Promise<KeptLog> {
    const folder = image?.folder ?? (await mkdtemp(join(tmpdir(), 'actlog-')));
    const time = new TestTime(image?.now_ms ?? START_MS);
    try {
      const kept = new KeptLog(folder, options, time, await openIn(folder, time, options));
      for (const [size, note] of image?.notes ?? []) kept.notes.set(size, note);
      if (options.bare !== true && image === undefined) {
        await kept.log.declare([NOTE]);
        await kept.log.registerTenant(TENANT, '0'.repeat(64));
      }
      return kept;
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * The files that a crash at this moment would leave: database, keys and checkpoint file, without the snapshot of
   * the map. An earlier checkpoint file can be given in place of the newest.
   */
  async image(checkpointFile?: string): Promise<Image> {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-image-'));
    const file = checkpointFile ?? (await readFile(this.checkpointFile, 'utf8'));
    const notes = new Map(this.notes);
    await this.log.operator.backup(join(folder, this.log.kind, String(this.log.number)));
    await cp(join(this.folder, 'keys'), join(folder, 'keys'), { recursive: true });
    await mkdir(join(folder, 'checkpoints'));
    await writeFile(join(folder, 'checkpoints', basename(this.checkpointFile)), file);
    return { folder, notes, now_ms: this.time.wall() };
  }

  get log(): Log {
    return this.#opened.log;
  }

  get checkpointFile(): string {
    return this.#opened.checkpoint_file;
  }

  /** Closes the log. */
  async stop(): Promise<void> {
    this.#open = false;
    await this.#opened.stop();
  }

  /** Opens the log again, with other options if given. */
  async start(options: KeptOptions = {}): Promise<Log> {
    this.#opened = await openIn(this.folder, this.time, { ...this.options, ...options });
    this.#open = true;
    this.#watch();
    return this.log;
  }

  async restart(options: KeptOptions = {}): Promise<Log> {
    await this.stop();
    return this.start(options);
  }

  async append(...drafts: Draft[]): Promise<readonly Appended[]> {
    return this.log.append(drafts);
  }

  /** Publishes everything appended so far. */
  async publish(): Promise<number> {
    const { size } = await this.log.whenPublished(this.log.size());
    return size;
  }

  /** Trust with the keys from the entries of the log itself. */
  trust(): Trust {
    const { origin, vkey } = this.log;
    const kinds = new Map([['gate.case', 1]]);
    return { origin, vkey, keys: [...this.log.receiptKeys()], kinds };
  }

  /** Replays every entry, verifies every note, and looks each entry up by id and hash. */
  check(): Replay {
    const { log } = this;
    const replay = new Replay({ suite: native, origin: log.origin });
    let published = 0;
    const size = log.size();
    for (let index = 0; index < size; index += 1) {
      const text = log.entry(index);
      assert.ok(text !== null, `entry ${String(index)} is there`);
      const { leafHash, statement } = replay.add(text);
      assert.deepEqual(Buffer.from(log.leafHash(index)), Buffer.from(leafHash));
      assert.equal(log.indexOfHash(leafHash), index);
      assert.equal(log.indexOfEntry(statement.entry_id as string), index);
      const note = log.checkpointAt(index + 1);
      // Cosignatures may be added to a note; nothing else may change.
      const shown = this.notes.get(index + 1) ?? '';
      assert.ok((note ?? '').startsWith(shown), 'a note changed');
      if (note === null) continue;
      published = index + 1;
      replay.checkCheckpoint(openCheckpoint(native, note, log));
    }
    assert.equal(log.published().size, published);
    for (const size of this.notes.keys()) assert.ok(log.checkpointAt(size) !== null);
    const byKid = (a: { kid: string }, b: { kid: string }): number => (a.kid < b.kid ? -1 : 1);
    assert.deepEqual([...log.receiptKeys()].sort(byKid), [...replay.keys()].sort(byKid));
    return replay;
  }

  /** Checks, closes and removes the log. */
  async end(): Promise<void> {
    try {
      if (this.#open) {
        this.check();
        await this.#opened.check();
        await this.stop();
      }
    } finally {
      await rm(this.folder, { recursive: true, force: true });
    }
  }

  #watch(): void {
    const { size, note } = this.log.published();
    if (size > 0) this.notes.set(size, note);
    this.log.onPublished((published) => {
      const before = this.notes.get(published.size);
      assert.ok(before === undefined || before === published.note, 'two notes of one size');
      this.notes.set(published.size, published.note);
    });
  }
}

function openIn(data: string, time: TestTime, options: KeptOptions): Promise<TestLog> {
  const { bare: _bare, checkpoint_interval_ms, types = [NOTE], ...rest } = options;
  const { kind = 'live', number = 1, ...more } = rest;
  return openTestLog({
    data,
    kind,
    number,
    types,
    declare: false,
    ...(checkpoint_interval_ms === undefined ? {} : { checkpoint_interval_ms }),
    more: { ...more, time },
  });
}

/** Runs a test with a log that is checked and removed afterwards. */
export const withLog =
  (body: (kept: KeptLog) => Promise<void>, options: KeptOptions = {}): (() => Promise<void>) =>
  async () => {
    const kept = await KeptLog.open(options);
    let failed = true;
    try {
      await body(kept);
      failed = false;
    } finally {
      // If the test has failed, its error is reported, not that of the check.
      await kept.end().catch((error: unknown) => {
        if (!failed) throw error;
      });
    }
  };

/** Asserts the code of an error. */
export const code = (wanted: LogError['code']) => (error: unknown) => {
  assert.equal((error as { code?: string }).code, wanted, String(error));
  return true;
};

/** The parsed statement of an entry. */
export const statementOf = (log: Log, index: number): JsonObject =>
  JSON.parse(log.entry(index) ?? 'null') as JsonObject;
