// Posts what a monitor or a witness reports to one address, in order, while its work goes on. Standard Webhooks:
// https://github.com/standard-webhooks/standard-webhooks, gateway/API.md §11.

import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { canonical, toBase64 } from '../log/index.ts';
import type { JsonObject } from '../log/index.ts';
import type { NoteSigner } from '../log/operate.ts';
import { utf8 } from '../log/verify.ts';
import { CommandError, EXIT } from './command-line.ts';

/** Where and how it posts. */
export interface WebhookOptions {
  readonly url: URL;
  /** The cosigning key of the monitor or witness: signs as `v1a`. */
  readonly signer?: NoteSigner;
  /** Before each attempt; one attempt for each. */
  readonly delays_ms?: readonly number[];
  readonly timeout_ms?: number;
  readonly onTrouble: (reason: string) => void;
}

const DELAYS_MS = [0, 5000, 30_000, 120_000, 600_000];
const TIMEOUT_MS = 15_000;
/** What waits for a receiver that is away; the oldest goes first. */
const MOST_WAITING = 1000;

/** A message on its way; its id stays the same over attempts, and over starts for the same finding. */
interface Message {
  readonly id: string;
  readonly body: string;
}

/** One receiver. */
export class Webhook {
  readonly #options: WebhookOptions;
  readonly #over = new AbortController();
  #queue: Message[] = [];
  #sending: Promise<void> | null = null;

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  /** Queues a message and returns at once. */
  send(type: string, data: JsonObject): void {
    if (this.#over.signal.aborted) return;
    const hash = createHash('sha256').update(canonical({ type, data })).digest('hex');
    const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data });
    this.#queue.push({ id: `msg_${hash.slice(0, 32)}`, body });
    if (this.#queue.length > MOST_WAITING) {
      this.#queue.shift();
      this.#options.onTrouble(`over ${String(MOST_WAITING)} messages wait: the oldest is dropped`);
    }
    this.#sending ??= this.#drain().finally(() => {
      this.#sending = null;
    });
  }

  /** Waits for what is queued, no longer than this; what is left then is dropped, and said. */
  async close(wait_ms: number): Promise<void> {
    const late = setTimeout(() => {
      this.#over.abort();
    }, wait_ms);
    await this.#sending;
    clearTimeout(late);
    this.#over.abort();
  }

  async #drain(): Promise<void> {
    for (let message; (message = this.#queue[0]) !== undefined;) {
      const failure = await this.#deliver(message);
      if (failure !== null) this.#options.onTrouble(`${message.id} is not delivered: ${failure}`);
      // The oldest may have been dropped while it was on its way.
      if (this.#queue[0] === message) this.#queue.shift();
    }
  }

  /** Null once it is delivered, else why not. */
  async #deliver(message: Message): Promise<string | null> {
    let failure = 'the process has ended';
    for (const delay of this.#options.delays_ms ?? DELAYS_MS) {
      const { signal } = this.#over;
      if (delay > 0) await pause(delay, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      const status = await this.#post(message);
      if (typeof status === 'number' && status >= 200 && status < 300) return null;
      failure = typeof status === 'number' ? `HTTP ${String(status)}` : status;
      if (status === 410) break;
    }
    return failure;
  }

  /** The status, or what went wrong before there was one. */
  async #post({ id, body }: Message): Promise<number | string> {
    const { url, signer, timeout_ms = TIMEOUT_MS } = this.#options;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signed = signer?.sign(utf8(`${id}.${timestamp}.${body}`));
    try {
      const { status, body: answer } = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'actlog',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          ...(signed === undefined ? {} : { 'webhook-signature': `v1a,${toBase64(signed)}` }),
        },
        body,
        redirect: 'manual',
        signal: AbortSignal.any([AbortSignal.timeout(timeout_ms), this.#over.signal]),
      });
      await answer?.cancel();
      return status;
    } catch (error) {
      return error instanceof Error ? error.message : 'unknown';
    }
  }
}

/** The address that an option `--webhook` names; CommandError for none. */
export function webhookAddress(text: string): URL {
  if (URL.canParse(text) && /^https?:/.test(text)) return new URL(text);
  throw new CommandError(`--webhook ${text} is no http or https address`, EXIT.unknown);
}
