// Webhooks as the rest of the gateway sees them (gateway/API.md §11). Read in this order: job.ts (the rows of the
// queue), queue.ts, hosts.ts and pace.ts (which job is next, and when), delivery.ts (one attempt), dead-letters.ts
// (messages that failed for good), checkpoint-feed.ts (`checkpoint.published`, which needs no rows), subscriptions.ts
// and secret-box.ts.
//
// The rows of a message commit in the batch of its entry. Therefore no message about an entry is lost, and none is
// sent about an entry that is not in the log.

import { LRUCache } from 'lru-cache';
import { LOG_KINDS, LogError } from '../../log/index.ts';
import type { AttachedRow, Disclosure, Json, JsonObject, Log, Sequenced } from '../../log/index.ts';
import type { EventRule } from '../../plugins/contract/index.ts';
import type { Ground } from '../ground.ts';
import type { PluginKeys } from '../host/plugin-keys.ts';
import { CheckpointFeed } from './checkpoint-feed.ts';
import { DeadLetters } from './dead-letters.ts';
import { Delivery } from './delivery.ts';
import { hostOf, newRows, OWN_ADDRESS } from './job.ts';
import type { Job } from './job.ts';
import { Pace, thisLoop } from './pace.ts';
import { Queue } from './queue.ts';
import { CHECKPOINT_PUBLISHED } from './subscriptions.ts';
import type { Subscriptions } from './subscriptions.ts';

type Disclosed = readonly Readonly<Record<string, Disclosure>>[];

/** The messages about one group of entries that is being appended. */
export interface Notices {
  /** The rows that commit with the entries. The sequencer calls it when their indexes are known. */
  rows(entries: readonly Sequenced[], disclosures: Disclosed): readonly AttachedRow[];
  /**
   * Must be called when the append has ended.
   *
   * @param acknowledged false if it failed, so that the rows may be on disk or not
   */
  settled(acknowledged: boolean): void;
}

/** The keys that sign messages, one for each log kind. The JWKS lists them with the purpose `webhook`. */
export const WEBHOOK_KEYS = {
  name: 'gateway',
  keys: [{ name: 'webhook', algorithm: 'Ed25519', jwks: true }],
} as const;

/** Maximum number of messages of one log in flight. */
const MAX_IN_FLIGHT = 256;
/** Addresses whose host is remembered. */
const MAX_ADDRESSES = 1000;

/** The webhooks of an open gateway. */
export class Webhooks {
  readonly subscriptions: Subscriptions;
  readonly dead: DeadLetters;
  readonly #ground: Ground;
  readonly #rules: ReadonlyMap<string, EventRule>;
  readonly #queues: ReadonlyMap<Log, Queue>;
  readonly #feeds: readonly CheckpointFeed[];
  /** The hosts of addresses. The requests of a tenant usually name the same one, so it is not parsed each time. */
  readonly #hosts = new LRUCache<string, string>({ max: MAX_ADDRESSES, memoMethod: hostOf });
  #started = false;

