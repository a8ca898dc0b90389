// Follows one log: reads its newest checkpoint, replays every entry up to it, compares. Signatures are
// checked on threads while the replay goes on and the next bundles are fetched.

import { equal, LogError, native, toBase64, toHex } from '../../log/index.ts';
import { textOfEntry } from '../../log/entry-bytes.ts';
import type { Mirror } from '../../log/mirror.ts';
import type { VerifyPool } from '../../log/crypto/verify-pool.ts';
import { Replay, Violation } from '../../log/replay.ts';
import type { Predecessor, Replayed } from '../../log/replay.ts';
import { SignatureChecks } from '../../log/signature-checks.ts';
import { entriesAhead } from '../mirror/ahead.ts';
import { MirrorTrouble } from '../mirror/limits.ts';
import { judgeDelay, judgeHead, type Polled } from './clock-rules.ts';
import type { Cursor, CursorFiles } from './cursor.ts';
import { findingOf, isPrefix, rootFinding } from './evidence.ts';
import { Finding } from './finding.ts';
import type { LeafHashes } from './leaf-hashes.ts';
import { openNoted, type Noted } from './noted.ts';
import type { Notices } from './notices.ts';

/** What a follower is made of. */
export interface FollowerOptions {
  readonly mirror: Mirror;
  readonly files: CursorFiles;
  /** The log, as the caller knows it or as it was pinned. */
  readonly cursor: Cursor;
  readonly pool: VerifyPool;
  /** How the log before it ended, where that was followed too. */
  readonly predecessor?: Predecessor & { readonly note: string };
  readonly onProgress?: (done: number, size: number) => void;
  /** What others want to know of this log. */
  readonly notices?: Notices;
}

/** What one look at a log came to. */
export interface Look {
  readonly size: number;
  /** Entries checked in this look. */
  readonly entries: number;
  readonly seconds: number;
  /** The note is older than one seen before, and consistent with it: a stale copy. */
  readonly stale: boolean;
}

/** A replay at rest is written after this many entries at least: it holds every chain of the log. */
const REST_ENTRIES = 4096;
const REST_BYTES_PER_ENTRY = 700;

/** One log under watch. Throws `Finding` for a broken rule and `MirrorTrouble` for what proves nothing. */
export class Follower {
  readonly #options: FollowerOptions;
  #signatures: SignatureChecks;
  #cursor: Cursor;
  #replay: Replay;
  #seen: Noted | null;
  #polled: Polled | null = null;
  #rested: number;
  #restEvery = REST_ENTRIES;
  #last: Replayed | null = null;
  readonly #leaves: LeafHashes;

  private constructor(options: FollowerOptions, replay: Replay) {
    this.#options = options;
    this.#cursor = options.cursor;
    this.#leaves = options.files.leafHashes();
    this.#replay = replay;
    this.#rested = replay.size;
    this.#signatures = new SignatureChecks(options.pool);
    const { note } = options.cursor;
    this.#seen = note === null ? null : this.#open(note);
    options.notices?.rested(replay);
  }

