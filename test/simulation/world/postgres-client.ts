// What the product gets in place of pg: the pool of pg-pool itself, over connections to the simulated server.
//
// A connection behaves as that of pg does: the answer of a statement that takes too long is not waited for, a connection
// that is lost fails the statement in progress and then emits `error`, which ends the process if nothing listens.

import { EventEmitter } from 'node:events';
import PgPool from 'pg-pool';
import { simulatedClear, simulatedTimeout } from './timers.ts';
import { theServer } from './postgres.ts';
import type { ClientEnd, Session } from './postgres.ts';
import { world } from './world.ts';
import type { Latency, Process } from './world.ts';

/** A connection needs several round trips, and a process of the server. */
const CONNECT: Latency = { from_us: 1000, to_us: 6000, slow: 0.01 };

interface Options {
  readonly query_timeout?: number;
}

type Callback = (error: Error | null, result?: { readonly rows: readonly unknown[] }) => void;

interface Query {
  readonly sql: string;
  readonly values: readonly unknown[];
  callback: Callback;
}

class Client extends EventEmitter implements ClientEnd {
  readonly process: Process = world().current;
  /** Read by the pool. */
  _queryable = true;
  _ending = false;
  readonly connection = { stream: { destroy: () => this.#destroy() } };
  readonly #timeout_ms: number;
  #session: Session | null = null;
  #connecting: Callback | null = null;
  #queue: Query[] = [];
  #active: Query | null = null;
  #ended = false;

  constructor({ query_timeout = 0 }: Options) {
    super();
    this.#timeout_ms = query_timeout;
  }

  connect(callback: Callback): void {
    this.#connecting = callback;
    const { machine } = this.process;
    const room = world();
    room.after(room.duration(CONNECT) / room.slowness, () => {
      if (this.#ended) return;
      const reachable = theServer().reachable(machine);
      // Nothing answers: the pool gives up after a time.
      if (reachable === null) return;
      this.#connecting = null;
      if (!reachable) {
        this.#ended = true;
        callback(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
        return;
      }
      this.#session = theServer().connect(machine, this);
      callback(null);
    });
  }

  query(sql: string, values?: readonly unknown[] | Callback, given?: Callback): Promise<unknown> {
    let callback = typeof values === 'function' ? values : given;
    let result: Promise<unknown> = Promise.resolve();
    if (callback === undefined) {
      result = new Promise((resolve, reject) => {
        callback = (error, rows) => {
          if (error === null) resolve(rows);
          else reject(error);
        };
      });
    }
    const query: Query = {
      sql,
      values: typeof values === 'function' ? [] : (values ?? []),
      callback: callback ?? (() => undefined),
    };
    const { callback: tell } = query;
    if (this.#timeout_ms > 0) {
      const timer = simulatedTimeout(() => {
        tell(new Error('Query read timeout'));
        query.callback = () => undefined;
        this.#queue = this.#queue.filter((one) => one !== query);
      }, this.#timeout_ms);
      query.callback = (error, rows) => {
        simulatedClear(timer);
        tell(error, rows);
      };
    }
    const why = this._ending
      ? 'Client was closed and is not queryable'
      : 'Client has encountered a connection error and is not queryable';
    if (!this._queryable || this._ending) process.nextTick(() => query.callback(new Error(why)));
    else {
      this.#queue.push(query);
      this.#next();
    }
    return result;
  }

  end(callback?: () => void): void {
    this._ending = true;
    if (this.#ended || this.#session === null || this.#active !== null || !this._queryable) {
      this.#destroy();
      callback?.();
      return;
    }
    this.#session.close();
    this.#ended = true;
    process.nextTick(() => {
      callback?.();
      this.emit('end');
    });
  }

  ref(): void {
    // Nothing keeps a simulated process running.
  }

  unref(): void {
    // Nothing keeps a simulated process running.
  }

  notified(): void {
    if (!this.#ended) this.emit('notification', { channel: 'actlog' });
  }

  lost(error: Error | null): void {
    if (this.#ended) return;
    const own = error ?? Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    if (error !== null && this.#active !== null) {
      // The server has answered the statement with its error, and then closed the connection.
      this.#active.callback(error);
      this.#active = null;
    }
    this._queryable = false;
    this.#fail(own);
    this.#ended = true;
    if (!this._ending) this.emit('error', own);
    process.nextTick(() => this.emit('end'));
  }

  /** The process closes the socket at once. */
  #destroy(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#session?.close();
    const error = new Error(
      this._ending ? 'Connection terminated' : 'Connection terminated unexpectedly',
    );
    const connecting = this.#connecting;
    this.#connecting = null;
    this.#fail(error);
    if (connecting !== null) connecting(error);
    else if (!this._ending) this.emit('error', error);
    process.nextTick(() => this.emit('end'));
  }

  #fail(error: Error): void {
    const failed = [...(this.#active === null ? [] : [this.#active]), ...this.#queue];
    this.#active = null;
    this.#queue = [];
    for (const { callback } of failed) process.nextTick(() => callback(error));
  }

  #next(): void {
    if (this.#active !== null || this.#session === null) return;
    const query = this.#queue.shift();
    if (query === undefined) return;
    this.#active = query;
    this.#session.send(query.sql, query.values, (error, rows) => {
      if (this.#ended || this.#active !== query) return;
      this.#active = null;
      query.callback(error, { rows });
      this.#next();
    });
  }
}

class Pool extends PgPool {
  constructor(options: Options) {
    super(options, Client);
  }
}

export default { Pool };
