// The witnesses of one log. All are asked at once; a checkpoint is published when the quorum is met. With
// WITNESS_FAIL_OPEN it is published without the quorum too, and `/health` shows that. log/FORMAT.md §5; C2SP tlog-policy.
//
// Witnesses whose names end in `/map` are monitors: they check every entry before they cosign. Entries can be read only
// after the checkpoint is published, so monitors are asked then, and their lines are added to the published note.

import { setTimeout as sleep } from 'node:timers/promises';
import { countQuorum, isMapCosigner, native, openCheckpoint } from '../../log/index.ts';
import type { Cosign, Cosigned, CosignedNote, Offer } from '../../log/index.ts';
import { WitnessClient } from './witness-client.ts';
import type { AskOptions, WitnessState } from './witness-client.ts';
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
    const lines: string[] = [];
    const over = new AbortController();
    let enough: () => void = () => undefined;
    const quorum = new Promise<void>((resolve) => {
      enough = resolve;
    });
    const count = (): void => {
      if (countQuorum(this.#policy, this.#cosigners(offer, lines))) enough();
    };
    count();
    const all = Promise.all(
      this.#clients.map(async (client) => {
        const line = await client.cosign(offer);
        if (line === null) return;
        lines.push(line);
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
    const note = this.#noteOf(offer, [...lines]);
    if (note === null || this.#monitors.length === 0) return note;
    return { ...note, later: () => this.#later(offer, note) };
  };

  /** The published note with the lines of the monitors added; null if none cosigned. */
  async #later(offer: Offer, { note }: CosignedNote): Promise<CosignedNote | null> {
    const lines = await Promise.all(this.#monitors.map((client) => client.cosign(offer)));
    const came = lines.filter((line) => line !== null);
    if (came.length === 0) return null;
    const shown = note + came.join('');
    const cosigners = this.#cosigners({ ...offer, note: shown }, []);
    return { note: shown, cosignatures: cosigners.filter(({ map }) => !map).length };
  }

  #noteOf(offer: Offer, lines: readonly string[]): CosignedNote | null {
    const cosigners = this.#cosigners(offer, lines);
    this.#met = countQuorum(this.#policy, cosigners);
    if (!this.#met && !this.#options.fail_open) return null;
    return {
      note: offer.note + lines.join(''),
      cosignatures: cosigners.filter(({ map }) => !map).length,
    };
  }

  #cosigners({ origin, vkey, note }: Offer, lines: readonly string[]): readonly Cosigned[] {
    const cosigners = this.#policy.witnesses.map(({ verifier }) => verifier);
    const keys = { origin, vkey, cosigners };
    return openCheckpoint(native, note + lines.join(''), keys).cosignatures;
  }
}

function quorumOf(met: boolean | null): WitnessHealth['quorum'] {
  if (met === null) return 'pending';
  return met ? 'met' : 'missing';
}