  static async open(options: FollowerOptions): Promise<Follower> {
    return new Follower(options, await replayAtRest(options));
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

  /** Where the log stood at the newest checkpoint that was checked; what a successor must name. */
  end(): (Predecessor & { readonly note: string }) | null {
    if (this.#seen === null) return null;
    const { origin, size, root, note } = this.#seen;
    return { origin, size, root: toHex(root), last_ms: this.#cursor.last_ms, note };
  }

  /** One look. `polled` judges what depends on the clock as well. */
  async look(polled?: Polled): Promise<Look> {
    const started = performance.now();
    const from = this.#replay.size;
    const head = this.#open(await this.#options.mirror.checkpoint());
    const stale = await this.#compare(head);
    if (!stale) {
      for (const next of [this.#seen, head]) {
        if (next !== null && next.size >= this.#replay.size) await this.#replayTo(next);
      }
      await this.#remember(head);
      if (polled !== undefined) this.#judge(head, polled);
    }
    return {
      size: this.#replay.size,
      entries: this.#replay.size - from,
      seconds: (performance.now() - started) / 1000,
      stale,
    };
  }

  /** Writes the replay at rest, so that the next run goes on here. */
  async rest(): Promise<void> {
    if (this.#rested === this.#replay.size) return;
    const state = this.#replay.state();
    await this.#options.files.writeReplay(state);
    this.#rested = this.#replay.size;
    this.#restEvery = Math.max(REST_ENTRIES, state.length / REST_BYTES_PER_ENTRY);
  }

  #open(note: string): Noted {
    return openNoted(note, this.#cursor, this.#options.mirror.name);
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
    const same =
      prefix === null
        ? await isPrefix(this.#options.mirror, head, seen)
        : prefix.from_root === toBase64(head.root);
    if (same) return true;
    const detail = `the tree of ${String(head.size)} entries is not in that of ${String(seen.size)}`;
    throw new Finding('inconsistent', detail, 'signed', {
      notes: [head.note, seen.note],
      entries: [],
      ...(prefix === null ? {} : { consistency: prefix }),
    });
  }

  async #replayTo(head: Noted): Promise<void> {
    try {
      await this.#takeEntries(head);
      await this.#signatures.settle();
      this.#replay.checkCheckpoint(head);
      this.#options.notices?.checked();
    } catch (error) {
      this.#options.notices?.dropped();
      this.#leaves.drop();
      if (!(error instanceof Violation)) throw error;
      const finding = await this.#findingOf(error, head);
      // Entries of a torn answer may have been taken: what was checked is at rest.
      this.#replay = await replayAtRest(this.#options);
      this.#signatures = new SignatureChecks(this.#options.pool);
      throw finding;
    }
  }

  /**
   * What the violation comes to. It is the log's only when the log commits to every entry that the replay
   * took before; else other entries are served, or were at a first look.
   */
  async #findingOf(violation: Violation, head: Noted): Promise<Error> {
    const { mirror, predecessor } = this.#options;
    const { size } = this.#replay;
    const taken = { origin: head.origin, size, root: this.#replay.root(), note: '' };
    const before = this.#seen?.size === head.size ? null : this.#seen;
    try {
      if (violation.rule === 'checkpoint_root' || !(await isPrefix(mirror, taken, head))) {
        return await rootFinding(mirror, head, before);
      }
      const older = violation.rule === 'predecessor' ? predecessor?.note : undefined;
      return await findingOf(violation, mirror, head, older);
    } catch (error) {
      if (error instanceof MirrorTrouble) return error;
      throw error;
    }
  }

  async #takeEntries(head: Noted): Promise<void> {
    const { mirror, onProgress } = this.#options;
    const replay = this.#replay;
    for await (const entries of entriesAhead(mirror, replay.size, head.size)) {
      for (const bytes of entries) this.#take(bytes);
      await this.#signatures.take(replay);
      onProgress?.(replay.size, head.size);
    }
  }

  #take(bytes: Uint8Array): void {
    const index = this.#replay.size;
    const entry = textOfEntry(bytes, index);
    this.#last = this.#replay.add(entry);
    this.#leaves.take(index, this.#last.leafHash);
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

  #judge(head: Noted, polled: Polled): void {
    this.#polled = polled;
    const map_head_ms = this.#replay.mapHead?.issued_at_ms ?? 0;
    judgeHead({ note: head.note, map_head_ms, closed: this.#replay.closed }, polled);
  }
}

/** The replay where it rested; at entry 0 when there is none that can be read and fits the cursor. */
async function replayAtRest({ cursor, files, predecessor }: FollowerOptions): Promise<Replay> {
  const options = {
    suite: native,
    origin: cursor.origin,
    verifySignatures: 'deferred' as const,
    ...(predecessor === undefined ? {} : { predecessor }),
  };
  const state = await files.readReplay();
  try {
    if (state !== null) return Replay.resume(state, options);
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
  }
  return new Replay(options);
}
