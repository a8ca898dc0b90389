// One attempt to deliver a job: where it goes, what is posted, and what its end means. gateway/API.md §11.

import { LRUCache } from 'lru-cache';
import type { Log } from '../../log/index.ts';
import { EgressRefused } from '../egress/egress.ts';
import type { Ground } from '../ground.ts';
import { OWN_ADDRESS } from './job.ts';
import type { Job } from './job.ts';
import { headersOf, messageOf } from './message.ts';
import type { Message, WebhookSigner } from './message.ts';
import { retryAfterMs } from './schedule.ts';
import { isEnabled } from './subscriptions.ts';
import type { Subscriptions } from './subscriptions.ts';

/** How an attempt ended. `dropped`: nobody waits for it any more. `dead`: no other attempt will end better. */
export type Outcome =
  | { readonly end: 'delivered' }
  | { readonly end: 'dropped' }
  | { readonly end: 'dead'; readonly reason: string }
  | { readonly end: 'failed'; readonly reason: string; readonly retry_after_ms: number };

interface Receiver {
  readonly url: string;
  readonly secret?: string;
  /** What is done when it answers 410. */
  gone(): unknown;
}

/** An address that an entry names is not asked again for so long after it answered 410. */
const GONE_MS = 86_400_000;
const MAX_GONE = 10_000;
/** How often an address is looked for that is not there. */
const MISSING_ATTEMPTS = 2;

/** Posts messages through the egress guard. */
export class Delivery {
  readonly #gateway: Pick<Ground, 'egress' | 'disclosures' | 'receipt' | 'served' | 'now'>;
  readonly #subscriptions: Subscriptions;
  readonly #signers: (log: Log) => readonly WebhookSigner[];
  /** Until when; of addresses that belong to no subscription which could be disabled. */
  readonly #gone = new LRUCache<string, number>({ max: MAX_GONE });

  constructor(
    gateway: Pick<Ground, 'egress' | 'disclosures' | 'receipt' | 'served' | 'now'>,
    subscriptions: Subscriptions,
    signers: (log: Log) => readonly WebhookSigner[],
  ) {
    this.#gateway = gateway;
    this.#subscriptions = subscriptions;
    this.#signers = signers;
  }

  /** Tries a job once; never rejects for what a receiver does. */
  async attempt(log: Log, { index, target, type, attempts }: Job): Promise<Outcome> {
    const receipt = this.#gateway.receipt(log, index);
    if (receipt === null) return { end: 'dropped' };
    const message = messageOf(type, receipt);
    const receiver =
      target === OWN_ADDRESS
        ? await this.#ownAddress(log, receipt['entry_id'] as string, attempts)
        : this.#subscriber(target);
    if ('end' in receiver) return receiver;
    return this.post(log, message, receiver);
  }

  /** Posts a message once. */
  async post(log: Log, message: Message, receiver: Receiver): Promise<Outcome> {
    const { egress, now } = this.#gateway;
    const { url, secret } = receiver;
    const headers = await headersOf(message, now(), this.#signers(log), secret);
    try {
      const { status, retry_after } = await egress.post(url, headers, message.body);
      if (status >= 200 && status < 300) return { end: 'delivered' };
      if (status === 410) {
        await receiver.gone();
        return { end: 'dead', reason: 'answered 410' };
      }
      const retry_after_ms = retryAfterMs(retry_after, now());
      return { end: 'failed', reason: `answered ${String(status)}`, retry_after_ms };
    } catch (error) {
      return { end: 'failed', reason: reasonOf(error), retry_after_ms: 0 };
    }
  }

  /** Asks addresses again that were gone. */
  forgive(): void {
    this.#gone.clear();
  }

  /** The address lives with the entry's private text and goes with it. */
  async #ownAddress(log: Log, entry_id: string, attempts: number): Promise<Receiver | Outcome> {
    const { disclosures, served, now } = this.#gateway;
    const url = (await disclosures.open(served[log.kind], entry_id))['webhook_url']?.value;
    if (typeof url !== 'string') {
      // Erased; or the disk took the entry and not yet the key that opens it.
      if (attempts >= MISSING_ATTEMPTS) return { end: 'dropped' };
      return { end: 'failed', reason: 'the address is not there', retry_after_ms: 0 };
    }
    if ((this.#gone.get(url) ?? 0) > now()) return { end: 'dead', reason: 'answered 410 before' };
    return { url, gone: () => this.#gone.set(url, now() + GONE_MS) };
  }

  #subscriber(id: string): Receiver | Outcome {
    const one = this.#subscriptions.get(id);
    if (one === undefined) return { end: 'dropped' };
    if (!isEnabled(one)) return { end: 'dead', reason: 'the subscription is disabled' };
    return { ...one, gone: () => this.#subscriptions.disable(id, 'gone') };
  }
}

/** In words that name neither the address nor what stands behind it. */
function reasonOf(error: unknown): string {
  if (error instanceof EgressRefused) return `refused: the address ${error.message}`;
  if (!(error instanceof Error)) return 'failed';
  if (error.name === 'TimeoutError') return 'did not answer in time';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `failed: ${code}` : 'failed';
}
