// The only writer. Pool → place → sign → integrate → one synced batch → the callers' promises.
// Rounds overlap: while one is signed or synced, the next is placed; batches go out strictly in order.

import type { SignPool } from './crypto/sign-pool.ts';
import type { Core } from './core.ts';
import { LogError } from './errors.ts';
import { integrate, rowsMade, sealed, type Integrated } from './integrate.ts';
import { place, type Placed } from './placing.ts';
import { signedBytes, statementText } from './statement.ts';
import type { AppendOptions, Appended, Draft, PendingRow, Sequenced } from './types.ts';
import type { Position } from './state.ts';

/** Rounds between their first placed entry and their batch on disk. */
const ROUNDS_IN_FLIGHT = 3;
/** Entries in one round: fewer make more syncs, more let one round hold all callers, and nothing overlaps. */
const ROUND_ENTRIES = 128;
/** Groups that are worth a round beside those in flight: each round has its messages, its tile, its sync. */
const OVERLAP_GROUPS = 40;

/** Up to here the callers are few: when all of them wait for one round, nothing overlaps. */
const FEW_GROUPS = 64;

/** How many of the waiting groups the next round takes: of few not all, so that it is signed while others are placed. */
const shareOf = (waiting: number): number => (waiting > FEW_GROUPS ? waiting : OVERLAP_GROUPS);

