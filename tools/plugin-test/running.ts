// A whole gateway for tests: real logs in a temporary folder, a real socket, a clock that tests can move.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../../gateway/config.ts';
import type { Resolve } from '../../gateway/egress/names.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import { startServer } from '../../gateway/server.ts';
import type { AnyPlugin } from '../../plugins/contract/index.ts';

/** JSON whose members a test reads by name, unchecked. */
export type Body = ReturnType<typeof JSON.parse>;

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: Body;
}

/** The body of an answer that is 200; any other fails with its text. */
export function ok({ status, text, json }: Answer): Body {
  assert.equal(status, 200, text);
  return json;
}

/** What a request may have; a body that is no string is sent as JSON. */
export interface Ask {
  readonly key?: string;
  readonly body?: unknown;
  /** A body of bytes; `headers` say their type. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A gateway that serves on a port of its own. */
export interface Running {
  readonly gateway: Gateway;
  readonly data: string;
  readonly url: string;
  readonly port: number;
  /** The keys of the first start; empty texts when the data folder was not new. */
  readonly live: string;
  readonly sandbox: string;
  readonly clock: Clock;
  ask(method: string, path: string, ask?: Ask): Promise<Answer>;
  get(path: string, ask?: Ask): Promise<Answer>;
  post(path: string, body: unknown, ask?: Ask): Promise<Answer>;
  /** Stops; the data folder stays when `keep` is true. */
  close(keep?: boolean): Promise<void>;
}

/** A wall clock that tests move; the monotonic one moves along, as if time had passed. */
export class Clock {
  #ahead = 0;
  #jumped = 0;

  wall(): number {
    return Date.now() + this.#ahead + this.#jumped;
  }

  monotonic(): number {
    return performance.now() + this.#ahead;
  }

  pass(ms: number): void {
    this.#ahead += ms;
  }

  /** Sets the wall clock, as an operator or a broken NTP would; the monotonic one goes on. */
  jump(ms: number): void {
    this.#jumped += ms;
  }
}

/** Starts a gateway. Rate limits are off, and live writes need no key, unless the environment given says otherwise. */
export async function run(
  env: Readonly<Record<string, string>> = {},
  options: {
    readonly plugins?: readonly AnyPlugin[];
    readonly clock?: Clock;
    readonly resolve?: Resolve;
    /** Takes the lines of the log; silent unless given. */
    readonly lines?: (line: string) => void;
  } = {},
): Promise<Running> {
  const data = env['DATA_DIR'] ?? (await mkdtemp(join(tmpdir(), 'actlog-')));
  const clock = options.clock ?? new Clock();
  const sources = readConfig({
    PORT: '0',
    THREADS: 'off',
    RATE_LIMITS: 'off',
    ANONYMOUS_WRITES: 'allow',
    CHECKPOINT_INTERVAL_MS: '50',
    LOG_ORIGIN: 'test.example',
    BASE_URL: 'http://test.example',
    ...env,
    DATA_DIR: data,
  });
  const server = await startServer(sources, {
    logger:
      options.lines === undefined
        ? pino({ level: 'silent' })
        : pino({ level: 'info' }, { write: options.lines }),
    time: clock,
    plugins: options.plugins ?? [],
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
  });
  const url = `http://127.0.0.1:${String(server.port)}`;
  const keyOf = (kind: string): string =>
    server.first_keys.find((issued) => issued.kind === kind)?.key ?? '';
  const ask = async (method: string, path: string, asked: Ask = {}): Promise<Answer> => {
    const { key, body, bytes, headers } = asked;
    const json = body !== undefined && typeof body !== 'string';
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key === undefined ? {} : { 'X-API-Key': key }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(bytes === undefined ? {} : { body: bytes }),
      ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : body }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: jsonOf(text) };
  };
  return {
    gateway: server.gateway,
    data,
    url,
    port: server.port,
    live: keyOf('live'),
    sandbox: keyOf('sandbox'),
    clock,
    ask,
    get: (path, asked) => ask('GET', path, asked),
    post: (path, body, asked) => ask('POST', path, { ...asked, body }),
    async close(keep = false) {
      await server.close();
      if (!keep) await rm(data, { recursive: true, force: true });
    },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
