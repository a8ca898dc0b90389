// Follows one log: reads its newest checkpoint, replays every entry up to it, compares. Signatures are
// checked on threads while the replay goes on and the next bundles are fetched.

import { setTimeout as sleep } from 'node:timers/promises';
import { equal, isLogError, native, TILE_WIDTH, toBase64, toHex } from '../../log/index.ts';
import type { ReceiptKey } from '../../log/index.ts';
import {
  HASH_BYTES,
  isViolation,
  originParts,
  Replay,
  rootAt,
  SignatureChecks,
  textOfEntry,
  tileWidth,
} from '../../log/operate.ts';
import type {
  Closing,
  Mirror,
  Opening,
  Predecessor,
  Replayed,
  VerifyPool,
  Violation,
} from '../../log/operate.ts';
import { entriesAhead, isMirrorMissing, isMirrorTrouble, MirrorTrouble } from '../mirror/tiled.ts';
import { Carried, type EarlierLog, type FindEarlier } from './carried.ts';
import { judgeDelay, judgeHead, type Polled } from './clock-rules.ts';
import type { Cursor, CursorFiles } from './cursor.ts';
import { findingOf, isTorn, openEntry, prefixFinding, type Reading } from './evidence.ts';
import { Finding, type ShownEntry } from './finding.ts';
import { KeptMirror } from './kept-mirror.ts';
import { overLeaves, type LeafHashes } from './leaf-hashes.ts';
import { openNoted, type Noted } from './noted.ts';
import type { Notices } from './notices.ts';
import { TileChecks, type Extent } from './tile-checks.ts';

/** How a log ended, as far as its successor is compared with it. */
export interface End extends Predecessor {
  readonly note: string;
  readonly vkey: string;
}

/** How often a file that is missing is asked for, and how long the monitor waits in between. */
export interface Missing {
  readonly attempts: number;
  readonly pause_ms: number;
}

/** What a follower is made of. */
export interface FollowerOptions {
  readonly mirror: Mirror;
  readonly files: CursorFiles;
  /** The log, as the caller knows it or as it was pinned. */
  readonly cursor: Cursor;
  readonly pool: VerifyPool;
  /** The logs before it, which carried entries name. */
  readonly earlier?: FindEarlier;
  readonly onProgress?: (done: number, size: number) => void;
  /** What others want to know of this log. */
  readonly notices?: Notices;
  readonly missing?: Missing;
  /** Whether every checkpoint must have a signature of the log's ML-DSA-44 key. */
  readonly requireMlDsa?: boolean;
  /** Ends a pause. */
  readonly signal?: AbortSignal;
}

/** How a look is made. */
export interface LookOptions {
  /** Judges what depends on the clock as well. */
  readonly polled?: Polled | undefined;
  /** The log was given up for its successor: it publishes nothing more. */
  readonly given_up?: boolean;
}

/** What one look at a log came to. */
export interface Look {
  readonly size: number;
  /** Entries checked in this look. */
  readonly entries: number;
  readonly seconds: number;
  /** The note is older than one seen before, and consistent with it: a stale copy. */
  readonly stale: boolean;
  /** Whether the log signed the note with ML-DSA-44 too; absent for a log without such a key. */
  readonly ml_dsa?: boolean;
}

/** A replay at rest is written after this many entries at least: it holds every chain of the log. */
const REST_ENTRIES = 4096;
const REST_BYTES_PER_ENTRY = 700;
const MISSING: Missing = { attempts: 3, pause_ms: 1000 };

/** One log under watch. Throws `Finding` for a broken rule and `MirrorTrouble` for what proves nothing. */
export class Follower implements EarlierLog {
  readonly #options: FollowerOptions;
  readonly #mirror: KeptMirror;
  readonly #leaves: LeafHashes;
  readonly #tiles: TileChecks;
  readonly #carried: Carried;
  #signatures: SignatureChecks;
  #cursor: Cursor;
  #replay: Replay;
  #seen: Noted | null;
  #polled: Polled | null = null;
  #rested: number;
  #restEvery = REST_ENTRIES;
  #last: Replayed | null = null;
  /** The entry in hand: what the replay may refuse. */
  #bytes: Uint8Array | null = null;

