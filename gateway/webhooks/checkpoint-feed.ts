// `checkpoint.published` for monitors that ask: each of them is told of the newest checkpoint, one message under way
// at a time, so that one who is slow or away misses none that still matters and nothing piles up. gateway/API.md §11.

import { toBase64 } from '../../log/index.ts';
import type { Json, Log, Published } from '../../log/index.ts';
import type { Ground } from '../ground.ts';
import type { Delivery } from './delivery.ts';
import { bodyOf, messageId } from './message.ts';
import type { Message } from './message.ts';
import { waitAfter } from './schedule.ts';
import { CHECKPOINT_PUBLISHED } from './subscriptions.ts';
import type { Subscription, Subscriptions } from './subscriptions.ts';

/** What is known of one receiver since the start; after a start everyone hears of the newest checkpoint. */
interface Told {
  size: number;
  attempts: number;
  not_before_ms: number;
  sending: Promise<void> | null;
}

const LOOK_MS = 500;
/** Messages under way of all receivers of a log. */
const FOR_ALL = 16;

/** Tells the subscribers of one log. */
export class CheckpointFeed {
  readonly #ground: Pick<Ground, 'base_url' | 'now' | 'logger' | 'metrics'>;
  readonly #log: Log;
  readonly #subscriptions: Subscriptions;
  readonly #delivery: Delivery;
  readonly #told = new Map<string, Told>();
  #stopListening: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #sending = 0;

  constructor(
    ground: Pick<Ground, 'base_url' | 'now' | 'logger' | 'metrics'>,
    log: Log,
    subscriptions: Subscriptions,
    delivery: Delivery,
  ) {
    this.#ground = ground;
    this.#log = log;
    this.#subscriptions = subscriptions;
    this.#delivery = delivery;
  }

  start(): void {
    this.#stopListening = this.#log.onPublished(() => this.wake());
    this.#timer = setInterval(() => this.wake(), LOOK_MS);
    this.#timer.unref();
    this.wake();
  }

  /** Begins nothing more and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopListening?.();
    this.#stopListening = null;
    if (this.#timer !== null) clearInterval(this.#timer);
    for (const { sending } of this.#told.values()) await sending;
  }

  /** Tells whoever is behind and may be told now. */
  wake(): void {
    if (this.#stopListening === null) return;
    const asked = this.#subscriptions.ofCheckpoints(this.#log.kind);
    const ids = new Set(asked.map(({ id }) => id));
    for (const id of this.#told.keys()) if (!ids.has(id)) this.#told.delete(id);
    const published = this.#log.published();
    for (const subscription of asked) {
      const told = this.#toldOf(subscription.id);
      if (told.sending !== null || told.size >= published.size) continue;
      if (told.not_before_ms > this.#ground.now() || this.#sending >= FOR_ALL) continue;
      this.#sending += 1;
      told.sending = this.#tell(subscription, told, published)
        .catch((err: unknown) => this.#ground.logger.warn({ err }, 'a checkpoint was not told'))
        .finally(() => {
          told.sending = null;
          this.#sending -= 1;
          this.wake();
        });
    }
  }

  #toldOf(id: string): Told {
    const there = this.#told.get(id);
    if (there !== undefined) return there;
    const told = { size: 0, attempts: 0, not_before_ms: 0, sending: null };
    this.#told.set(id, told);
    return told;
  }

  async #tell(subscription: Subscription, told: Told, published: Published): Promise<void> {
    const { id } = subscription;
    const message = checkpointMessage(this.#ground.base_url, this.#log, published);
    const outcome = await this.#delivery.post(this.#log, message, {
      ...subscription,
      gone: () => this.#subscriptions.disable(id, 'gone'),
    });
    this.#ground.metrics.webhook(CHECKPOINT_PUBLISHED, outcome.end);
    if (outcome.end === 'delivered') {
      Object.assign(told, { size: published.size, attempts: 0, not_before_ms: 0 });
      return;
    }
    if (outcome.end !== 'failed') return;
    told.attempts += 1;
    const wait = waitAfter(told.attempts, Math.random(), outcome.retry_after_ms);
    // Days of silence: its tenant sees it in the list, and makes another when it is back.
    if (wait === null) await this.#subscriptions.disable(id, 'unreachable');
    else told.not_before_ms = this.#ground.now() + wait;
  }
}

/** The message of a checkpoint; its id is that of the map head which is its last entry. */
function checkpointMessage(base_url: string, log: Log, published: Published): Message {
  const { size, root, note, map_head_ms } = published;
  const data: Json = {
    origin: log.origin,
    size,
    root: toBase64(root),
    checkpoint: note,
    url: `${base_url}/log/${log.kind}/${String(log.number)}/checkpoint`,
  };
  return {
    id: messageId(log, size - 1),
    body: bodyOf(CHECKPOINT_PUBLISHED, map_head_ms, data),
  };
}
