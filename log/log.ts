// An open log, as `openLog` returns it: reads, appends and the operations of the operator. When a write to the store
// fails, writes stop and reads continue; a new engine is started as soon as the disk accepts writes again.

import { native } from './crypto/native.ts';
import { absence } from './read/absence.ts';
import type { Core } from './write/core.ts';
import type { JsonObject } from './encoding/json.ts';
import type { Engine, EngineOptions } from './write/engine.ts';
import { startEngine } from './write/engine.ts';
import { isLogError, LogError } from './errors.ts';
import { lookup, type Page, type Question } from './read/lookup.ts';
import { consistencyPath, inclusionPath, type RightSide } from './merkle/prove.ts';
import { Operator } from './operate/operator.ts';
import type { Visible } from './write/publisher.ts';
import { refusal } from './write/read-only.ts';
import { Reader } from './read/reader.ts';
import { floorAfter } from './write/state.ts';
import { write } from './store/store.ts';
import { writable } from './store/durable-file.ts';
import { ATTACHED_ROW, rowKey } from './store/layout.ts';
import { Turns } from './turns.ts';
import type {
  Appended,
  AppendOptions,
  AttachedRow,
  Draft,
  EntryType,
  Kind,
  Log,
  LogHealth,
  Published,
  ReceiptKey,
  SurfaceReader,
} from './types.ts';

/** Milliseconds between attempts to start a new engine after a write failed. */
const RETRY_MS = 250;

/** The implementation of `Log`. */
export class OpenLog extends Reader implements Log {
  readonly kind: Kind;
  readonly number: number;
  readonly operator: Operator;
  readonly #options: EngineOptions;
  #engine: Engine;
  #types: EntryType[];
  readonly #waiters = new Waiters();
  readonly #listeners = new Set<(published: Published) => void>();
  readonly #declaring = new Turns();
  readonly #registering = new Map<string, Promise<void>>();
  /** The number of lookups in progress, by the version of the map that they read. */
  readonly #held = new Map<number, number>();
  #reason: string | null = null;
  #closing = false;
  #recovery: Promise<void> | null = null;
  /** Engines whose map and database are closed. */
  readonly #discarded = new WeakSet<Engine>();
  /** Kept for the last requested size: most callers ask for the newest one. */
  #rightSide: { readonly size: number; readonly roots: RightSide } = { size: 0, roots: new Map() };

  private constructor(options: EngineOptions, engine: Engine) {
    super(() => this.#engine);
    this.kind = options.kind;
    this.number = options.number;
    this.#options = options;
    this.#types = [...options.types];
    this.#engine = engine;
    this.operator = new Operator(
      this,
      () => this.#engine,
      (drafts) => this.#append(drafts),
    );
  }

  static async open(options: EngineOptions): Promise<OpenLog> {
    const opened: { log?: OpenLog } = {};
    const hooks = {
      onVisible: (visible: Visible, before: Visible) => {
        if (opened.log !== undefined) opened.log.#shown(visible, before);
      },
      onFailure: (error: unknown) => {
        // A clock that jumped needs the operator's confirmation; the store works and reads continue.
        const clock = isLogError(error) && error.code === 'clock_untrusted';
        if (opened.log !== undefined && !clock) opened.log.#failed(error);
        options.onFailure?.(error);
      },
    };
    const engine = await startEngine({ ...options, ...hooks });
    const log = new OpenLog({ ...options, ...hooks }, engine);
    opened.log = log;
    if (engine.publisher.visible.size === 0) await engine.publisher.publish();
    return log;
  }

  get origin(): string {
    return this.#engine.core.origin;
  }

  get vkey(): string {
    return this.#engine.vkey;
  }

  get vkey_ml_dsa(): string | null {
    return this.#engine.vkey_ml_dsa;
  }

  get follows(): boolean {
    return this.#engine.read_only?.follows === true;
  }

  receiptKeys(): readonly ReceiptKey[] {
    return this.#engine.core.keys.durable();
  }

  chainKinds(): ReadonlyMap<string, number> {
    return this.#engine.core.declarations.kinds;
  }

  surfaces(): SurfaceReader {
    return this.#engine.core.surfaces.reader;
  }

  declare(types: readonly EntryType[]): Promise<void> {
    // In turn, so that two calls do not both declare the same type.
    return this.#declaring.run(() => this.#declare(types));
  }

  async #declare(types: readonly EntryType[]): Promise<void> {
    const { declarations } = this.#engine.core;
    const drafts = types
      .filter((type) => declarations.lacks(type))
      .map(({ name, schema, keys }) => ({
        type: 'log.entry_type.v1',
        members: { name, schema, keys },
      }));
    for (const type of types) declarations.bring(type);
    this.#types = [...this.#types, ...types];
    // A read-only log uses the types to read rows, and declares nothing.
    if (drafts.length > 0 && this.#engine.read_only === null) await this.#append(drafts);
  }

  registerTenant(tenant_ref: string, key_sha256: string): Promise<void> {
    const { coreRows } = this.#engine.core;
    if (coreRows.durable(`tenant/${tenant_ref}`) !== undefined) return Promise.resolve();
    const known = this.#registering.get(tenant_ref);
    if (known !== undefined) return known;
    const registered = this.#append([
      { type: 'log.tenant.v1', tenant_ref, members: { key_sha256 } },
    ])
      .then(() => undefined)
      .finally(() => this.#registering.delete(tenant_ref));
    this.#registering.set(tenant_ref, registered);
    return registered;
  }

