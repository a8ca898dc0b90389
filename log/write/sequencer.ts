// The only writer of a log. Each entry passes these steps in this order (log/FORMAT.md §5.1). Each step states what a
// crash in it leaves. test/model/log.qnt models them under the same names.
//
//   admit, place    `#placeGroup` checks the drafts of a group and fixes index, time and links (placing.ts), all in
//                   memory. A crash leaves nothing, and no caller has an answer.
//   sign            the committer has the round signed (crypto/sign-pool.ts). A crash leaves nothing: a signature does
//                   not leave the process before its entry is durable.
//   commit          all signed rounds go into one synced batch, in order (committer.ts; integrate.ts lists its rows).
//                   A crash leaves the whole batch or nothing of it. If the write fails, every waiting append is
//                   rejected with `log_unavailable`, and the log starts again from what the store holds.
//   acknowledge     the promises of the callers resolve. After a crash from here on, the entries are there.
//   publish         publisher.ts signs a checkpoint over them, later and on its own clock.
//
// Rounds overlap: while some are signed or synced, the next one is placed.

import { Committer } from './committer.ts';
import type { Core } from './core.ts';
import type { SignPool } from '../crypto/sign-pool.ts';
import { LogError } from '../errors.ts';
import { place, type Placed } from './placing.ts';
import { newRound, type Round, type Waiting } from './integrate.ts';
import { signedBytes, statementText } from './statement.ts';
import type { AppendOptions, Appended, Draft, Sequenced } from '../types.ts';

/** Most rounds that are placed and not yet durable. */
const ROUNDS_IN_FLIGHT = 8;
/** Most rounds at the signing thread: one that it signs, and one that it takes next. */
const ROUNDS_UNSIGNED = 2;
/** Most entries in a round. With more, one round would hold all callers and no two rounds would overlap. */
const ROUND_ENTRIES = 128;
/** Groups that start another round while rounds are in flight: each round costs messages between threads. */
const OVERLAP_GROUPS = 40;
/** Groups that start a round when a turn of the event loop brought no more, because this thread would be idle. */
const QUIET_GROUPS = 16;

/** Up to this many waiting groups count as few: if one round took all of them, no two rounds would overlap. */
const FEW_GROUPS = 64;

/**
 * How many of the waiting groups the next round takes. If few wait, it leaves some, which are placed while the round is
 * signed.
 */
const shareOf = (waiting: number): number => (waiting > FEW_GROUPS ? waiting : OVERLAP_GROUPS);

/** A map head whose place is fixed; its root comes from the fold. */
interface MapHead {
  readonly version: number;
  readonly keys: number;
  readonly appended: Appended;
}

/** The sequencer of one log. A failed batch ends it: the log then loads a new core and a new sequencer. */
export class Sequencer {
  readonly #core: Core;
  readonly #committer: Committer;
  readonly #maxWaiting: number;
  readonly #onFailure: (error: unknown) => void;
  #waiting: Waiting[] = [];
  #nextRound = 1;
  #scheduled = false;

  constructor(core: Core, pool: SignPool, maxWaiting: number, onFailure: (error: unknown) => void) {
    this.#core = core;
    this.#committer = new Committer(
      core,
      pool,
      () => {
        this.#pump(OVERLAP_GROUPS);
      },
      (error) => {
        this.#fail(error);
      },
    );
    this.#maxWaiting = maxWaiting;
    this.#onFailure = onFailure;
  }

  /** Groups that no round has taken yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  append(drafts: readonly Draft[], options: AppendOptions): Promise<readonly Appended[]> {
    const { failure } = this.#committer;
    if (failure !== null) return Promise.reject(failure);
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
    const { failure } = this.#committer;
    if (failure !== null) throw failure;
    const core = this.#core;
    const round = this.#newRound();
    const undo = core.begin();
    const index = core.position.size;
    const prev_map_head = core.position.map_head?.index ?? null;
    // The root is not known yet, but the place is, so that later rounds need not wait for the fold.
    let provisional: Placed;
    try {
      const members = { covered: index, map_root: '0'.repeat(64), prev_map_head };
      provisional = place(core, { type: 'log.map_head.v1', members }, [], round.id);
    } catch (error) {
      undo();
      throw error;
    }
    round.position = core.position;
    let folded = { version: 0, keys: 0 };
    const finished = new Promise<readonly Appended[]>((resolve, reject) => {
      round.groups.push({ waiting: { resolve, reject }, from: 0, to: 1 });
    });
    this.#committer.takeLate(round, async () => {
      // At this point the fold contains every earlier round and no later one.
      const cut = await core.fold.cut();
      folded = { version: cut.version, keys: cut.keys };
      const statement = {
        ...provisional.sequenced.statement,
        map_root: Buffer.from(cut.root).toString('hex'),
      };
      const text = statementText(statement);
      const sequenced = { ...provisional.sequenced, statement };
      round.placed.push({ ...provisional, sequenced, text, signed: signedBytes(text) });
      return this.#committer.sign(round);
    });
    this.#schedule();
    const [appended] = await finished;
    if (appended === undefined) throw new Error('a map head round has one entry');
    return { ...folded, appended };
  }

  /** Waits until all groups are durable or refused. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#committer.inFlight > 0) {
      await this.#committer.drain();
      await new Promise(setImmediate);
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#afterThisTurn();
  }

  /** After the I/O of this turn, and of the next while each brings more: requests that come together share a round. */
  #afterThisTurn(): void {
    const seen = this.#waiting.length;
    setImmediate(() => {
      const more = this.#waiting.length > seen && this.#waiting.length < OVERLAP_GROUPS;
      if (more && this.#committer.inFlight > 0) {
        this.#afterThisTurn();
        return;
      }
      this.#scheduled = false;
      this.#pump(QUIET_GROUPS);
    });
  }

  /** Places waiting groups if there are `enough` for another round. */
  #pump(enough: number): void {
    const committer = this.#committer;
    while (
      committer.failure === null &&
      committer.inFlight < ROUNDS_IN_FLIGHT &&
      committer.unsigned < ROUNDS_UNSIGNED &&
      this.#waiting.length >= (committer.inFlight === 0 ? 1 : enough)
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
      committer.take(round);
    }
  }

  #newRound(): Round {
    const round = newRound(this.#nextRound, this.#core.position);
    this.#nextRound += 1;
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
      round.refused.push({ waiting, error });
    }
  }

  #fail(error: unknown): void {
    const { failure } = this.#committer;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(failure);
    this.#onFailure(error);
  }
}
