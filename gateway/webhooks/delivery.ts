// One attempt to deliver a message: what is sent, where, what the answer means, and when the next attempt is due.
// Standard Webhooks; gateway/API.md §11.

import { LRUCache } from 'lru-cache';
import { Webhook } from 'standardwebhooks';
import { readEntry, toBase64 } from '../../log/index.ts';
import type { Json, JsonObject, Log } from '../../log/index.ts';
import type { Ground } from '../ground.ts';
import { OWN_ADDRESS } from './job.ts';
import type { Job } from './job.ts';
import { isEnabled } from './subscriptions.ts';
import type { Subscriptions } from './subscriptions.ts';

/** A key that signs messages. */
export interface WebhookSigner {
  readonly kid: string;
  sign(bytes: Uint8Array): Promise<Uint8Array>;
}

/** A message. Its id and body are the same at each attempt; the timestamp and the signatures are not. */
export interface Message {
  /** `msg_` and the id of the entry. Receivers recognise a repeated message by it. */
  readonly id: string;
  readonly body: string;
}

/** The result of an attempt. `dropped`: the message is no longer wanted. `dead`: another attempt would fail too. */
export type Outcome =
  | { readonly end: 'delivered' }
  | { readonly end: 'dropped' }
  | { readonly end: 'dead'; readonly reason: string }
  | { readonly end: 'failed'; readonly reason: string; readonly retry_after_ms: number };

interface Receiver {
  readonly url: string;
  readonly secret?: string;
  /** Called when the receiver answers 410. */
  gone(): unknown;
}

