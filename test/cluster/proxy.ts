// A TCP proxy between a node and what it talks to: it delays, drops and cuts.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** `drop` keeps connections open and delivers nothing, as a network partition does; `refuse` closes them at once. */
export type Weather = 'pass' | 'drop' | 'refuse';

/** A moment of a request that passes: before its first bytes are delivered, or before those of its answer are. */
export type Moment = 'before' | 'after';

/** A running proxy. */
export interface Proxy {
  readonly port: number;
  /** What happens to bytes from now on. Leaving `drop` cuts the connections, because bytes of them are lost. */
  set(weather: Weather): void;
  /** Milliseconds that every chunk takes. */
  delay(ms: number): void;
  /** Cuts all connections. */
  cut(): void;
  /**
   * At the next request with this text, acts and delivers nothing more of it and its connection.
   * Resolves when that has happened.
   *
   * @param signal gives the wait up
   */
  aim(text: string, moment: Moment, act: () => void, signal: AbortSignal): Promise<void>;
  /** Where new connections lead. */
  lead(port: number): void;
  close(): Promise<void>;
}

/** Starts a proxy on a port (0: a free one) to a port of 127.0.0.1. */
export async function startProxy(target: number, port = 0): Promise<Proxy> {
  let weather: Weather = 'pass';
  let delay_ms = 0;
  let to = target;
  let aim: { text: string; moment: Moment; hit(): void } | null = null;
  const pairs = new Set<readonly [Socket, Socket]>();
  const cut = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  const server = createServer((near) => {
    if (weather === 'refuse') {
      near.destroy();
      return;
    }
    const far = connect({ port: to, host: '127.0.0.1' });
    const pair = [near, far] as const;
    pairs.add(pair);
    /** The request of this connection that the proxy waits to be answered. */
    let awaited: typeof aim = null;
    let silent = false;
    const strike = (at: typeof aim): void => {
      // Another connection, or another proxy with the same aim, may have been the first.
      if (aim !== at) return;
      silent = true;
      aim = null;
      at?.hit();
    };
    const passes = (chunk: Buffer, request: boolean): boolean => {
      if (request && aim !== null && chunk.includes(aim.text)) {
        if (aim.moment === 'before') strike(aim);
        else awaited = aim;
      } else if (!request && awaited !== null) strike(awaited);
      return !silent && weather !== 'drop';
    };
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true);
      from.on('data', (chunk: Buffer) => {
        if (!passes(chunk, from === near)) return;
        if (delay_ms === 0) into.write(chunk);
        else setTimeout(() => into.writable && into.write(chunk), delay_ms);
      });
      from.on('error', () => into.destroy());
      from.on('close', () => {
        pairs.delete(pair);
        if (weather === 'drop') return;
        if (delay_ms === 0) into.destroy();
        else setTimeout(() => into.destroy(), delay_ms);
      });
    }
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      if (weather === 'drop' && next !== 'drop') cut();
      weather = next;
      if (next === 'refuse') cut();
    },
    delay: (ms) => (delay_ms = ms),
    cut,
    aim: (text, moment, act, signal) =>
      new Promise((resolve) => {
        const end = (): void => {
          aim = null;
          resolve();
        };
        signal.addEventListener('abort', end);
        aim = {
          text,
          moment,
          hit: () => {
            act();
            end();
          },
        };
      }),
    lead: (next) => (to = next),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        cut();
      }),
  };
}
