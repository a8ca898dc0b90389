// The witnesses of all logs of a gateway, by the file that WITNESS_POLICY names. If the policy has log lines, only
// those logs are witnessed; otherwise all are. witness-policy.ts reads the file, witnesses.ts asks the witnesses of one
// log, witness-client.ts asks one witness.

import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { equal, native, parseVkey } from '../../log/index.ts';
import type { Cosign, Kind, Log, NotePool, Offer } from '../../log/index.ts';
import { ConfigError } from '../config.ts';
import type { Config } from '../config.ts';
import { readWitnessPolicy } from './witness-policy.ts';
import type { WitnessPolicy } from './witness-policy.ts';
import { Witnesses } from './witnesses.ts';
import type { WitnessHealth } from './witnesses.ts';

/** How long a start waits for witnesses, whose cosignatures show their clocks. */
const CLOCK_WAIT_MS = 2000;

/** The witnesses of all logs of a gateway. */
export class WitnessNetwork {
  readonly #file: WitnessPolicy;
  readonly #config: Config;
  readonly #now: () => number;
  readonly #logger: Logger;
  readonly #logs = new Map<string, Witnesses>();

  private constructor(file: WitnessPolicy, config: Config, now: () => number, logger: Logger) {
    this.#file = file;
    this.#config = config;
    this.#now = now;
    this.#logger = logger;
  }

  /** Null if no policy is set. */
  static open(config: Config, now: () => number, logger: Logger): WitnessNetwork | null {
    if (config.WITNESS_POLICY === '') return null;
    return new WitnessNetwork(readWitnessPolicy(config.WITNESS_POLICY), config, now, logger);
  }

  /** Verifier keys of the witnesses. */
  get vkeys(): readonly string[] {
    return this.#file.vkeys;
  }

  /** The lines of the policy that verifiers need in addition to those of the logs. */
  get lines(): readonly string[] {
    return this.#file.shown;
  }

  /** Whether witnesses cosign the checkpoints of this log. */
  covers(log: Pick<Log, 'origin' | 'vkey'>): boolean {
    const { logs } = this.#file.policy;
    if (logs.length === 0) return true;
    const { publicKey } = parseVkey(native, log.vkey);
    return logs.some(({ name, verifier }) => {
      return name === log.origin && equal(verifier.publicKey, publicKey);
    });
  }

  /**
   * The hook for the publisher of a log that is being opened. Whether the policy covers the log is decided at each
   * offer, because the log's key is not known earlier.
   */
  cosign(kind: Kind, number: number, notes?: NotePool): Cosign {
    const { WITNESS_TIMEOUT_MS, WITNESS_FAIL_OPEN } = this.#config;
    const witnesses = new Witnesses(this.#file, {
      timeout_ms: WITNESS_TIMEOUT_MS,
      fail_open: WITNESS_FAIL_OPEN === 'on',
      now: this.#now,
      ...(notes === undefined ? {} : { notes }),
    });
    this.#logs.set(nameOf(kind, number), witnesses);
    return async (offer) => {
      if (this.covers(offer)) {
        const before = witnesses.health();
        const note = await witnesses.cosign(offer);
        this.#logChanges(offer.origin, before, witnesses.health());
        return note;
      }
      // The policy has another key for this log. That is a mistake, so nothing is published without witnesses.
      return this.#disputes(offer.origin) ? null : { note: offer.note, cosignatures: 0 };
    };
  }

  /**
   * Returns how far the wall clock is ahead of the clocks of a log's witnesses. To learn their time, it asks them to
   * cosign the newest checkpoint again. Null if none answers within two seconds.
   */
  async aheadMs(kind: Kind, number: number, offer: Offer): Promise<number | null> {
    const witnesses = this.#logs.get(nameOf(kind, number));
    if (witnesses === undefined || !this.covers(offer)) return null;
    const answered = new AbortController();
    const wait = setTimeout(CLOCK_WAIT_MS, undefined, { signal: answered.signal });
    await Promise.race([witnesses.cosign(offer), wait]);
    answered.abort();
    wait.catch(() => undefined);
    return witnesses.aheadMs();
  }

  /** Throws a `ConfigError` if the policy has another key for one of these logs, or covers none of them. */
  check(logs: readonly Log[]): void {
    const others = logs.filter((log) => !this.covers(log));
    if (others.length < logs.length && !others.some(({ origin }) => this.#disputes(origin))) return;
    const lines = logs.map(({ vkey }) => `log ${vkey}`).join('\n');
    throw new ConfigError(
      `WITNESS_POLICY does not name the logs of this service by their keys; their lines are\n${lines}`,
    );
  }

  /** The state of a log's witnesses; null if it has none. */
  health(log: Log): WitnessHealth | null {
    if (!this.covers(log)) return null;
    return this.#logs.get(nameOf(log.kind, log.number))?.health() ?? null;
  }

  /** Why cosignatures of a log did not come: a line for each witness that failed, for the error of a command. */
  problems(kind: Kind, number: number): string[] {
    const { witnesses = [] } = this.#logs.get(nameOf(kind, number))?.health() ?? {};
    return witnesses.flatMap(({ name, problem }) =>
      problem === null ? [] : [`witness ${name}: ${problem}`],
    );
  }

  /** Whether the policy names this origin. Called for a log that is not covered, so with another key. */
  #disputes(origin: string): boolean {
    return this.#file.policy.logs.some(({ name }) => name === origin);
  }

  /** Logs changes only, not the result of each checkpoint. */
  #logChanges(origin: string, before: WitnessHealth, after: WitnessHealth): void {
    if (before.quorum !== after.quorum) {
      const { quorum, fail_open } = after;
      if (quorum === 'missing') this.#logger.error({ origin, fail_open }, 'no quorum of witnesses');
      else if (before.quorum === 'missing')
        this.#logger.info({ origin }, 'the quorum of witnesses is met again');
    }
    for (const [i, { name, problem }] of after.witnesses.entries()) {
      if (problem === before.witnesses[i]?.problem) continue;
      if (problem === null) this.#logger.info({ origin, witness: name }, 'witness cosigns again');
      else this.#logger.warn({ origin, witness: name, problem }, 'witness did not cosign');
    }
  }
}

const nameOf = (kind: Kind, number: number): string => `${kind}/${String(number)}`;