  constructor(
    ground: Ground,
    subscriptions: Subscriptions,
    rules: readonly EventRule[],
    keys: PluginKeys,
  ) {
    this.#ground = ground;
    this.subscriptions = subscriptions;
    this.#rules = new Map(rules.map((rule) => [rule.entry, rule]));
    const delivery = new Delivery(ground, subscriptions, ({ kind }) =>
      keys.overlapping(WEBHOOK_KEYS.name, 'webhook', kind, ground.now()),
    );
    const logs = [...ground.served.live, ...ground.served.sandbox];
    this.#queues = new Map(logs.map((log) => [log, this.#queueOf(log, delivery)]));
    this.#feeds = LOG_KINDS.flatMap((kind) => {
      const log = ground.served[kind].at(-1);
      return log === undefined ? [] : [new CheckpointFeed(ground, log, subscriptions, delivery)];
    });
    this.dead = new DeadLetters(
      () => ground.now(),
      logs,
      subscriptions,
      () => {
        delivery.forgetGone();
        for (const queue of this.#queues.values()) queue.wake();
      },
    );
  }

  /** The rules that make entries of a type events. */
  get rules(): readonly EventRule[] {
    return [...this.#rules.values()];
  }

  /** Every event type that a subscription may name. */
  get types(): readonly string[] {
    const types = [...this.#rules.values()].flatMap(({ events }) => events);
    return [...new Set([...types, CHECKPOINT_PUBLISHED])].sort();
  }

  /** For a group of entries that a tenant is about to append. */
  notices(log: Log, tenant: string): Notices {
    const placed: Job[] = [];
    const queue = this.#queues.get(log);
    return {
      rows: (entries, disclosures) =>
        entries.flatMap((entry, i) => {
          const jobs = this.#jobsOf(log, tenant, entry, disclosures[i] ?? {});
          if (jobs.length > 0) queue?.hold(entry.index);
          placed.push(...jobs);
          return jobs.flatMap(newRows);
        }),
      settled: (acknowledged) => {
        if (placed.length > 0) queue?.release(placed, acknowledged);
      },
    };
  }

  /** Starts to deliver the messages on disk, and those that come. Does nothing if WEBHOOKS is off. */
  start(): void {
    if (this.#ground.config.WEBHOOKS === 'off') return;
    this.#started = true;
    for (const queue of this.#queues.values()) queue.start();
    for (const feed of this.#feeds) feed.start();
  }

  /** Looks for due messages at once. Used by tests that move the clock. */
  wake(): void {
    for (const queue of this.#queues.values()) queue.wake();
    for (const feed of this.#feeds) feed.wake();
  }

  /** Starts no further messages. Those in flight have SHUTDOWN_TIMEOUT_MS to end; then they are aborted. */
  async close(): Promise<void> {
    if (!this.#started) return;
    const { config, egress } = this.#ground;
    const late = setTimeout(() => void egress.close(), config.SHUTDOWN_TIMEOUT_MS);
    await Promise.all([
      ...[...this.#queues.values()].map((queue) => queue.stop()),
      ...this.#feeds.map((feed) => feed.stop()),
    ]);
    clearTimeout(late);
  }

  #jobsOf(
    { kind }: Log,
    tenant: string,
    { index, type: entry, statement }: Sequenced,
    disclosed: Readonly<Record<string, Disclosure>>,
  ): Job[] {
    const type = this.#eventOf(entry, statement);
    if (type === null) return [];
    const about = statement['trigger_id'];
    const trigger_id = typeof about === 'string' ? about : undefined;
    const jobs = this.subscriptions
      .matching(kind, tenant, type, statement)
      .map(({ id, url }): Job => {
        const host = this.#hosts.memo(url);
        return { host, index, target: id, type, attempts: 0, trigger_id };
      });
    const url: Json | undefined = disclosed['webhook_url']?.value;
    if (typeof url === 'string') {
      const [host, target] = [this.#hosts.memo(url), OWN_ADDRESS];
      jobs.push({ host, index, target, type, attempts: 0, trigger_id: undefined });
    }
    return jobs;
  }

  /** The event of an entry. A rule that throws refuses the entry, as a projection that throws does. */
  #eventOf(entry: string, statement: JsonObject): string | null {
    try {
      return this.#rules.get(entry)?.eventOf(statement) ?? null;
    } catch (cause) {
      const [plugin = ''] = entry.split('.');
      const message = `plugin ${plugin}: eventOf of ${entry} throws: ${(cause as Error).message}`;
      throw new LogError('plugin_failed', message, { cause });
    }
  }

  #queueOf(log: Log, delivery: Delivery): Queue {
    const { config, logger, metrics } = this.#ground;
    return new Queue(log, {
      for_each_host: config.WEBHOOK_CONNECTIONS,
      for_all: MAX_IN_FLIGHT,
      pace: new Pace(thisLoop()),
      now: () => this.#ground.now(),
      chance: Math.random,
      attempt: (of, job) => delivery.attempt(of, job),
      onEnd: ({ origin }, { index, type, attempts }, outcome) => {
        metrics.webhook(type, outcome.end);
        const line = { origin, index, event: type, attempts: attempts + 1 };
        if (outcome.end === 'dead')
          logger.warn({ ...line, reason: outcome.reason }, 'webhook failed for the last time');
        else if (outcome.end === 'failed')
          logger.debug({ ...line, reason: outcome.reason }, 'webhook failed');
      },
      onTrouble: (err) =>
        logger.warn({ err }, 'the webhook queue cannot use its database; it retries'),
    });
  }
}