interface Waiting {
  readonly drafts: readonly Draft[];
  readonly options: AppendOptions;
  readonly resolve: (entries: readonly Appended[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Round {
  readonly id: number;
  readonly groups: { waiting: Waiting; from: number; to: number }[];
  readonly refused: { waiting: Waiting; error: unknown }[];
  readonly placed: Placed[];
  readonly attached: PendingRow[];
  position: Position;
}

/** A map head in the making: its place is fixed, its root comes from the fold. */
interface MapHead {
  readonly version: number;
  readonly keys: number;
  readonly appended: Appended;
}

/** Orders, signs and commits. A failed batch ends it: the log then loads a new core and a new sequencer. */
export class Sequencer {
  readonly #core: Core;
  readonly #pool: SignPool;
  readonly #maxWaiting: number;
  readonly #onFailure: (error: unknown) => void;
  #waiting: Waiting[] = [];
  #rounds = new Set<Round>();
  #nextRound = 1;
  #pumping = false;
  /** Settles when the newest round is integrated, and when it is on disk. */
  #integrated: Promise<unknown> = Promise.resolve();
  #written: Promise<unknown> = Promise.resolve();
  #failure: unknown = null;

  constructor(core: Core, pool: SignPool, maxWaiting: number, onFailure: (error: unknown) => void) {
    this.#core = core;
    this.#pool = pool;
    this.#maxWaiting = maxWaiting;
    this.#onFailure = onFailure;
  }

  /** Groups that no round has taken yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  append(drafts: readonly Draft[], options: AppendOptions): Promise<readonly Appended[]> {
    if (this.#failure !== null) return Promise.reject(unavailable(this.#failure));
    if (this.#waiting.length >= this.#maxWaiting) {
      return Promise.reject(
        new LogError(
          'log_busy',
          `${String(this.#maxWaiting)} groups are waiting, which is the limit`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ drafts, options, resolve, reject });
      this.#schedule();
    });
  }

  /** Appends a map head over everything placed so far; resolves when it is on disk. */
  async mapHead(): Promise<MapHead> {
    if (this.#failure !== null) throw unavailable(this.#failure);
    const core = this.#core;
    const round = this.#newRound();
    const undo = core.begin();
    const index = core.position.size;
    const prev_map_head = core.position.map_head?.index ?? null;
    // The root is not known yet; the place is, so later rounds need not wait for the fold.
    let provisional: Placed;
    try {
      const members = { covered: index, map_root: '0'.repeat(64), prev_map_head };
      provisional = place(core, { type: 'log.map_head.v1', members }, [], round.id);
    } catch (error) {
      undo();
      this.#rounds.delete(round);
      throw error;
    }
    round.position = core.position;
    let folded = { version: 0, keys: 0 };
    const finished = this.#run(round, async () => {
      // Every round before this one has been folded in by now, and none after it.
      const cut = await core.fold.cut();
      folded = { version: cut.version, keys: cut.keys };
      const statement = {
        ...provisional.sequenced.statement,
        map_root: Buffer.from(cut.root).toString('hex'),
      };
      const text = statementText(statement);
      const sequenced = { ...provisional.sequenced, statement };
      round.placed.push({ ...provisional, sequenced, text, signed: signedBytes(text) });
      return this.#sign(round);
    });
    this.#schedule();
    const [appended] = (await finished).entries;
    if (appended === undefined) throw new Error('a map head round has one entry');
    return { ...folded, appended };
  }

  /** Waits until everything handed in is on disk or refused. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#rounds.size > 0) {
      await this.#written.catch(() => undefined);
      await new Promise(setImmediate);
    }
  }

  #schedule(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    // After the I/O of this turn: requests that came together go into one round.
    setImmediate(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (
      this.#failure === null &&
      this.#rounds.size < ROUNDS_IN_FLIGHT &&
      this.#waiting.length >= (this.#rounds.size === 0 ? 1 : OVERLAP_GROUPS)
    ) {
      const round = this.#newRound();
      const share = this.#waiting.splice(0, shareOf(this.#waiting.length));
      let taken = 0;
      while (taken < share.length && round.placed.length < ROUND_ENTRIES) {
        const waiting = share[taken++];
        if (waiting !== undefined) this.#placeGroup(round, waiting);
      }
      // Groups of many entries fill a round early: the rest goes back to the front of the line.
      if (taken < share.length) this.#waiting.unshift(...share.slice(taken));
      round.position = this.#core.position;
      this.#run(round, () => this.#sign(round)).catch(() => undefined);
    }
  }

  #newRound(): Round {
    const round: Round = {
      id: this.#nextRound,
      groups: [],
      refused: [],
      placed: [],
      attached: [],
      position: this.#core.position,
    };
    this.#nextRound += 1;
    this.#rounds.add(round);
    return round;
  }

  #placeGroup(round: Round, waiting: Waiting): void {
    const core = this.#core;
    const undo = core.begin();
    const from = round.placed.length;
    try {
      waiting.options.check?.({
        rows: core.pluginRows,
        surfaces: core.surfaces.reader,
        now_ms: core.clock.wall(),
      });
      const group: Sequenced[] = [];
      for (const draft of waiting.drafts) {
        const placed = place(core, draft, group, round.id);
        group.push(placed.sequenced);
        round.placed.push(placed);
      }
      const { attach } = waiting.options;
      if (attach !== undefined) {
        const opened = round.placed.slice(from).map(({ disclosures }) => disclosures);
        round.attached.push(...attach(group, opened));
      }
      round.groups.push({ waiting, from, to: round.placed.length });
    } catch (error) {
      undo();
      round.placed.length = from;
      // Told when the round is on disk: what the refusal rests on must be durable as well.
      round.refused.push({ waiting, error });
    }
  }

  async #sign(round: Round): Promise<Uint8Array[]> {
    const signatures: Uint8Array[] = [];
    // A rotation changes the key inside a round; runs of one key go out as one batch.
    for (let from = 0; from < round.placed.length;) {
      const kid = round.placed[from]?.kid ?? '';
      let to = from;
      while (round.placed[to]?.kid === kid) to += 1;
      const messages = round.placed.slice(from, to).map(({ signed }) => signed);
      signatures.push(...(await this.#pool.signAll(kid, messages)));
      from = to;
    }
    return signatures;
  }

  /** Commit points, in order. A crash before the batch is on disk leaves nothing of the round, after it all. */
  #run(round: Round, sign: () => Promise<Uint8Array[]>): Promise<Integrated> {
    const before = this.#integrated;
    const writtenBefore = this.#written;
    // An ordinary round signs at once; a map head's signing cuts the fold, so it must wait its turn.
    const signatures = round.placed.length > 0 ? sign() : null;
    signatures?.catch(() => undefined);
    const rows = rowsMade(round.attached);
    rows.catch(() => undefined);
    const integrated = before.then(async () => {
      const signed = await (signatures ?? sign());
      const attached = await rows;
      if (this.#failure !== null) throw unavailable(this.#failure);
      const entries = round.placed.map((placed, i) =>
        sealed(placed, signed[i] ?? new Uint8Array(64)),
      );
      const result = integrate(this.#core, round.id, entries, round.position, attached);
      if (result.updates.length > 0) this.#core.fold.apply(result.updates);
      return result;
    });
    const written = Promise.all([writtenBefore, integrated]).then(async ([, result]) => {
      if (this.#failure !== null) throw unavailable(this.#failure);
      const empty = result.entries.length === 0 && round.attached.length === 0;
      if (!empty) await this.#core.store.write(result.writes);
      this.#settle(round, result);
      return result;
    });
    this.#integrated = integrated;
    this.#written = written;
    written.catch((error: unknown) => {
      this.#fail(error);
    });
    return written;
  }

  #settle(round: Round, { entries, written }: Integrated): void {
    this.#core.settle(round.id, round.position.size, written);
    this.#rounds.delete(round);
    for (const { waiting, from, to } of round.groups) waiting.resolve(entries.slice(from, to));
    for (const { waiting, error } of round.refused) waiting.reject(error);
    this.#pump();
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    const reason = unavailable(error);
    for (const { groups, refused } of this.#rounds) {
      for (const { waiting } of [...groups, ...refused]) waiting.reject(reason);
    }
    for (const waiting of this.#waiting) waiting.reject(reason);
    this.#rounds.clear();
    this.#waiting = [];
    this.#onFailure(error);
  }
}

const unavailable = (cause: unknown): LogError =>
  cause instanceof LogError && cause.code === 'log_unavailable'
    ? cause
    : new LogError(
        'log_unavailable',
        'the log could not write; an idempotency key finds what became of a request',
        {
          cause,
        },
      );
