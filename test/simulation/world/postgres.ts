// A simulated PostgreSQL server and the network to it: transactions that become visible and durable when they commit,
// locks of rows until then, notifications, and what happens to a statement when a connection, the server or its disk is
// lost around it. The client side is postgres-client.ts, the statements are postgres-statements.ts.
//
// A statement that has reached the server runs to its end whatever happens to the connection, as in PostgreSQL. A commit
// takes the time of a sync, and with a synchronous standby that of a round trip. A server that is killed in that time
// has committed or not. An asynchronous standby that takes over lacks the commits of the last milliseconds.

import { PostgresError } from './postgres-changes.ts';
import { normal, statementOf } from './postgres-statements.ts';
import type { Effect, Statement } from './postgres-statements.ts';
import { Tables } from './postgres-tables.ts';
import type { Change, Lock, RoundRow } from './postgres-tables.ts';
import type { Random } from './random.ts';
import { Broken, Process, START_MS, world } from './world.ts';
import type { Latency, Machine, Pending } from './world.ts';

const NETWORK: Latency = { from_us: 150, to_us: 900, slow: 0.01 };
const WORK: Latency = { from_us: 20, to_us: 200, slow: 0.01 };
const COMMIT: Latency = { from_us: 300, to_us: 3000, slow: 0.02 };
/** `lock_timeout` of log/store/postgres.ts. */
const LOCK_MS = 5000;

/** What the network between a machine and the server does: `drop` keeps packets, which may still arrive later. */
export type LinkState = 'well' | 'drop' | 'refuse';

/** The network between one machine and the server. */
export class Link {
  readonly #held: (() => void)[] = [];
  #state: LinkState = 'well';
  /** Factor on the time of each message. */
  slowness = 1;

  get state(): LinkState {
    return this.#state;
  }

  set(state: LinkState): void {
    this.#state = state;
    if (state === 'drop') return;
    for (const send of this.#held.splice(0)) send();
  }

  /** Delivers a message in order behind the earlier ones of its direction; `after` of it is when that one arrives. */
  send(direction: { after_us: number }, process: Process, deliver: () => void): void {
    if (this.#state === 'drop') {
      this.#held.push(() => this.send(direction, process, deliver));
      return;
    }
    const room = world();
    const at_us = room.now_us + (room.duration(NETWORK) / room.slowness) * this.slowness;
    direction.after_us = Math.max(at_us, direction.after_us + 1);
    room.after(direction.after_us - room.now_us, deliver, process);
  }
}

/** The client's end of a connection. */
export interface ClientEnd {
  readonly process: Process;
  notified(): void;
  /** The connection is gone; with the error of the server, if that one ended it. */
  lost(error: Error | null): void;
}

interface Transaction {
  readonly changes: Change[];
  readonly locks: Lock[];
  /** The tables as this transaction sees them, once it has changed something. */
  view: Tables | null;
  failed: boolean;
}

type Reply = (error: Error | null, rows: Effect['rows']) => void;

/** A connection: the server's end of it. */
export class Session {
  readonly link: Link;
  readonly client: ClientEnd;
  readonly #server: PostgresServer;
  readonly #toServer = { after_us: 0 };
  readonly #toClient = { after_us: 0 };
  readonly #queue: {
    readonly sql: string;
    readonly values: readonly unknown[];
    readonly reply: Reply;
  }[] = [];
  #busy = false;
  #ended = false;
  #transaction: Transaction | null = null;
  listening = false;

  constructor(server: PostgresServer, link: Link, client: ClientEnd) {
    this.#server = server;
    this.link = link;
    this.client = client;
  }

  /** The client sends a statement. */
  send(sql: string, values: readonly unknown[], reply: Reply): void {
    this.link.send(this.#toServer, this.#server.process, () => {
      if (this.#ended) return;
      this.#queue.push({ sql: normal(sql), values, reply });
      this.#next();
    });
  }

