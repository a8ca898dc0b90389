// A mirror over HTTP: the C2SP prefix of a log, read politely. Repeats what may pass, waits longer each
// time and as long as the server asks; never more than a few requests at once; sizes are bounded.

import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import {
  isMirrorTrouble,
  MAX_NOTE_BYTES,
  MirrorMissing,
  MirrorTrouble,
  TiledMirror,
} from './tiled.ts';

/** How a mirror is read. */
export interface HttpMirrorOptions {
  /** Attempts for each request; with 1 nothing is repeated. */
  readonly attempts?: number;
  /** Before the second attempt; twice that before the third, and so on. */
  readonly backoff_ms?: number;
  readonly timeout_ms?: number;
  readonly signal?: AbortSignal;
  /** How it waits; comes back early when the signal ends it. */
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<unknown>;
}

const CONNECTIONS = 4;
/** Longest that a server may ask us to wait. */
const LONGEST_WAIT_MS = 60_000;

/** A log under an address, for example `https://log.example/log/live/1`. */
export class HttpMirror extends TiledMirror {
  readonly name: string;
  readonly #agent: Agent;
  readonly #options: Required<Omit<HttpMirrorOptions, 'signal'>> &
    Pick<HttpMirrorOptions, 'signal'>;

  constructor(prefix: URL, options: HttpMirrorOptions = {}) {
    super();
    this.name = prefix.href.replace(/\/+$/, '');
    const timeout_ms = options.timeout_ms ?? 30_000;
    this.#options = { attempts: 5, backoff_ms: 500, wait: waitFor, ...options, timeout_ms };
    this.#agent = new Agent({
      connections: CONNECTIONS,
      connect: { timeout: timeout_ms },
      headersTimeout: timeout_ms,
      bodyTimeout: timeout_ms,
    });
  }

  async checkpoint(): Promise<string> {
    const note = await this.newest();
    if (note === null) throw new MirrorMissing(this.missing('checkpoint'), 'checkpoint');
    return note;
  }

  /** As `checkpoint`; null when there is no such log. */
  async newest(): Promise<string | null> {
    const note = await this.read('checkpoint', MAX_NOTE_BYTES);
    return note?.toString('utf8') ?? null;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  protected missing(path: string): string {
    return `${this.name}/${path}: HTTP 404`;
  }

  /** The body of a 200; null for a 404. */
  protected async read(path: string, limit: number): Promise<Buffer | null> {
    const { attempts, backoff_ms, signal, wait } = this.#options;
    const url = `${this.name}/${path}`;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#once(url, limit);
      if (!('trouble' in answer)) return answer.body;
      if (attempt >= attempts || !answer.passing || signal?.aborted === true) {
        throw new MirrorTrouble(`${url}: ${answer.trouble}`);
      }
      const own = backoff_ms * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
      await wait(Math.min(Math.max(own, answer.after_ms), LONGEST_WAIT_MS), signal);
    }
  }

  async #once(
    url: string,
    limit: number,
  ): Promise<{ body: Buffer | null } | { trouble: string; passing: boolean; after_ms: number }> {
    const { signal } = this.#options;
    try {
      const { statusCode, headers, body } = await request(url, {
        dispatcher: this.#agent,
        headers: { 'user-agent': 'actlog', accept: '*/*' },
        ...(signal === undefined ? {} : { signal }),
      });
      if (statusCode === 200) return { body: await bounded(body, limit) };
      await body.dump({ limit: 65_536 });
      if (statusCode === 404) return { body: null };
      const passing = statusCode === 429 || statusCode >= 500;
      return {
        trouble: `HTTP ${String(statusCode)}`,
        passing,
        after_ms: 1000 * Number(headers['retry-after'] ?? 0) || 0,
      };
    } catch (error) {
      if (isMirrorTrouble(error)) throw error;
      return { trouble: (error as Error).message, passing: true, after_ms: 0 };
    }
  }
}

/** Cut short by the signal; the next attempt then finds that it is over. */
const waitFor = (ms: number, signal: AbortSignal | undefined): Promise<unknown> =>
  sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);

async function bounded(body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limit) throw new MirrorTrouble(`an answer is over ${String(limit)} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
