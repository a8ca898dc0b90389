// The witnesses of one log. All are asked at once; a checkpoint is published when the quorum is met. With
// WITNESS_FAIL_OPEN it is published without the quorum too, and `/health` shows that. log/FORMAT.md §5; C2SP tlog-policy.
//
// Witnesses whose names end in `/map` are monitors: they check every entry before they cosign. Entries can be read only
// after the checkpoint is published, so monitors are asked then, and their lines are added to the published note.

import { setTimeout as sleep } from 'node:timers/promises';
import { countQuorum, isMapCosigner } from '../../log/index.ts';
import type { Cosign, CosignedNote, Offer } from '../../log/index.ts';
import { WitnessClient } from './witness-client.ts';
import type { AskOptions, Given, WitnessState } from './witness-client.ts';
import type { WitnessPolicy } from './witness-policy.ts';

const GRACE_MS = 200;

/** How witnesses are asked. */
export interface WitnessOptions extends AskOptions {
  /** Whether a checkpoint is published without the quorum. */
  readonly fail_open: boolean;
  /** How long the other witnesses have to answer after the quorum is met. Default: 200. */
  readonly grace_ms?: number;
}

/** The state of the witnesses of one log, as `/health` shows it. */
export interface WitnessHealth {
  /** Of the newest checkpoint that was offered. `pending`: none was yet. `none`: the policy has no quorum. */
  readonly quorum: 'met' | 'missing' | 'pending' | 'none';
  readonly fail_open: boolean;
  readonly witnesses: readonly WitnessState[];
}

/** The witnesses of one log. */
export class Witnesses {
  readonly #policy: WitnessPolicy['policy'];
  readonly #options: WitnessOptions;
  /** Witnesses that are asked before a checkpoint is published. */
  readonly #clients: readonly WitnessClient[];
  /** Monitors, which are asked after it is published. */
  readonly #monitors: readonly WitnessClient[];
  /** Whether the newest checkpoint met the quorum; null before the first. */
  #met: boolean | null = null;

  constructor({ policy, asked }: WitnessPolicy, options: WitnessOptions) {
    this.#policy = policy;
    this.#options = options;
    const clientsOf = (map: boolean): WitnessClient[] =>
      asked
        .filter(({ verifier }) => isMapCosigner(verifier.name) === map)
        .map((key) => new WitnessClient(key, options));
    this.#clients = clientsOf(false);
    this.#monitors = clientsOf(true);
  }

  health(): WitnessHealth {
    return {
      quorum: this.#policy.quorum === null ? 'none' : quorumOf(this.#met),
      fail_open: this.#options.fail_open,
      witnesses: [...this.#clients, ...this.#monitors].map(({ state }) => state),
    };
  }

  /**
   * How far our wall clock is ahead of the clocks of the witnesses. The witness that differs least counts, because a
   * single one may be wrong. Null if none has answered yet.
   */
  aheadMs(): number | null {
    const known = this.#clients.flatMap(({ ahead_ms }) => ahead_ms ?? []);
    known.sort((a, b) => Math.abs(a) - Math.abs(b));
    return known[0] ?? null;
  }

  /** The hook that the log's publisher calls. */
  readonly cosign: Cosign = async (offer) => {
    const came: Given[] = [];
    const over = new AbortController();
    let enough: () => void = () => undefined;
    const quorum = new Promise<void>((resolve) => {
      enough = resolve;
    });
    const count = (): void => {
      if (countQuorum(this.#policy, came.map(cosignedOf))) enough();
    };
    count();
    const all = Promise.all(
      this.#clients.map(async (client) => {
        const given = await client.cosign(offer);
        if (given === null) return;
        came.push(given);
        count();
      }),
    );
    // A witness may still be busy with an earlier request, so its own timeout does not bound this wait.
    const late = sleep(this.#options.timeout_ms, undefined, over);
    const grace = quorum.then(() => sleep(this.#options.grace_ms ?? GRACE_MS, undefined, over));
    try {
      await Promise.race([all, grace, late]);
    } finally {
      over.abort();
      for (const wait of [late, grace]) wait.catch(() => undefined);
    }
    const given = [...came];
    const note = this.#noteOf(offer, given);
    if (note === null || this.#monitors.length === 0) return note;
    return { ...note, later: () => this.#later(offer, note, given) };
  };

  /** The published note with the lines of the monitors added; null if none cosigned. */
  async #later(
    offer: Offer,
    { note }: CosignedNote,
    before: readonly Given[],
  ): Promise<CosignedNote | null> {
    const given = await Promise.all(this.#monitors.map((client) => client.cosign(offer)));
    const came = given.filter((one) => one !== null);
    if (came.length === 0) return null;
    return { note: note + linesOf(came), cosignatures: witnessesIn([...before, ...came]) };
  }

  #noteOf(offer: Offer, given: readonly Given[]): CosignedNote | null {
    this.#met = countQuorum(this.#policy, given.map(cosignedOf));
    if (!this.#met && !this.#options.fail_open) return null;
    return { note: offer.note + linesOf(given), cosignatures: witnessesIn(given) };
  }
}

const cosignedOf = ({ cosigned }: Given): Given['cosigned'] => cosigned;
const linesOf = (given: readonly Given[]): string => given.map(({ line }) => line).join('');
const witnessesIn = (given: readonly Given[]): number =>
  given.filter(({ cosigned }) => !cosigned.map).length;

function quorumOf(met: boolean | null): WitnessHealth['quorum'] {
  if (met === null) return 'pending';
  return met ? 'met' : 'missing';
}