  /** The client has closed its end. What it has sent before may be on its way. */
  close(): void {
    this.link.send(this.#toServer, this.#server.process, () => this.end());
  }

  /** The server gives up the connection: a statement that runs goes on, an open transaction is rolled back. */
  end(): void {
    this.#ended = true;
    this.#queue.length = 0;
    this.#server.sessions.delete(this);
    if (this.#busy) return;
    this.#rollback();
  }

  /** Breaks the connection. Both ends notice soon. */
  cut(error: Error | null = null): void {
    const room = world();
    room.after(room.duration(NETWORK), () => this.end(), this.#server.process);
    room.after(room.duration(NETWORK), () => this.client.lost(error), this.client.process);
  }

  /** The server is gone, and with it what was not committed. */
  drop(error: Error | null): void {
    this.#ended = true;
    this.#queue.length = 0;
    this.#transaction = null;
    const { client } = this;
    this.link.send(this.#toClient, client.process, () => client.lost(error));
  }

  notify(): void {
    const { client } = this;
    this.link.send(this.#toClient, client.process, () => client.notified());
  }

  #next(): void {
    const one = this.#queue.shift();
    if (one === undefined || this.#busy) {
      if (one !== undefined) this.#queue.unshift(one);
      return;
    }
    this.#busy = true;
    const server = this.#server;
    const { generation } = server;
    const room = world();
    const answer = (error: Error | null, rows: Effect['rows']): void => {
      this.#busy = false;
      if (this.#ended) {
        this.#rollback();
        return;
      }
      this.link.send(this.#toClient, this.client.process, () => one.reply(error, rows));
      this.#next();
    };
    room.after(
      room.duration(WORK),
      () => {
        if (server.generation !== generation) return;
        this.#run(one.sql, one.values, answer);
      },
      server.process,
    );
  }

  #run(sql: string, values: readonly unknown[], answer: Reply): void {
    const server = this.#server;
    if (sql.startsWith('BEGIN; SELECT pg_advisory_xact_lock')) {
      answer(null, []);
      return;
    }
    switch (sql) {
      case 'BEGIN':
        this.#transaction = { changes: [], locks: [], view: null, failed: false };
        answer(null, []);
        return;
      case 'ROLLBACK':
        this.#rollback();
        answer(null, []);
        return;
      case 'COMMIT': {
        const transaction = this.#transaction;
        if (transaction === null || transaction.failed) {
          this.#rollback();
          answer(null, []);
          return;
        }
        server.commit(transaction, () => {
          this.#transaction = null;
          answer(null, []);
        });
        return;
      }
      case 'LISTEN actlog':
        this.listening = true;
        answer(null, []);
        return;
      case 'NOTIFY actlog':
        server.notify();
        answer(null, []);
        return;
    }
    const statement = statementOf(sql);
    const aim = server.aimed(this, statement, 'before');
    if (aim !== null) {
      this.#busy = false;
      aim();
      return;
    }
    const done: Reply = (error, rows) => {
      const struck = server.aimed(this, statement, 'after');
      if (struck === null) {
        answer(error, rows);
        return;
      }
      this.#busy = false;
      struck();
    };
    this.#attempt(statement, values, done);
  }

  #attempt(statement: Statement, values: readonly unknown[], answer: Reply): void {
    const server = this.#server;
    const open = this.#transaction;
    if (open?.failed === true) {
      answer(new PostgresError('25P02', 'current transaction is aborted'), []);
      return;
    }
    const transaction = open ?? { changes: [], locks: [], view: null, failed: false };
    let timer: Pending | null = null;
    const stopTimer = (): void => {
      if (timer !== null) timer.cancelled = true;
    };
    const fail = (error: PostgresError): void => {
      stopTimer();
      if (open === null) server.release(transaction);
      else open.failed = true;
      answer(error, []);
    };
    const attempt = (): void => {
      let effect: Effect;
      try {
        effect = statement.run(transaction.view ?? server.tables, values, server.clock_ms);
      } catch (error) {
        if (!(error instanceof PostgresError)) throw error;
        fail(error);
        return;
      }
      const { changes = [], locks = [] } = effect;
      const wanted = [...locks, ...changes.map(({ row }) => ({ row, mode: 'update' as const }))];
      if (!server.lock(transaction, wanted, attempt)) {
        timer ??= world().after(
          LOCK_MS * 1000,
          () => {
            server.stopWaiting(attempt);
            fail(new PostgresError('55P03', 'canceling statement due to lock timeout'));
          },
          server.process,
        );
        return;
      }
      stopTimer();
      transaction.changes.push(...changes);
      if (open !== null) {
        if (changes.length > 0) open.view ??= server.tables.copy();
        for (const change of changes) if (open.view !== null) change.apply(open.view);
        answer(null, effect.rows);
      } else server.commit(transaction, () => answer(null, effect.rows));
    };
    attempt();
  }

  #rollback(): void {
    if (this.#transaction !== null) this.#server.release(this.#transaction);
    this.#transaction = null;
  }
}

/** A strike at a statement of a machine. */
interface Aim {
  readonly machine: Machine | null;
  readonly statement: string;
  readonly moment: 'before' | 'after';
  readonly act: (session: Session) => void;
}

interface Commit {
  readonly at_us: number;
  readonly changes: readonly Change[];
}

/** The server, and the standby that replaces it. */
export class PostgresServer {
  readonly process = new Process('postgres');
  readonly sessions = new Set<Session>();
  tables = new Tables();
  up = true;
  /** Counts the starts: what an earlier one had begun is gone. */
  generation = 0;
  /** Milliseconds by which its clock is off. */
  skew_ms = 0;
  /** Called with the rounds of each commit. */
  committed: (rounds: readonly RoundRow[]) => void = () => undefined;
  readonly #links = new Map<Machine | null, Link>();
  readonly #log: Commit[] = [];
  readonly #locks = new Map<string, Map<Transaction, Lock['mode']>>();
  #waiting: (() => void)[] = [];
  #committing: { readonly transaction: Transaction }[] = [];
  #aims: Aim[] = [];

  get clock_ms(): number {
    return START_MS + world().now_us / 1000 + this.skew_ms;
  }

  link(machine: Machine | null): Link {
    let link = this.#links.get(machine);
    if (link === undefined) this.#links.set(machine, (link = new Link()));
    return link;
  }

  /** Whether a connection can be made; null if nothing answers. */
  reachable(machine: Machine | null): boolean | null {
    const { state } = this.link(machine);
    if (state === 'drop') return null;
    return this.up && state === 'well';
  }

  connect(machine: Machine | null, client: ClientEnd): Session {
    const session = new Session(this, this.link(machine), client);
    this.sessions.add(session);
    return session;
  }

  /** Breaks all connections of a machine. */
  cut(machine: Machine | null): void {
    const link = this.link(machine);
    for (const session of this.sessions) if (session.link === link) session.cut();
  }

  /** Acts when a machine comes to a statement: before it runs, or when it is committed and not yet answered. */
  aim(aim: Aim): void {
    this.#aims.push(aim);
  }

  aimed(session: Session, { name }: Statement, moment: Aim['moment']): (() => void) | null {
    const at = this.#aims.findIndex(
      (aim) =>
        aim.statement === name && aim.moment === moment && this.link(aim.machine) === session.link,
    );
    const [aim] = at < 0 ? [] : this.#aims.splice(at, 1);
    if (aim === undefined) return null;
    return () => {
      world().trace(() => `STRUCK ${moment} ${aim.statement}`);
      aim.act(session);
    };
  }

  forgetAims(): void {
    this.#aims = [];
  }

  /** The server ends at once. What was being committed is committed or not. */
  kill(random: Random): void {
    if (!this.up) return;
    this.up = false;
    this.generation += 1;
    this.#aims = [];
    for (const { transaction } of this.#committing.splice(0)) {
      if (random.chance(0.5)) this.#apply(transaction.changes);
    }
    this.#locks.clear();
    this.#waiting = [];
    const told = random.chance(0.5);
    const error = new PostgresError('57P01', 'terminating connection due to administrator command');
    for (const session of this.sessions) session.drop(told ? error : null);
    this.sessions.clear();
  }

  start(): void {
    this.up = true;
  }

  /**
   * The standby takes the place of the server that was killed. It lacks the commits of the last milliseconds.
   *
   * @returns the changes that are lost
   */
  promote(lag_ms: number, skew_ms: number): readonly Change[] {
    const kept_us = (this.#log.at(-1)?.at_us ?? 0) - lag_ms * 1000;
    const kept =
      lag_ms === 0 ? this.#log.length : this.#log.filter(({ at_us }) => at_us <= kept_us).length;
    const lost = this.#log.splice(kept);
    if (lost.length > 0) {
      this.tables = new Tables();
      for (const { changes } of this.#log) for (const one of changes) one.apply(this.tables);
    }
    this.skew_ms = skew_ms;
    this.up = true;
    return lost.flatMap(({ changes }) => changes);
  }

  notify(): void {
    for (const session of this.sessions) if (session.listening) session.notify();
  }

  /** Takes all locks, or none: then `again` is called when some were released. */
  lock(transaction: Transaction, wanted: readonly Lock[], again: () => void): boolean {
    const blocked = wanted.some(({ row, mode }) =>
      [...(this.#locks.get(row) ?? [])].some(
        ([holder, held]) => holder !== transaction && (mode === 'update' || held === 'update'),
      ),
    );
    if (blocked) {
      this.#waiting.push(again);
      return false;
    }
    for (const { row, mode } of wanted) {
      let holders = this.#locks.get(row);
      if (holders === undefined) this.#locks.set(row, (holders = new Map()));
      if (holders.get(transaction) !== 'update') holders.set(transaction, mode);
      transaction.locks.push({ row, mode });
    }
    return true;
  }

  stopWaiting(again: () => void): void {
    this.#waiting = this.#waiting.filter((one) => one !== again);
  }

  release(transaction: Transaction): void {
    for (const { row } of transaction.locks) {
      const holders = this.#locks.get(row);
      holders?.delete(transaction);
      if (holders?.size === 0) this.#locks.delete(row);
    }
    for (const again of this.#waiting.splice(0)) again();
  }

  commit(transaction: Transaction, done: () => void): void {
    if (transaction.changes.length === 0) {
      this.release(transaction);
      done();
      return;
    }
    const { generation } = this;
    const committing = { transaction };
    this.#committing.push(committing);
    const room = world();
    room.after(
      room.duration(COMMIT) / room.slowness,
      () => {
        if (this.generation !== generation) return;
        this.#committing = this.#committing.filter((one) => one !== committing);
        this.#apply(transaction.changes);
        this.release(transaction);
        done();
      },
      this.process,
    );
  }

  #apply(changes: readonly Change[]): void {
    this.#log.push({ at_us: world().now_us, changes });
    for (const change of changes) change.apply(this.tables);
    const rounds = changes.flatMap(({ round }) => round ?? []);
    for (const { stream, seq, epoch } of rounds) {
      world().trace(() => `committed round ${String(seq)} of ${stream} in epoch ${String(epoch)}`);
    }
    if (rounds.length > 0) this.committed(rounds);
  }
}

let server: PostgresServer | null = null;

/** The server of the present world. */
export function theServer(): PostgresServer {
  if (server === null) throw new Broken('simulation', 'this world has no PostgreSQL');
  return server;
}

export function useServer(other: PostgresServer): void {
  server = other;
}
