// Signs rounds and commits them, strictly in order (log/FORMAT.md §5.1, steps 3 and 4). All rounds that are signed when
// the previous write has finished go into one synced batch: a slow disk makes batches larger, a fast disk never waits.
// After a crash a batch is on disk completely or not at all. The first failed write stops the committer.

import type { SignPool } from '../crypto/sign-pool.ts';
import type { Core } from './core.ts';
import { isLogError, LogError } from '../errors.ts';
import { integrate, sealed } from './integrate.ts';
import type { Entry, Round } from './integrate.ts';

/** A round that is not durable yet. */
interface Line {
  readonly round: Round;
  /**
   * Signs a round whose entries are known only when all earlier rounds are integrated. Null for other rounds, and after
   * the call.
   */
  late: (() => Promise<Uint8Array[]>) | null;
  /** Its entries; null until they are signed. */
  entries: readonly Entry[] | null;
}

/** Takes placed rounds and makes them durable. The first failure stops it and rejects everything that waits. */
export class Committer {
  readonly #core: Core;
  readonly #pool: SignPool;
  readonly #onTurn: () => void;
  readonly #onFailure: (error: unknown) => void;
  // Arrays, not maps or sets: a V8 Map that has grown keeps its old backing store reachable.
  /** Not yet in a batch, oldest first. */
  #line: Line[] = [];
  /** In the batch that is being written. */
  #writing: readonly Line[] = [];
  #unsigned = 0;
  #failure: LogError | null = null;
  #idle: (() => void)[] = [];

  /**
   * @param onTurn called when a round is signed or durable, so that another round can start
   * @param onFailure called once, with what failed
   */
  constructor(core: Core, pool: SignPool, onTurn: () => void, onFailure: (error: unknown) => void) {
    this.#core = core;
    this.#pool = pool;
    this.#onTurn = onTurn;
    this.#onFailure = onFailure;
  }

  /** The number of rounds that are not durable yet. */
  get inFlight(): number {
    return this.#line.length + this.#writing.length;
  }

  /** The number of rounds at the signing thread. */
  get unsigned(): number {
    return this.#unsigned;
  }

  /** The failure because of which it takes no more rounds; null before one. */
  get failure(): LogError | null {
    return this.#failure;
  }

  /** Takes the next round, and resolves the promises of its groups when it is durable. */
  take(round: Round): void {
    const line: Line = { round, late: null, entries: null };
    this.#line.push(line);
    this.#begin(line, () => this.sign(round));
  }

  /** Takes a round whose entries are known only when all earlier rounds are integrated. */
  takeLate(round: Round, sign: () => Promise<Uint8Array[]>): void {
    this.#line.push({ round, late: sign, entries: null });
    this.#beginLate();
  }

  /** Signatures of what is placed in a round, in order. */
  async sign({ placed }: Round): Promise<Uint8Array[]> {
    const signatures: Uint8Array[] = [];
    // A rotation changes the key within a round. Consecutive entries with the same key are signed as one batch.
    for (let from = 0; from < placed.length;) {
      const kid = placed[from]?.kid ?? '';
      let to = from;
      while (placed[to]?.kid === kid) to += 1;
      const messages = placed.slice(from, to).map(({ signed }) => signed);
      signatures.push(...(await this.#pool.signAll(kid, messages)));
      from = to;
    }
    return signatures;
  }

  /** Resolves when every round is durable or has failed. */
  async drain(): Promise<void> {
    while (this.inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve);
      });
    }
  }

  #begin(line: Line, sign: () => Promise<Uint8Array[]>): void {
    this.#unsigned += 1;
    this.#finish(line, sign).catch((error: unknown) => {
      this.#fail(error);
    });
  }

  async #finish(line: Line, sign: () => Promise<Uint8Array[]>): Promise<void> {
    const signatures = await sign();
    line.entries = line.round.placed.map((one, i) =>
      sealed(one, signatures[i] ?? new Uint8Array(64)),
    );
    this.#unsigned -= 1;
    this.#commit();
    this.#onTurn();
  }

  /** Commits the signed rounds that are next in order, unless a write is in progress. */
  #commit(): void {
    if (this.#writing.length > 0 || this.#failure !== null) return;
    const unready = this.#line.findIndex(({ entries }) => entries === null);
    this.#writing = this.#line.splice(0, unready < 0 ? this.#line.length : unready);
    if (this.#writing.length === 0) return;
    this.#write(this.#writing).catch((error: unknown) => {
      this.#fail(error);
    });
  }

  /** Signs the oldest round if its entries had to wait until all earlier rounds were integrated. */
  #beginLate(): void {
    const [first] = this.#line;
    const sign = first?.late ?? null;
    if (first === undefined || sign === null) return;
    first.late = null;
    this.#begin(first, sign);
  }

  /** One batch. A crash before it is on disk leaves nothing of its rounds, after it all of them. */
  async #write(lines: readonly Line[]): Promise<void> {
    const signed = lines.flatMap(({ entries }) => entries ?? []);
    const rounds = lines.map(({ round }) => round);
    const attached = rounds.flatMap((round) => round.attached);
    const result = integrate(this.#core, rounds, signed, attached);
    if (result.updates.length > 0) this.#core.fold.apply(result.updates);
    this.#beginLate();
    if (signed.length > 0 || attached.length > 0) await this.#core.store.write(result.writes);
    this.#writing = [];
    let from = 0;
    for (const round of rounds) {
      const to = from + round.placed.length;
      this.#core.settle(round.id, round.position.size, result.written.slice(from, to));
      for (const group of round.groups) {
        group.waiting.resolve(result.entries.slice(from + group.from, from + group.to));
      }
      for (const { waiting, error } of round.refused) waiting.reject(error);
      from = to;
    }
    this.#commit();
    this.#onTurn();
    this.#tellIdle();
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = unavailable(error);
    for (const { round } of [...this.#writing, ...this.#line]) {
      for (const { waiting } of [...round.groups, ...round.refused]) waiting.reject(this.#failure);
    }
    this.#writing = [];
    this.#line = [];
    this.#onFailure(error);
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.inFlight > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const tell of idle) tell();
  }
}

const unavailable = (cause: unknown): LogError =>
  isLogError(cause) && cause.code === 'log_unavailable'
    ? cause
    : new LogError(
        'log_unavailable',
        'the log could not write; repeat the request with its idempotency key to learn whether it was appended',
        { cause },
      );