  private constructor(options: FollowerOptions, leaves: LeafHashes, replay: Replay) {
    this.#options = options;
    this.#mirror = new KeptMirror(options.mirror);
    this.#cursor = options.cursor;
    this.#leaves = leaves;
    this.#tiles = new TileChecks(this.#mirror, leaves);
    this.#carried = new Carried(options.earlier);
    this.#replay = replay;
    this.#rested = replay.size;
    this.#signatures = new SignatureChecks(options.pool);
    const { note } = options.cursor;
    // It was judged when it was new, perhaps before the log had its ML-DSA-44 key.
    const { origin, vkey } = options.cursor;
    this.#seen = note === null ? null : openNoted(note, { origin, vkey }, options.mirror.name);
    options.notices?.rested(replay);
  }

  static async open(options: FollowerOptions): Promise<Follower> {
    const leaves = options.files.leafHashes();
    return new Follower(options, leaves, await replayAtRest(options, leaves));
  }

  get origin(): string {
    return this.#cursor.origin;
  }

  get vkey(): string {
    return this.#cursor.vkey;
  }

  /** How many entries are checked. */
  get size(): number {
    return this.#replay.size;
  }

  get closed(): boolean {
    return this.#replay.closed;
  }

  /** What entry 0 says of the log before. */
  get opening(): Opening | null {
    return this.#replay.opening;
  }

  /** What log.closed.v1 says of the log after. */
  get closing(): Closing | null {
    return this.#replay.closing;
  }

  /** Every receipt key that the log has declared. */
  keys(): readonly ReceiptKey[] {
    return this.#replay.keys();
  }

