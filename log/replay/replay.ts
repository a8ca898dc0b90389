// Every rule of a log, checked over its entries in order: what fsck, a monitor and the tests rest on.
// log/FORMAT.md §1 to §5, as §7 asks. Nothing is taken on trust, whatever the entries say of themselves.

import { hash } from 'node:crypto';
import type { Suite } from '../crypto/suite.ts';
import { concat, equal, fromHex, fromUtf8, readU64, toHex, u64, utf8 } from '../encoding/bytes.ts';
import type { JsonObject } from '../encoding/json-types.ts';
import { LogError } from '../errors.ts';
import { HeadTrie } from '../map/trie.ts';
import type { Checkpoint } from '../note/checkpoint.ts';
import type { HeadMap } from './chains.ts';
import type { Predecessor } from '../rules/life.ts';
import { LogState } from './log-state.ts';
import type { Closing, MapHead, Opening } from './log-state.ts';
import { originOf, readText } from './reading.ts';
import { RuleBroken, Violation } from '../rules/violation.ts';
import type { Rule } from '../rules/violation.ts';
import type { ChainKey, Head, ReceiptKey } from '../types.ts';
import { EMPTY_ROOT, nodeHash } from '../merkle/hash.ts';
import type { VerifyPool } from '../crypto/verify-pool.ts';

export { Violation } from '../rules/violation.ts';
export type { Rule } from '../rules/violation.ts';
export type { HeadMap } from './chains.ts';
export type { Closing, MapHead, Opening } from './log-state.ts';
export type { Predecessor } from '../rules/life.ts';

/** How a log is replayed. */
export interface ReplayOptions {
  readonly suite: Suite;
  /** The origin expected; entry 0's own when absent. */
  readonly origin?: string;
  /** `deferred`: signatures are handed out by `takeJobs`, and nothing holds before those are checked. */
  readonly verifySignatures?: 'inline' | 'deferred';
  /** The end of the log before this one, where that was replayed. */
  readonly predecessor?: Predecessor;
  /** Another head map than the trie of this package. Empty, also on resume. */
  readonly map?: HeadMap;
}