  append(drafts: readonly Draft[], options?: AppendOptions): Promise<readonly Appended[]> {
    if (drafts.some(({ type }) => type.startsWith('log.'))) {
      return Promise.reject(
        new LogError('entry_invalid', 'only the log itself appends entries of log. types'),
      );
    }
    return this.#append(drafts, options);
  }

  #append(drafts: readonly Draft[], options: AppendOptions = {}): Promise<readonly Appended[]> {
    if (this.#closing) return Promise.reject(closing());
    if (this.#reason !== null) return Promise.reject(new LogError('log_unavailable', this.#reason));
    const { read_only } = this.#engine;
    if (read_only !== null) return Promise.reject(refusal(read_only));
    return this.#engine.sequencer.append(drafts, options);
  }

  async putAttached(rows: readonly AttachedRow[], options?: { sync?: boolean }): Promise<void> {
    const { read_only } = this.#engine;
    if (read_only?.follows === true) throw refusal(read_only);
    const writes = rows.map(({ key, value }) => write(rowKey(ATTACHED_ROW, key), value));
    try {
      await this.#engine.core.store.write(writes, options);
    } catch (error) {
      // The store refuses every write after one that failed.
      this.#failed(error);
      throw error;
    }
  }

  published(): Published {
    return this.#engine.publisher.visible;
  }

  whenPublished(size: number, signal?: AbortSignal): Promise<Published> {
    const { visible } = this.#engine.publisher;
    if (visible.size >= size) return Promise.resolve(visible);
    if (this.#closing) return Promise.reject(closing());
    const { read_only } = this.#engine;
    if (read_only !== null && !this.follows) return Promise.reject(refusal(read_only));
    const published = this.#waiters.wait(size, signal);
    this.#engine.publisher.ask(size);
    return published;
  }

  onPublished(listener: (published: Published) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  inclusion(index: number, size: number): readonly Uint8Array[] {
    this.#checkSize(size);
    if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
      throw new LogError('out_of_range', `index is not from 0 to ${String(size - 1)}`);
    }
    if (this.#rightSide.size !== size) this.#rightSide = { size, roots: new Map() };
    return inclusionPath(this.#engine.core.tiles, index, size, native, this.#rightSide.roots);
  }

  consistency(from: number, to: number): readonly Uint8Array[] {
    this.#checkSize(to);
    if (!Number.isSafeInteger(from) || from < 0 || from > to) {
      throw new LogError('out_of_range', `from is not from 0 to ${String(to)}`);
    }
    return consistencyPath(this.#engine.core.tiles, from, to);
  }

  lookup(question: Question, page?: Page): Promise<JsonObject> {
    return this.#answer((core, visible) => lookup(core, visible, question, page));
  }

  absence(question: Question): Promise<JsonObject> {
    return this.#answer((core, visible) => absence(core, visible, question));
  }

  /**
   * Keeps the version of the map that a lookup reads until the lookup has finished.
   *
   * When an engine is discarded, the next one makes another map under the same name, whose versions have the same ids. A
   * lookup of the discarded engine therefore answers nothing and releases nothing.
   *
   * @throws LogError `log_unavailable` if the engine was discarded meanwhile
   */
  async #answer(make: (core: Core, visible: Visible) => Promise<JsonObject>): Promise<JsonObject> {
    const engine = this.#engine;
    const { core, publisher } = engine;
    const { visible } = publisher;
    const { version } = visible;
    this.#checkKept(engine);
    this.#held.set(version, (this.#held.get(version) ?? 0) + 1);
    try {
      return await make(core, visible);
    } finally {
      this.#checkKept(engine);
      const left = (this.#held.get(version) ?? 1) - 1;
      if (left > 0) this.#held.set(version, left);
      else {
        this.#held.delete(version);
        if (version !== this.#engine.publisher.visible.version) core.fold.release(version);
      }
    }
  }

  #checkKept(engine: Engine): void {
    if (!this.#discarded.has(engine)) return;
    if (this.#closing) throw closing();
    throw new LogError('log_unavailable', this.#reason ?? 'the log has opened its database again');
  }

  health(): LogHealth {
    return healthOf(this.#engine, this.#closing ? 'the log is closing' : this.#reason);
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    // A key file that is written now would otherwise be taken for a leftover by the next process.
    await this.operator.settled();
    await this.#recovery;
    const { core, sequencer, publisher } = this.#engine;
    if (this.#reason === null) {
      await sequencer.drain();
      await publisher.publish();
      await publisher.stop();
      // A snapshot only saves time at the next start; a full disk must not keep the lock from being released.
      await this.#engine.saveMap().catch(() => undefined);
    }
    this.#waiters.end(closing());
    this.#options.replica?.follow(null);
    this.#discarded.add(this.#engine);
    await core.fold.close();
    await core.store.close();
    await this.#options.onClosed?.();
  }

  #checkSize(size: number): void {
    const { visible } = this.#engine.publisher;
    if (!Number.isSafeInteger(size) || size < 0 || size > visible.size) {
      throw new LogError(
        'out_of_range',
        `size is not from 0 to the published ${String(visible.size)}`,
      );
    }
  }

  #shown(visible: Visible, before: Visible): void {
    const { core } = this.#engine;
    if (before.size > 0 && !this.#held.has(before.version)) core.fold.release(before.version);
    this.#waiters.tell(visible);
    // In a task of its own, so that an exception of a listener is not taken for a failed checkpoint.
    for (const listener of this.#listeners) {
      queueMicrotask(() => {
        listener(visible);
      });
    }
  }

  #failed(error: unknown): void {
    if (this.#reason !== null || this.#closing) return;
    this.#reason = `the log does not take entries: ${error instanceof Error ? error.message : 'unknown'}`;
    this.#recovery = this.#recover();
  }

  /** Called after every waiting append was rejected. The new engine reads from the store what was written. */
  async #recover(): Promise<void> {
    const { core, publisher } = this.#engine;
    await publisher.stop().catch(() => undefined);
    let open = true;
    while (!this.#closing) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      try {
        await writable(this.#options.folder);
        if (open) {
          open = false;
          this.#discarded.add(this.#engine);
          await core.fold.close();
          await core.store.close();
        }
        this.#engine = await startEngine({ ...this.#options, types: this.#types });
        this.#held.clear();
        this.#reason = null;
        this.#waiters.tell(this.#engine.publisher.visible);
        for (const size of this.#waiters.sizes) this.#engine.publisher.ask(size);
        return;
      } catch (error) {
        this.#reason = `the log does not take entries: ${error instanceof Error ? error.message : 'unknown'}`;
      }
    }
  }
}

const closing = (): LogError => new LogError('log_unavailable', 'the log is closing');

/** How long the health reports a failure of a plugin, because a plugin may fail on the entries of one caller only. */
const FAILED_MS = 3_600_000;

/** `reason` says why the log refuses appends; null when it accepts them. */
function healthOf(engine: Engine, failure: string | null): LogHealth {
  const { core, publisher, folded, read_only } = engine;
  const follows = read_only?.follows === true;
  const reason = failure ?? (follows ? null : (read_only?.reason ?? null));
  const { visible } = publisher;
  const waiting = core.durable - visible.size;
  const oldest = waiting > 0 ? timeAt(core, visible.size) : null;
  return {
    writable: reason === null,
    ...(reason === null ? {} : { reason }),
    lost_key: read_only?.lost_key ?? null,
    closed: core.position.closed || (read_only?.lost_key === null && !follows),
    size: core.durable,
    published_size: visible.size,
    published_at_ms: visible.published_at_ms,
    waiting,
    oldest_waiting_ms: oldest === null ? null : Math.max(0, core.clock.wall() - oldest),
    clock_offset_ms: core.clock.drift(),
    clock_doubt: core.clock.doubt(floorAfter(core.position)),
    keys_in_map: folded.keys,
    damaged: core.store.damaged ?? false,
    failed_plugins: [...core.failures]
      .filter(([, at_ms]) => core.clock.monotonic() - at_ms < FAILED_MS)
      .map(([plugin]) => plugin)
      .sort(),
  };
}

/** The time of an entry; null if it cannot be read, because it is damaged or the database is being opened again. */
function timeAt(core: Core, index: number): number | null {
  try {
    return core.statementAt(index).issued_at_ms as number;
  } catch (error) {
    if (isLogError(error)) return null;
    throw error;
  }
}

interface Waiter {
  readonly size: number;
  readonly resolve: (published: Published) => void;
  readonly reject: (error: LogError) => void;
}

// Requests that wait for a checkpoint. The first one that covers their size answers them.

/** The requests that wait for checkpoints of one log. They survive a restart of its engine. */
class Waiters {
  #waiting: Waiter[] = [];

  /** The sizes that the requests wait for. */
  get sizes(): readonly number[] {
    return this.#waiting.map(({ size }) => size);
  }

  /** Rejects with `log_unavailable` when the signal or the log ends the wait. */
  wait(size: number, signal?: AbortSignal): Promise<Published> {
    if (signal?.aborted === true) return Promise.reject(gaveUp());
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(gaveUp());
      };
      const waiter: Waiter = {
        size,
        resolve: (published) => {
          signal?.removeEventListener('abort', giveUp);
          resolve(published);
        },
        reject,
      };
      this.#waiting.push(waiter);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  tell(published: Published): void {
    const due = this.#waiting.filter(({ size }) => size <= published.size);
    this.#waiting = this.#waiting.filter(({ size }) => size > published.size);
    for (const { resolve } of due) resolve(published);
  }

  end(error: LogError): void {
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting = [];
  }
}

const gaveUp = (): LogError =>
  new LogError('log_unavailable', 'the wait for this checkpoint was given up');