  /** The tree head of the newest checkpoint that was checked; a successor must name it. */
  end(): End | null {
    if (this.#seen === null) return null;
    const { origin, size, root, note } = this.#seen;
    const { last_ms } = this.#cursor;
    return { origin, size, root: toHex(root), last_ms, note, vkey: this.vkey };
  }

  /** Root of the tree at an older size, in hex, out of what was checked. */
  async rootAt(size: number): Promise<string | null> {
    const leaves = overLeaves(await this.#leaves.all());
    try {
      return toHex(rootAt(leaves, native, size));
    } catch (error) {
      if (isLogError(error)) return null;
      throw error;
    }
  }

  /** An entry that was checked, under the newest note. */
  async entry(index: number): Promise<ShownEntry> {
    return this.#seen === null ? { index } : openEntry(this.#reading(this.#seen), index);
  }

  leafHashes(): Promise<Uint8Array> {
    return this.#leaves.all();
  }

  /** The bytes of an entry that was checked, as they are handed out now; null where they are withheld. */
  async served(index: number): Promise<Uint8Array | null> {
    const kept = this.#mirror.keptEntry(index);
    if (kept !== null) return kept;
    const n = Math.floor(index / TILE_WIDTH);
    const bundle = this.#mirror.bundle(n, tileWidth(this.#seen?.size ?? 0, 0, n));
    const entries = await bundle.catch((error: unknown) => {
      if (isMirrorTrouble(error)) return [];
      throw error;
    });
    return entries[index % TILE_WIDTH] ?? null;
  }

  /** One look. */
  async look({ polled, given_up = false }: LookOptions = {}): Promise<Look> {
    const started = performance.now();
    const from = this.#replay.size;
    const head = this.#open(await this.#mirror.checkpoint());
    const stale = await this.#compare(head);
    if (!stale) {
      for (const next of [this.#seen, head]) {
        if (next !== null && next.size >= this.#replay.size) {
          await this.#served(next, () => this.#replayTo(next, polled === undefined));
        }
      }
      await this.#remember(head);
    }
    if (polled !== undefined) this.#judge(head, polled, { stale, given_up });
    // Last: a server that does not hand out tiles keeps nothing else from being judged.
    if (!stale) await this.#checkTiles(head, polled === undefined ? 'all' : elapsed(polled));
    return {
      size: this.#replay.size,
      entries: this.#replay.size - from,
      seconds: (performance.now() - started) / 1000,
      stale,
      ...(head.ml_dsa === undefined ? {} : { ml_dsa: head.ml_dsa }),
    };
  }

  /** Writes the replay at rest, so that the next run goes on here. */
  async rest(): Promise<void> {
    // What was carried is compared before the next run goes on behind it.
    if (this.#rested === this.#replay.size || this.#carried.waiting) return;
    const state = this.#replay.state();
    await this.#options.files.writeReplay(state);
    this.#rested = this.#replay.size;
    this.#restEvery = Math.max(REST_ENTRIES, state.length / REST_BYTES_PER_ENTRY);
  }

  #open(note: string): Noted {
    const { mirror, requireMlDsa = false } = this.#options;
    return openNoted(note, { ...this.#cursor, requireMlDsa }, mirror.name);
  }

  #reading(head: Noted): Reading {
    const before = this.#seen?.size === head.size ? null : this.#seen;
    const [mirror, leaves] = [this.#mirror, this.#leaves];
    return { mirror, leaves, head, before, keys: this.keys() };
  }

  /** Compares with the newest note seen; true for an older one that is consistent with it. */
  async #compare(head: Noted): Promise<boolean> {
    const seen = this.#seen;
    if (seen === null || head.size > seen.size) return false;
    if (head.size === seen.size) {
      if (equal(head.root, seen.root)) return false;
      throw new Finding('two_roots', `two roots for ${String(head.size)} entries`, 'signed', {
        notes: [seen.note, head.note],
        entries: [],
      });
    }
    const prefix = await this.#leaves.prefix(head.size, seen);
    if (prefix === null) {
      const finding = await prefixFinding({ ...this.#reading(seen), before: head });
      if (finding === null) return true;
      throw finding;
    }
    if (prefix.from_root === toBase64(head.root)) return true;
    const detail = `the tree of ${String(head.size)} entries is not in that of ${String(seen.size)}`;
    throw new Finding('inconsistent', detail, 'signed', {
      notes: [head.note, seen.note],
      entries: [],
      consistency: prefix,
    });
  }

  /**
   * Reads what the note implies. A file that the server says it does not have, and entries that were wrong
   * only at a first look, are read again: a copy may be incomplete for a moment, a proxy may mix answers.
   * Then it is a finding: otherwise a server that answers so each time would never be judged.
   */
  async #served<T>(head: Noted, read: () => Promise<T>): Promise<T> {
    const { attempts, pause_ms } = this.#options.missing ?? MISSING;
    const { signal } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await read();
      } catch (error) {
        const finding = lastingFinding(error, head);
        if (finding === null || signal?.aborted === true) throw error;
        if (attempt >= attempts) throw finding;
        const options = signal === undefined ? {} : { signal };
        await sleep(pause_ms, undefined, options).catch(() => undefined);
      }
    }
  }

  async #checkTiles(head: Noted, extent: Extent): Promise<void> {
    const sound = await this.#served(head, () => this.#tiles.check(head, extent));
    if (sound) return;
    // Our own file: the log is not to blame.
    await this.#leaves.remove();
    this.#replay = await replayAtRest(this.#options, this.#leaves);
    this.#rested = 0;
    throw new MirrorTrouble('the leaf hashes in the state folder are damaged: all is checked anew');
  }

  /** @param all whether every tile is read in this look */
  async #replayTo(head: Noted, all: boolean): Promise<void> {
    try {
      await this.#takeEntries(head, all);
      await this.#signatures.settle();
      this.#replay.checkCheckpoint(head);
      await this.#compareCarried(head);
      this.#options.notices?.checked();
    } catch (thrown) {
      // What was taken so far still counts: the next attempt goes on behind it.
      if (isMirrorTrouble(thrown)) throw thrown;
      const error = isViolation(thrown) ? await this.#firstBroken(thrown) : thrown;
      const refused = isViolation(error) && this.#replay.size === error.index ? this.#bytes : null;
      const finding = isViolation(error)
        ? await findingOf(error, refused, this.#reading(head))
        : error;
      this.#options.notices?.dropped();
      this.#leaves.drop();
      this.#tiles.drop();
      this.#carried.drop();
      // Entries of a torn answer may have been taken: what was checked is at rest.
      this.#replay = await replayAtRest(this.#options, this.#leaves);
      this.#signatures = new SignatureChecks(this.#options.pool);
      throw finding;
    }
  }

  /** The violation, or that of an earlier entry whose signature was not checked yet and does not hold. */
  async #firstBroken(violation: Violation): Promise<Violation> {
    try {
      await this.#signatures.take(this.#replay);
      await this.#signatures.settle();
    } catch (error) {
      if (isViolation(error) && error.index < violation.index) return error;
    }
    return violation;
  }

  #compareCarried(head: Noted): Promise<void> {
    const { number = 1 } = originParts(this.origin) ?? {};
    return this.#carried.compare({
      ...{ number, vkey: this.vkey, note: head.note },
      entry: (index) => openEntry(this.#reading(head), index),
    });
  }

  async #takeEntries(head: Noted, all: boolean): Promise<void> {
    const { onProgress } = this.#options;
    const replay = this.#replay;
    for await (const entries of entriesAhead(this.#mirror, replay.size, head.size)) {
      for (const bytes of entries) this.#take(bytes);
      if (all) this.#readTileAhead(replay.size);
      await this.#signatures.take(replay);
      onProgress?.(replay.size, head.size);
    }
    this.#bytes = null;
  }

  /** Reads the full tile that ends at a size; there is none at other sizes. */
  #readTileAhead(size: number): void {
    const leaves = this.#leaves.taken(size - TILE_WIDTH, size);
    if (size % TILE_WIDTH !== 0 || leaves.length !== TILE_WIDTH * HASH_BYTES) return;
    this.#tiles.readAhead(size / TILE_WIDTH - 1, leaves);
  }

  #take(bytes: Uint8Array): void {
    const index = this.#replay.size;
    this.#bytes = bytes;
    const entry = textOfEntry(bytes, index);
    this.#last = this.#replay.add(entry);
    this.#leaves.take(index, this.#last.leafHash);
    this.#carried.take(this.#last);
    const fresh = index >= (this.#seen?.size ?? Infinity);
    this.#options.notices?.took(this.#replay, this.#last, entry, fresh);
    if (this.#polled === null || this.#seen?.size !== index) return;
    const issued_at_ms = this.#last.statement['issued_at_ms'] as number;
    const { note } = this.#seen;
    judgeDelay({ note, polled: this.#polled }, { index, issued_at_ms, entry });
  }

  async #remember(head: Noted): Promise<void> {
    const last_ms =
      this.#last === null ? this.#cursor.last_ms : (this.#last.statement['issued_at_ms'] as number);
    const changed = this.#cursor.note !== head.note;
    this.#seen = head;
    this.#cursor = { ...this.#cursor, note: head.note, closed: this.#replay.closed, last_ms };
    await this.#leaves.keep();
    // The cursor first: the replay at rest is never ahead of the note that it was compared with.
    if (changed) await this.#options.files.write(this.#cursor);
    if (this.#replay.size - this.#rested >= this.#restEvery) await this.rest();
  }

  /** A stale note is judged as well: the newest one that this monitor was given is no newer. */
  #judge(
    head: Noted,
    polled: Polled,
    { stale, given_up }: { readonly stale: boolean; readonly given_up: boolean },
  ): void {
    if (!stale) this.#polled = polled;
    const map_head_ms = this.#replay.mapHead?.issued_at_ms ?? 0;
    const closed = this.#replay.closed || given_up;
    judgeHead({ note: head.note, map_head_ms, closed }, polled);
  }
}

/** What it comes to when a read goes wrong in the same way each time; null for what may pass. */
function lastingFinding(error: unknown, { note }: Noted): Finding | null {
  if (isTorn(error)) return error.finding;
  if (!isMirrorMissing(error)) return null;
  return new Finding('tile_missing', `${error.path} is not served: ${error.message}`, 'observed', {
    notes: [note],
    entries: [],
    withheld: [error.path],
  });
}

const elapsed = ({ interval_ms }: Polled): Extent => ({ elapsed_ms: interval_ms });

/** The replay where it rested; at entry 0 when there is none that can be read and fits the cursor. */
async function replayAtRest(options: FollowerOptions, leaves: LeafHashes): Promise<Replay> {
  const { cursor, files } = options;
  const replay = {
    suite: native,
    origin: cursor.origin,
    verifySignatures: 'deferred' as const,
  };
  const state = await files.readReplay();
  try {
    const resumed = state === null ? null : Replay.resume(state, replay);
    // One of an older version does not know how the log opened, or its leaf hashes are not all there.
    const whole =
      resumed !== null && resumed.opening !== null && (await leaves.kept()) >= resumed.size;
    if (whole) return resumed;
  } catch (error) {
    if (!isLogError(error)) throw error;
  }
  return new Replay(replay);
}
