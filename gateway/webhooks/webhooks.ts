// Webhooks as the rest of the gateway sees them: which rows commit with an entry, the queues of all logs, the
// subscriptions, and what the operator does to messages that were given up. gateway/API.md §11.

import { LOG_KINDS } from '../../log/index.ts';
import type { AttachedRow, Disclosure, Json, Log, Sequenced } from '../../log/index.ts';
import type { EventRule } from '../../plugins/contract/index.ts';
import type { Ground } from '../ground.ts';
import type { PluginKeys } from '../host/plugin-keys.ts';
import { CheckpointFeed } from './checkpoint-feed.ts';
import { DeadLetters } from './dead-letters.ts';
import { Delivery } from './delivery.ts';
import { hostOf, newRows, OWN_ADDRESS } from './job.ts';
import type { Job } from './job.ts';
import { Queue } from './queue.ts';
import { CHECKPOINT_PUBLISHED } from './subscriptions.ts';
import type { Subscriptions } from './subscriptions.ts';

type Disclosed = readonly Readonly<Record<string, Disclosure>>[];

/** The messages of one group of entries, from its place in the sequence to its end. */
export interface Notices {
  /** The rows that commit with the entries; runs at the sequence point. */
  rows(entries: readonly Sequenced[], disclosures: Disclosed): readonly AttachedRow[];
  /** The group is acknowledged, or nobody knows: what is on disk counts from now on. */
  settled(acknowledged: boolean): void;
}

/** The keys that messages are signed with, one of each kind; they are listed in the JWKS by their purpose. */
export const WEBHOOK_KEYS = {
  name: 'gateway',
  keys: [{ name: 'webhook', algorithm: 'Ed25519', jwks: true }],
} as const;

/** Messages under way of all receivers. */
const FOR_ALL = 256;

/** The webhooks of an open gateway. */
export class Webhooks {
  readonly subscriptions: Subscriptions;
  readonly dead: DeadLetters;
  readonly #ground: Ground;
  readonly #rules: ReadonlyMap<string, EventRule>;
  readonly #queues: ReadonlyMap<Log, Queue>;
  readonly #feeds: readonly CheckpointFeed[];
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
        delivery.forgive();
        for (const queue of this.#queues.values()) queue.wake();
      },
    );
  }

  /** Every event type that a subscription may name. */
  get types(): readonly string[] {
    const types = [...this.#rules.values()].flatMap(({ events }) => events);
    return [...new Set([...types, CHECKPOINT_PUBLISHED])].sort();
  }

  /** For a group of a tenant that is about to be appended. */
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

  /** Begins to deliver, where the disk says. */
  start(): void {
    if (this.#ground.config.WEBHOOKS === 'off') return;
    this.#started = true;
    for (const queue of this.#queues.values()) queue.start();
    for (const feed of this.#feeds) feed.start();
  }

  /** Looks at once at what is due; for a clock that was moved. */
  wake(): void {
    for (const queue of this.#queues.values()) queue.wake();
    for (const feed of this.#feeds) feed.wake();
  }

  /** Begins nothing more; what is under way may end within SHUTDOWN_TIMEOUT_MS. */
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
    const type = this.#rules.get(entry)?.eventOf(statement) ?? null;
    if (type === null) return [];
    const { trigger_id } = statement;
    const common = { index, type, attempts: 0 };
    const jobs = this.subscriptions
      .matching(kind, tenant, type, statement)
      .map(({ id, url }): Job => ({
        ...common,
        host: hostOf(url),
        target: id,
        ...(typeof trigger_id === 'string' ? { trigger_id } : {}),
      }));
    const own: Json | undefined = disclosed['webhook_url']?.value;
    if (typeof own === 'string') jobs.push({ ...common, host: hostOf(own), target: OWN_ADDRESS });
    return jobs;
  }

  #queueOf(log: Log, delivery: Delivery): Queue {
    const { config, logger, metrics } = this.#ground;
    return new Queue(log, {
      for_each_host: config.WEBHOOK_CONNECTIONS,
      for_all: FOR_ALL,
      now: () => this.#ground.now(),
      chance: Math.random,
      attempt: (of, job) => delivery.attempt(of, job),
      onEnd: ({ origin }, { index, type, attempts }, outcome) => {
        metrics.webhook(type, outcome.end);
        const line = { origin, index, event: type, attempts: attempts + 1 };
        if (outcome.end === 'dead')
          logger.warn({ ...line, reason: outcome.reason }, 'webhook was given up');
        else if (outcome.end === 'failed')
          logger.debug({ ...line, reason: outcome.reason }, 'webhook failed');
      },
      onTrouble: (err) => logger.warn({ err }, 'webhooks are held up'),
    });
  }
}
