// A caller of the service with many connections and one key; what it sends and gets, nothing more.

import { Agent, request } from 'undici';

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  /** The answer repeats an earlier one with the same idempotency key. */
  readonly replayed: boolean;
  readonly retry_after_s: number;
}

const BRAND = Symbol.for('actlog.WrongAnswer');

/** What a service said that cannot be right. The message has everything that proves it. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
  readonly [BRAND] = true;
}

/** Whether a thrown value is a `WrongAnswer`. */
export const isWrongAnswer = (thrown: unknown): thrown is WrongAnswer =>
  thrown instanceof Error && BRAND in thrown;

/** A keep-alive client; rejects with the error of the connection when there is no answer. */
export class Client {
  readonly url: string;
  readonly #key: string;
  readonly #agent: Agent;

  constructor(url: string, key: string, connections: number) {
    this.url = url.replace(/\/+$/, '');
    this.#key = key;
    this.#agent = new Agent({ connections, pipelining: 1, connect: { timeout: 5_000 } });
  }

  get(path: string): Promise<Answer> {
    return this.#send('GET', path, {});
  }

  post(path: string, body: string, idempotency_key: string): Promise<Answer> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': idempotency_key };
    return this.#send('POST', path, headers, body);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    body: string | null = null,
  ): Promise<Answer> {
    const answer = await request(this.url + path, {
      method,
      headers: { 'x-api-key': this.#key, ...headers },
      body,
      dispatcher: this.#agent,
      headersTimeout: 30_000,
      bodyTimeout: 30_000,
    });
    return {
      status: answer.statusCode,
      text: await answer.body.text(),
      replayed: answer.headers['idempotent-replayed'] === 'true',
      retry_after_s: Number(answer.headers['retry-after'] ?? 0),
    };
  }
}
