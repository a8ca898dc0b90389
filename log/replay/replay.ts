// Replays a log: checks every rule of log/FORMAT.md §1 to §5 over its entries in order, as §7 requires of a monitor.
// fsck, restore, the monitor and the tests use it.
//
// A replay trusts no entry, and keeps its own state (log-state.ts), which is independent of the writer's.

import { hash } from 'node:crypto';
import type { Suite } from '../crypto/suite.ts';
import { concat, equal, fromHex, fromUtf8, readU64, toHex, u64, utf8 } from '../encoding/bytes.ts';
import type { JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import { HeadTrie } from '../map/trie.ts';
import type { Checkpoint } from '../note/checkpoint.ts';
import type { HeadMap } from './chains.ts';
import type { Predecessor } from '../rules/life.ts';
import { LogState } from './log-state.ts';
import type { Closing, MapHead, Opening } from './log-state.ts';
import { isRuleBroken, RuleBroken, Violation, under } from '../rules/violation.ts';
import type { Rule } from '../rules/violation.ts';
import type { ChainKey, Head, ReceiptKey } from '../types.ts';
import { EMPTY_ROOT, nodeHash } from '../merkle/hash.ts';
import type { VerifyPool } from '../crypto/verify-pool.ts';
import { isUtf8 } from 'node:buffer';
import type { LogErrorCode } from '../errors.ts';
import { readEntry } from '../verify/entry.ts';
import type { EntryParts } from '../verify/entry.ts';
import { originParts } from '../map/grammar.ts';

export { isViolation, Violation } from '../rules/violation.ts';
export type { Rule } from '../rules/violation.ts';
export type { HeadMap } from './chains.ts';
export type { Closing, MapHead, Opening } from './log-state.ts';
export type { Predecessor } from '../rules/life.ts';

/** How a log is replayed. */
export interface ReplayOptions {
  readonly suite: Suite;
  /** The expected origin. If absent, the origin that entry 0 names is accepted. */
  readonly origin?: string;
  /**
   * `inline` verifies each signature in `add`. `deferred` collects them for `takeJobs`; until the caller has verified
   * them, no entry counts as checked.
   */
  readonly verifySignatures?: 'inline' | 'deferred';
  /** The end of the predecessor log, if the caller has replayed it. Entry 0 is compared with it. */
  readonly predecessor?: Predecessor;
  /** A head map to use instead of `HeadTrie`. It must be empty, also for `resume`. */
  readonly map?: HeadMap;
}

/** A signature to verify. The arrays may be views of larger buffers; copy them before transferring them to a thread. */
export interface SignatureJob {
  readonly index: number;
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** An entry that broke no rule. */
export interface Replayed {
  readonly index: number;
  readonly leafHash: Uint8Array;
  readonly statement: JsonObject;
}

/** One pass over the entries of a log. An entry that is rejected leaves the replay unchanged. */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #map: HeadMap;
  #tree: GrowingTree;
  /** Null until the origin is known, from the options or from entry 0. */
  #log: LogState | null;
  #jobs: SignatureJob[] = [];

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#map = options.map ?? new HeadTrie();
    this.#tree = new GrowingTree(options.suite);
    this.#log = options.origin === undefined ? null : this.#logOf(options.origin);
  }

  /** The number of accepted entries, which is the index of the next one. */
  get size(): number {
    return this.#tree.size;
  }

  /** The last map head; null if there is none yet. */
  get mapHead(): MapHead | null {
    return this.#log?.mapHead ?? null;
  }

  /** Whether the log is closed and has its final map head. No entry may follow then. */
  get closed(): boolean {
    return this.#log?.phase === 'closed';
  }

  /** Time and predecessor from entry 0; null before entry 0, and after `resume` from a state of an older version. */
  get opening(): Opening | null {
    return this.#log?.opening ?? null;
  }

  /** Index and successor from `log.closed.v1`; null until the log is closed. */
  get closing(): Closing | null {
    return this.#log?.closing ?? null;
  }

  /** The root of the log tree over the entries so far. */
  root(): Uint8Array {
    return this.#tree.root();
  }

  /** The root of the head map over the entries so far. A map head as the next entry must name it. */
  mapRoot(): Uint8Array {
    return this.#log?.chains.mapRoot() ?? this.#map.root();
  }

  /** The head of a chain; null for a chain without entries. */
  headOf(key: ChainKey): Head | null {
    return this.#log?.chains.head(key) ?? null;
  }

  /** The declared chain kinds, with the number of members in their keys. */
  kinds(): ReadonlyMap<string, number> {
    return this.#log?.types.kinds() ?? new Map<string, number>();
  }

  /** The receipt keys that the log has declared, with their status after the last entry. */
  keys(): readonly ReceiptKey[] {
    return this.#log?.keys.list() ?? [];
  }

  /**
   * Checks the next entry and adds it.
   *
   * @throws Violation of the first rule that the entry breaks
   */
  add(text: string): Replayed {
    const index = this.size;
    try {
      return this.#add(text, index);
    } catch (cause) {
      if (!isRuleBroken(cause)) throw cause;
      const { rule, related, message: detail } = cause;
      throw new Violation({ rule, detail, related }, index);
    }
  }

  /** The deferred signatures of the entries since the last call. */
  takeJobs(): readonly SignatureJob[] {
    const jobs = this.#jobs;
    this.#jobs = [];
    return jobs;
  }

  /** The violation to report for a signature that does not verify. */
  static badSignature(index: number): Violation {
    return new Violation({ rule: 'signature', detail: 'signature does not hold' }, index);
  }

  /**
   * Compares a checkpoint with the entries: it must have their origin and root, and the last entry must be a map head.
   * The caller has verified its signatures, and calls this when `size` has reached that of the checkpoint.
   *
   * @throws Violation if they differ; LogError `out_of_range` at another size
   */
  checkCheckpoint({ origin, size, root }: Checkpoint): void {
    if (size !== this.size) {
      const reached = String(this.size);
      throw new LogError('out_of_range', `checkpoint of size ${String(size)} at size ${reached}`);
    }
    const last = this.#log?.last ?? null;
    const broken = (rule: Rule, detail: string): Violation => new Violation({ rule, detail }, size);
    if (origin !== this.#log?.origin) {
      throw broken('checkpoint_origin', 'checkpoint is of another log');
    }
    if (!equal(root, this.root())) {
      throw broken('checkpoint_root', `root of the entries is ${toHex(this.root())}`);
    }
    if (last?.type !== 'log.map_head.v1') {
      throw broken('checkpoint_map_head', 'checkpoint does not end with a map head');
    }
  }

  /**
   * The state as the content of a file, for `resume`.
   *
   * @throws Error if deferred signatures have not been taken
   */
  state(): Uint8Array {
    if (this.#jobs.length > 0) throw new Error('signatures are not checked yet');
    const log = this.#log;
    const header = {
      origin: log?.origin ?? null,
      size: this.size,
      peaks: this.#tree.peaks().map(toHex),
      log: log?.dump() ?? null,
    };
    return encodeState(header, log?.chains.dump() ?? new Uint8Array(0));
  }

  /**
   * Continues from a state.
   *
   * @throws LogError `store_corrupt` if the state is damaged, of another version or of another origin than `options`
   */
  static resume(state: Uint8Array, options: ReplayOptions): Replay {
    const { header, heads } = decodeState(state);
    const origin = header.origin as string | null;
    const replay = new Replay(options);
    if (origin === null) return replay;
    if (origin !== (options.origin ?? origin)) {
      throw new LogError('store_corrupt', `replay state is of ${origin}`);
    }
    const peaks = (header.peaks as readonly string[]).map((peak) => fromHex(peak, 32));
    replay.#tree = new GrowingTree(options.suite, header.size as number, peaks);
    replay.#log = replay.#logOf(origin);
    replay.#log.restore(header.log as JsonObject, heads, replay.#map);
    return replay;
  }

  #add(text: string, index: number): Replayed {
    const entry = readText(this.#options.suite, text);
    const { statement, message, signature, leafHash } = entry;
    const log = this.#log ?? this.#logOf(originOf(statement));
    const accepted = log.check(entry, index);
    const { publicKey } = accepted.signer;
    if (this.#options.verifySignatures === 'deferred') {
      this.#jobs.push({ index, publicKey, message, signature });
    } else if (!this.#options.suite.verify(publicKey, message, signature)) {
      throw new RuleBroken('signature', 'signature does not hold');
    }
    log.apply(entry, accepted, index);
    this.#tree.append(leafHash);
    this.#log = log;
    return { index, leafHash, statement };
  }

  #logOf(origin: string): LogState {
    const { suite, predecessor } = this.#options;
    return new LogState(suite, origin, this.#map, predecessor ?? null);
  }
}

// The file format of a replay state: a JSON header and the heads of all chains. A monitor continues from such a file
// after a restart. The format is private to this version of the code; a monitor that finds another one replays the log
// from entry 0.

const MAGIC = utf8('actlog replay 1\n');
const HASH_BYTES = 32;

/** magic ‖ u64 length ‖ JSON header ‖ heads ‖ SHA-256 of all before. */
export function encodeState(header: JsonObject, heads: Uint8Array): Uint8Array {
  const text = utf8(JSON.stringify(header));
  const body = concat(MAGIC, u64(text.length), text, heads);
  return concat(body, hash('sha256', body, 'buffer'));
}

/** The two parts of a state; `store_corrupt` if it is damaged or of another version. `heads` is a view of `bytes`. */
export function decodeState(bytes: Uint8Array): { header: JsonObject; heads: Uint8Array } {
  const body = bytes.subarray(0, Math.max(0, bytes.length - HASH_BYTES));
  if (body.length < MAGIC.length + 8 || !equal(body.subarray(0, MAGIC.length), MAGIC)) {
    throw new LogError('store_corrupt', 'replay state is of another version');
  }
  if (!equal(hash('sha256', body, 'buffer'), bytes.subarray(body.length))) {
    throw new LogError('store_corrupt', 'replay state is damaged');
  }
  const start = MAGIC.length + 8;
  const end = start + readU64(body, MAGIC.length);
  const header = JSON.parse(fromUtf8(body.subarray(start, end))) as JsonObject;
  return { header, heads: body.subarray(end) };
}

// The log tree of a replay, as the roots of its perfect subtrees (RFC 9162 §2.1.1). It does not use the tiles of the
// log, so that a replay finds a wrong tile.

/** The roots of the perfect subtrees of a tree to which leaves are appended. */
export class GrowingTree {
  readonly #suite: Suite;
  /** Roots of the perfect subtrees, left to right, one for each bit that is set in #size. */
  readonly #peaks: Uint8Array[];
  #size: number;

  /** @param peaks what `peaks` returned for a tree of this size; none for an empty tree */
  constructor(suite: Suite, size = 0, peaks: readonly Uint8Array[] = []) {
    this.#suite = suite;
    this.#size = size;
    this.#peaks = [...peaks];
  }

  get size(): number {
    return this.#size;
  }

  /** Roots of the perfect subtrees, the largest first. */
  peaks(): readonly Uint8Array[] {
    return this.#peaks;
  }

  append(leafHash: Uint8Array): void {
    let node = leafHash;
    // Two subtrees of one height are joined, like a carry in the binary addition of 1 to the size.
    for (let carry = this.#size; carry % 2 === 1; carry = (carry - 1) / 2) {
      node = nodeHash(this.#suite, this.#peaks.pop()!, node);
    }
    this.#peaks.push(node);
    this.#size += 1;
  }

  root(): Uint8Array {
    if (this.#peaks.length === 0) return EMPTY_ROOT.slice();
    return this.#peaks.reduceRight((right, left) => nodeHash(this.#suite, left, right));
  }
}

// Verifies the signatures of a replay in batches on other threads, while the replay continues. Only when `settle` has
// resolved are the replayed entries verified.

/** Signatures in one message to a thread. */
const BATCH = 256;

/**
 * Batches in flight for each thread: about 0.2 s of work and 2 MB. The threads then stay busy while the replay waits
 * for entries or compiles the schemas of declared types.
 */
const BATCHES_AHEAD = 16;

/** Verifies the deferred signatures of one replay. */
export class SignatureChecks {
  readonly #pool: VerifyPool;
  readonly #inFlight = new Set<Promise<void>>();
  #jobs: SignatureJob[] = [];
  /** Index of the first entry whose signature was found not to verify. */
  #bad = Infinity;
  #failure: unknown = null;

  constructor(pool: VerifyPool) {
    this.#pool = pool;
  }

  /**
   * Takes the deferred signatures of the replay. Waits while enough batches are in flight, so that memory stays
   * bounded.
   *
   * @throws Violation of an entry whose signature was found not to verify
   */
  async take(replay: Replay): Promise<void> {
    for (const job of replay.takeJobs()) this.#jobs.push(job);
    while (this.#jobs.length >= BATCH) this.#send(this.#jobs.splice(0, BATCH));
    const most = BATCHES_AHEAD * this.#pool.width;
    while (this.#inFlight.size > most) await Promise.race(this.#inFlight);
    this.#raise();
  }

  /**
   * Waits until every signature taken so far is verified.
   *
   * @throws Violation of the first entry whose signature does not verify
   */
  async settle(): Promise<void> {
    if (this.#jobs.length > 0) this.#send(this.#jobs.splice(0));
    await Promise.all(this.#inFlight);
    this.#raise();
  }

  #send(jobs: readonly SignatureJob[]): void {
    // Only the indexes are kept while a batch is in flight: the pool copies keys, messages and signatures.
    const indexes = jobs.map(({ index }) => index);
    const batch = this.#pool
      .verifyAll(jobs)
      .then((holds) => {
        this.#bad = Math.min(this.#bad, indexes[holds.indexOf(0)] ?? Infinity);
      })
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#inFlight.delete(batch));
    this.#inFlight.add(batch);
  }

  #raise(): void {
    if (this.#failure !== null) throw this.#failure as Error;
    if (this.#bad < Infinity) throw Replay.badSignature(this.#bad);
  }
}

// Reading entries: their text, and the origin from entry 0 when the caller expects none. log/FORMAT.md §1, §2.

const RULE_OF: Partial<Record<LogErrorCode, Rule>> = {
  entry_too_large: 'entry_size',
  json_invalid: 'entry_json',
  encoding_invalid: 'signature_form',
  entry_invalid: 'entry_canonical',
};

/**
 * Decodes the bytes of an entry. Encoding the text gives the same bytes again.
 *
 * @throws Violation `entry_json` if the bytes are not UTF-8; replacement characters would represent other bytes than
 *   those that were hashed
 */
export function textOfEntry(bytes: Uint8Array, index: number): string {
  if (!isUtf8(bytes)) {
    throw new Violation({ rule: 'entry_json', detail: 'entry is not UTF-8' }, index);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Parses the text of an entry; throws RuleBroken with the rule that the text breaks. */
export function readText(suite: Suite, text: string): EntryParts {
  return under(
    ({ code }) => RULE_OF[code] ?? 'entry_json',
    () => readEntry(suite, text),
  );
}

/** The origin that entry 0 names; throws RuleBroken `origin` if it is malformed. */
export function originOf({ origin }: JsonObject): string {
  if (typeof origin !== 'string' || originParts(origin) === null) {
    throw new RuleBroken('origin', 'origin is malformed');
  }
  return origin;
}
