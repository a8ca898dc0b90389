// Sends `checkpoint.published` to the subscribers of one log (gateway/API.md §11).
//
// Each subscriber has at most one message in flight, which shows the newest checkpoint. A slow subscriber skips older
// checkpoints, so no queue builds up. Nothing is stored: after a start every subscriber gets the newest checkpoint.

import { toBase64 } from '../../log/index.ts';
import type { Json, Log, Published } from '../../log/index.ts';
import type { Ground } from '../ground.ts';
import { bodyOf, messageId, waitAfter } from './delivery.ts';
import type { Delivery, Message } from './delivery.ts';
import { CHECKPOINT_PUBLISHED } from './subscriptions.ts';
import type { Subscription, Subscriptions } from './subscriptions.ts';

/** The state of one subscriber since the start. */
interface Progress {
  /** Size of the last checkpoint that it acknowledged; 0 if none. */
  size: number;
  /** Failed attempts since then. */
  attempts: number;
  not_before_ms: number;
  sending: Promise<void> | null;
}

/** How often due retries are looked for. */
const CHECK_MS = 500;
/** Maximum number of messages in flight to all subscribers of a log. */
const MAX_IN_FLIGHT = 16;

/** Sends the checkpoints of one log to its subscribers. */
export class CheckpointFeed {
  readonly #ground: Pick<Ground, 'base_url' | 'now' | 'logger' | 'metrics'>;
  readonly #log: Log;
  readonly #subscriptions: Subscriptions;
  readonly #delivery: Delivery;
  readonly #progress = new Map<string, Progress>();
  #stopListening: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #inFlight = 0;

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
    this.#timer = setInterval(() => this.wake(), CHECK_MS);
    this.#timer.unref();
    this.wake();
  }

  /** Starts no further messages and waits for those in flight. */
  async stop(): Promise<void> {
    this.#stopListening?.();
    this.#stopListening = null;
    if (this.#timer !== null) clearInterval(this.#timer);
    for (const { sending } of this.#progress.values()) await sending;
  }

  /** Sends the newest checkpoint to every subscriber that has not got it and is not waiting for a retry. */
  wake(): void {
    if (this.#stopListening === null) return;
    const subscribers = this.#subscriptions.ofCheckpoints(this.#log.kind);
    const ids = new Set(subscribers.map(({ id }) => id));
    for (const id of this.#progress.keys()) if (!ids.has(id)) this.#progress.delete(id);
    const published = this.#log.published();
    for (const subscriber of subscribers) {
      const progress = this.#progressOf(subscriber.id);
      if (progress.sending !== null || progress.size >= published.size) continue;
      if (progress.not_before_ms > this.#ground.now() || this.#inFlight >= MAX_IN_FLIGHT) continue;
      this.#inFlight += 1;
      progress.sending = this.#send(subscriber, progress, published)
        .catch((err: unknown) => {
          this.#ground.logger.warn({ err }, 'a checkpoint message failed');
        })
        .finally(() => {
          progress.sending = null;
          this.#inFlight -= 1;
          this.wake();
        });
    }
  }

  #progressOf(id: string): Progress {
    const known = this.#progress.get(id);
    if (known !== undefined) return known;
    const progress = { size: 0, attempts: 0, not_before_ms: 0, sending: null };
    this.#progress.set(id, progress);
    return progress;
  }

  async #send(subscription: Subscription, progress: Progress, published: Published): Promise<void> {
    const { id } = subscription;
    const message = checkpointMessage(this.#ground.base_url, this.#log, published);
    const outcome = await this.#delivery.post(this.#log, message, {
      ...subscription,
      gone: () => this.#subscriptions.disable(id, 'gone'),
    });
    this.#ground.metrics.webhook(CHECKPOINT_PUBLISHED, outcome.end);
    if (outcome.end === 'delivered') {
      Object.assign(progress, { size: published.size, attempts: 0, not_before_ms: 0 });
      return;
    }
    if (outcome.end !== 'failed') return;
    progress.attempts += 1;
    const wait = waitAfter(progress.attempts, Math.random(), outcome.retry_after_ms);
    // The receiver has failed for days. The tenant sees the reason in its list of subscriptions.
    if (wait === null) await this.#subscriptions.disable(id, 'unreachable');
    else progress.not_before_ms = this.#ground.now() + wait;
  }
}

/** The message about a checkpoint. Its id is made from the map head entry, the last entry of every checkpoint. */
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
