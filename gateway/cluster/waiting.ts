// Waiting in a node: its loop sleeps until something wakes it, and requests and the start wait until a condition holds.
// Those that wait in vain are answered, or end with an error.

import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { base62 } from '../tenants/base62.ts';

/** The waits of one node. */
export class Waiting {
  #wake: () => void = () => undefined;
  #woken = false;
  #ended = false;
  readonly #tests = new Set<() => void>();

  /** Wakes the loop, or keeps it from sleeping next time. */
  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** Sleeps until something wakes the loop, at most `ms`, and at least `least_ms`. */
  async pause(ms: number, least_ms: number): Promise<void> {
    if (least_ms > 0) await sleep(least_ms);
    if (!this.#woken && !this.#ended) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = () => undefined;
    this.#woken = false;
  }

  /** Tests the conditions again. Called whenever one may have begun to hold. */
  changed(): void {
    for (const test of [...this.#tests]) test();
  }

  /** Waits until a condition holds or all waiting ends; at most `ms`. */
  async until(condition: () => boolean, ms?: number): Promise<void> {
    if (condition() || this.#ended) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#tests.delete(test);
        resolve();
      };
      const test = (): void => {
        if (condition() || this.#ended) end();
      };
      const timer = ms === undefined ? undefined : setTimeout(end, ms);
      this.#tests.add(test);
    });
  }

  /** Ends all waiting, now and later. */
  end(): void {
    this.#ended = true;
    this.wake();
    this.changed();
  }
}

/** An error of a plugin or a setting, which no later try mends; null for any other. */
export const finalError = (error: unknown): Error | null =>
  error instanceof Error && ['ConfigError', 'PluginError'].includes(error.name) ? error : null;

/** Answers a request while no gateway is open: 503 `not_ready`. */
export function answerNotReady(
  res: ServerResponse,
  headers: readonly (readonly [string, string])[],
  { forked, filling }: { readonly forked: boolean; readonly filling: string | null },
): void {
  const message = forked
    ? 'this node serves nothing: its history differs from that of the cluster'
    : filling === null
      ? 'this node has no role yet'
      : `this node fills its copy (${filling})`;
  const request_id = `req_${base62(24)}`;
  for (const [name, value] of headers) res.setHeader(name, value);
  res.writeHead(503, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'Retry-After': '1',
    'X-Request-Id': request_id,
  });
  res.end(JSON.stringify({ error: { type: 'api_error', code: 'not_ready', message, request_id } }));
}