/** How long an address of an entry gets no messages after it answered 410. */
const GONE_MS = 86_400_000;
const MAX_GONE = 10_000;
/** How many attempts look for an entry's address before the message is dropped. */
const MISSING_ATTEMPTS = 2;
/** Standard Webhooks, "Payload size": receivers accept about this much. */
const MAX_BODY_BYTES = 20_000;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The wait before each attempt, from the first one on (Standard Webhooks, "Retry schedule"). */
export const DELAYS_MS: readonly number[] = [
  ...[0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE],
  ...[2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
];

/** Up to this share is added to a wait, so that messages that failed together are not sent together again. */
const JITTER = 0.2;

/** The longest wait that a receiver may ask for. */
const MAX_RETRY_AFTER_MS = 24 * HOUR;

/** Posts messages through the egress guard. */
export class Delivery {
  readonly #ground: Pick<Ground, 'egress' | 'disclosures' | 'receipt' | 'served' | 'now'>;
  readonly #subscriptions: Subscriptions;
  readonly #signers: (log: Log) => readonly WebhookSigner[];
  /** Addresses of entries that answered 410, with the time until which they get nothing. */
  readonly #gone = new LRUCache<string, number>({ max: MAX_GONE });

  constructor(
    ground: Pick<Ground, 'egress' | 'disclosures' | 'receipt' | 'served' | 'now'>,
    subscriptions: Subscriptions,
    signers: (log: Log) => readonly WebhookSigner[],
  ) {
    this.#ground = ground;
    this.#subscriptions = subscriptions;
    this.#signers = signers;
  }

  /** Tries a job once. Failures of the receiver are an outcome and not a rejection. */
  async attempt(log: Log, { index, target, type, attempts }: Job): Promise<Outcome> {
    const receipt = this.#ground.receipt(log, index);
    if (receipt === null) {
      // While a log opens its database again, it has the row of a message before it knows the entry.
      return { end: 'failed', reason: 'the log does not have the entry', retry_after_ms: 0 };
    }
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
    const { egress, now } = this.#ground;
    const { url, secret } = receiver;
    const headers = await headersOf(message, now(), this.#signers(log), secret);
    const posted = await egress.post({ url, headers, body: message.body });
    if ('failed' in posted) return { end: 'failed', reason: posted.failed, retry_after_ms: 0 };
    const { status, retry_after } = posted;
    if (status >= 200 && status < 300) return { end: 'delivered' };
    if (status === 410) {
      await receiver.gone();
      return { end: 'dead', reason: 'answered 410' };
    }
    const retry_after_ms = retryAfterMs(retry_after, now());
    return { end: 'failed', reason: `answered ${String(status)}`, retry_after_ms };
  }

  /** Forgets which addresses answered 410. */
  forgetGone(): void {
    this.#gone.clear();
  }

  /** The address in the entry's disclosures. It is erased with them. */
  async #ownAddress(log: Log, entry_id: string, attempts: number): Promise<Receiver | Outcome> {
    const { disclosures, served, now } = this.#ground;
    const url = (await disclosures.open(served[log.kind], entry_id))['webhook_url']?.value;
    if (typeof url !== 'string') {
      // It was erased, or the disclosure key, which is written after the entry, is not on disk yet.
      if (attempts >= MISSING_ATTEMPTS) return { end: 'dropped' };
      return { end: 'failed', reason: 'the address is missing', retry_after_ms: 0 };
    }
    if ((this.#gone.get(url) ?? 0) > now()) return { end: 'dead', reason: 'answered 410 before' };
    return { url, gone: () => this.#gone.set(url, now() + GONE_MS) };
  }

  #subscriber(id: string): Receiver | Outcome {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return { end: 'dropped' };
    if (!isEnabled(subscription)) return { end: 'dead', reason: 'the subscription is disabled' };
    return { ...subscription, gone: () => this.#subscriptions.disable(id, 'gone') };
  }
}

interface ReceiptLinks {
  readonly entry_id: string;
  readonly issued_at_ms: number;
  readonly permalink: string;
  readonly verify_url: string;
}

/** The message of an event: `data` holds the public receipt, or only its links if the body would be too large. */
function messageOf(type: string, receipt: JsonObject): Message {
  // The gateway made this receipt, which has all four members.
  const { entry_id, issued_at_ms, permalink, verify_url } = receipt as unknown as ReceiptLinks;
  const links = { entry_id, permalink, verify_url };
  const whole = bodyOf(type, issued_at_ms, { ...links, receipt });
  const body =
    Buffer.byteLength(whole) <= MAX_BODY_BYTES ? whole : bodyOf(type, issued_at_ms, links);
  return { id: `msg_${entry_id}`, body };
}

/** The id of the message about an entry. The entry must exist. */
export function messageId(log: Log, index: number): string {
  const text = log.entry(index);
  if (text === null) throw new Error(`entry ${String(index)} of a message is missing`);
  return `msg_${readEntry(text).statement['entry_id'] as string}`;
}

/** `{type, timestamp, data}` as JSON. The timestamp is the time of the event, in RFC 3339. */
export function bodyOf(type: string, at_ms: number, data: Json): string {
  return JSON.stringify({ type, timestamp: new Date(at_ms).toISOString(), data });
}

/**
 * The headers of one attempt. `v1a` is an Ed25519 signature by the webhook key in the JWKS. For a day after a rotation
 * there is one by the old key too, because receivers may have cached it. `v1` is HMAC-SHA256 with the secret of the
 * subscription, if it has one.
 */
async function headersOf(
  { id, body }: Message,
  now_ms: number,
  signers: readonly WebhookSigner[],
  secret?: string,
): Promise<Record<string, string>> {
  const timestamp = Math.floor(now_ms / 1000);
  const signed = Buffer.from(`${id}.${String(timestamp)}.${body}`);
  const made = await Promise.all(signers.map((signer) => signer.sign(signed)));
  const signatures = made.map((signature) => `v1a,${toBase64(signature)}`);
  if (secret !== undefined) {
    signatures.push(new Webhook(secret).sign(id, new Date(timestamp * 1000), body));
  }
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'actlog-webhooks',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/**
 * The wait after so many attempts, in milliseconds; null after the last one.
 *
 * @param chance a random number from 0 to 1
 * @param retry_after_ms the wait that the receiver asked for, or 0
 */
export function waitAfter(attempts: number, chance: number, retry_after_ms = 0): number | null {
  const delay = DELAYS_MS[attempts];
  if (delay === undefined) return null;
  const jittered = Math.round(delay * (1 + JITTER * chance));
  return Math.max(jittered, Math.min(retry_after_ms, MAX_RETRY_AFTER_MS));
}

/** A Retry-After header in milliseconds: seconds or an HTTP date (RFC 9110 §10.2.3); 0 for any other text. */
export function retryAfterMs(header: string | undefined, now_ms: number): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header) * SECOND;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now_ms);
}