/** A signature that is still to be checked. The bytes may be views of larger buffers: copy to transfer. */
export interface SignatureJob {
  readonly index: number;
  readonly text: string;
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

/** One pass over the entries of a log. A throw leaves it as it was before the entry. */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #map: HeadMap;
  #tree: GrowingTree;
  /** Made when the origin is known: from the options, or from the first entry. */
  #log: LogState | null;
  #jobs: SignatureJob[] = [];

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#map = options.map ?? new HeadTrie();
    this.#tree = new GrowingTree(options.suite);
    this.#log = options.origin === undefined ? null : this.#logOf(options.origin);
  }

  /** How many entries it has taken. */
  get size(): number {
    return this.#tree.size;
  }

  /** The last map head, or null; its time bounds what the next checkpoint may claim. */
  get mapHead(): MapHead | null {
    return this.#log?.mapHead ?? null;
  }

  /** True when the log has ended: nothing may follow. */
  get closed(): boolean {
    return this.#log?.phase === 'closed';
  }

  /** What entry 0 says; null before it, and on a state that an older version wrote. */
  get opening(): Opening | null {
    return this.#log?.opening ?? null;
  }

  /** What log.closed.v1 says; null while the log takes entries. */
  get closing(): Closing | null {
    return this.#log?.closing ?? null;
  }

  /** Root of the log tree over the entries so far. */
  root(): Uint8Array {
    return this.#tree.root();
  }

  /** Root of the head map over the entries so far: what a map head that comes next must say. */
  mapRoot(): Uint8Array {
    return this.#log?.chains.mapRoot() ?? this.#map.root();
  }

  /** The head of a chain, or null when no entry is on it. */
  headOf(key: ChainKey): Head | null {
    return this.#log?.chains.head(key) ?? null;
  }

  /** Declared chain kinds with their numbers of members. */
  kinds(): ReadonlyMap<string, number> {
    return this.#log?.types.kinds() ?? new Map<string, number>();
  }

  /** The receipt keys that the log has declared, with their status as of now. */
  keys(): readonly ReceiptKey[] {
    return this.#log?.keys.list() ?? [];
  }

  /**
   * Takes the next entry.
   *
   * @throws Violation of the first rule that it breaks
   */
  add(text: string): Replayed {
    const index = this.size;
    try {
      return this.#add(text, index);
    } catch (cause) {
      if (!(cause instanceof RuleBroken)) throw cause;
      const { rule, related, message: detail } = cause;
      const last = this.#log?.last?.text;
      const before = related.includes(index - 1) && last !== undefined ? [last] : [];
      throw new Violation({ rule, detail, related }, index, [...before, text]);
    }
  }

  /** The signatures since the last call, when they are deferred. */
  takeJobs(): readonly SignatureJob[] {
    const jobs = this.#jobs;
    this.#jobs = [];
    return jobs;
  }

  /** What to report for a job whose signature does not hold. */
  static badSignature({ index, text }: Pick<SignatureJob, 'index' | 'text'>): Violation {
    return new Violation({ rule: 'signature', detail: 'signature does not hold' }, index, [text]);
  }

  /**
   * Compares a checkpoint whose signatures the caller has checked, at the moment when its size is
   * reached: the root is that of the entries, and the last one is a map head.
   *
   * @throws Violation; LogError `out_of_range` at another size
   */
  checkCheckpoint({ origin, size, root }: Checkpoint): void {
    if (size !== this.size) {
      const reached = String(this.size);
      throw new LogError('out_of_range', `checkpoint of size ${String(size)} at size ${reached}`);
    }
    const last = this.#log?.last ?? null;
    const broken = (rule: Rule, detail: string): Violation =>
      new Violation({ rule, detail }, size, last === null ? [] : [last.text]);
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

  /** Everything that `resume` needs, as one file. Deferred signatures must have been taken and checked. */
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

  /** Goes on from a state; `store_corrupt` when it is damaged or not of the origin expected. */
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
      this.#jobs.push({ index, text, publicKey, message, signature });
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

// The state of a replay in a file: a JSON header and the heads of all chains, so that a monitor continues where it
// stopped. The form is private to this version of the code; a monitor that finds another form starts at entry 0.

const MAGIC = utf8('actlog replay 1\n');
const HASH_BYTES = 32;

/** magic ‖ u64 length ‖ JSON header ‖ heads ‖ SHA-256 of all before. */
export function encodeState(header: JsonObject, heads: Uint8Array): Uint8Array {
  const text = utf8(JSON.stringify(header));
  const body = concat(MAGIC, u64(text.length), text, heads);
  return concat(body, hash('sha256', body, 'buffer'));
}

/** The two parts; `store_corrupt` when the file is another or damaged. The heads are a view. */
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

// The log tree as a monitor needs it: only the roots of its perfect subtrees (RFC 9162 §2.1.1). It is independent of the
// tiles of the log.

/** A tree that grows leaf by leaf and knows its root. */
export class GrowingTree {
  readonly #suite: Suite;
  /** Roots of the perfect subtrees from the left, the sizes being the bits of #size. */
  readonly #peaks: Uint8Array[];
  #size: number;

  /** Starts empty, or from the peaks that a tree of this size had. */
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
    // Two trees of one height become one, as a carry runs through the bits of the size.
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

// The signatures of a replay. They are verified in batches on other threads, while the replay goes on; nothing that was
// replayed is verified before `settle` returns.

/** Signatures in one message to a thread. */
const BATCH = 256;

/** Collects the deferred signatures of one replay. */
export class SignatureChecks {
  readonly #pool: VerifyPool;
  readonly #flying = new Set<Promise<void>>();
  #jobs: SignatureJob[] = [];
  #bad: SignatureJob | null = null;
  #failure: unknown = null;

  constructor(pool: VerifyPool) {
    this.#pool = pool;
  }

  /** Takes what the replay has deferred; waits while enough is under way, so that memory stays bounded. */
  async take(replay: Replay): Promise<void> {
    for (const job of replay.takeJobs()) this.#jobs.push(job);
    while (this.#jobs.length >= BATCH) this.#send(this.#jobs.splice(0, BATCH));
    while (this.#flying.size > 2 * this.#pool.width) await Promise.race(this.#flying);
    this.#raise();
  }

  /**
   * Waits until every signature taken so far is checked.
   *
   * @throws Violation of the earliest entry whose signature does not hold
   */
  async settle(): Promise<void> {
    if (this.#jobs.length > 0) this.#send(this.#jobs.splice(0));
    await Promise.all(this.#flying);
    this.#raise();
  }

  #send(jobs: readonly SignatureJob[]): void {
    const flight = this.#pool
      .verifyAll(jobs)
      .then((holds) => {
        const job = jobs[holds.indexOf(0)];
        if (job !== undefined && job.index < (this.#bad?.index ?? Infinity)) this.#bad = job;
      })
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#flying.delete(flight));
    this.#flying.add(flight);
  }

  #raise(): void {
    if (this.#failure !== null) throw this.#failure as Error;
    if (this.#bad !== null) throw Replay.badSignature(this.#bad);
  }
}
