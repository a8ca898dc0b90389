// What clients of a simulated cluster send to its nodes, the answers that they have had, and the errors that they accept.

import type { Draft, JsonObject } from '../../log/index.ts';
import type { Answer, Ask } from './cluster-gateway.ts';
import { ClusterHistory } from './cluster-history.ts';
import { ClusterNode } from './cluster-node.ts';
import type { ClusterPlan, ClusterStep } from './cluster-plan.ts';
import { Ledger } from './ledger.ts';
import { describe, NOTE, TENANTS } from './subject.ts';
import { Witnesses } from './witnesses.ts';
import { Message, Network } from './world/http.ts';
import { PostgresServer } from './world/postgres.ts';
import { Broken, Process } from './world/world.ts';
import type { World } from './world/world.ts';

/** How long a client waits for an answer. */
export const CLIENT_MS = 60_000;

/** What no client may be answered with while nothing is damaged. */
const SERIOUS = new Set([
  'store_corrupt',
  'log_rolled_back',
  'key_invalid',
  'key_lost',
  'rounds_lost',
]);

/** A write with an idempotency key. */
interface Once {
  readonly key: string;
  readonly drafts: readonly Draft[];
  state: 'waiting' | 'sent' | 'done';
}

export class ClusterClients {
  readonly plan: ClusterPlan;
  readonly world: World;
  readonly server = new PostgresServer();
  readonly network = new Network();
  readonly history = new ClusterHistory();
  readonly ledger = new Ledger('log.example/log/live/1', null);
  readonly nodes: readonly ClusterNode[];
  /** Numbers of entries by the append that sent them. */
  readonly sent = new Map<number, 'maybe' | 'acknowledged'>();
  /** Values of rows of the gateway's database: the one that was acknowledged last, and those that may have come later. */
  readonly rows = new Map<string, { acknowledged: number; readonly maybe: Set<number> }>();
  /**
   * Secrets of disclosures in hex: whether an erasure was acknowledged after the last put, and whether the database may
   * lack one that a round uses, because it was erased or lost together with rounds.
   */
  readonly secrets = new Map<
    string,
    { readonly all: Set<string>; erased: boolean; gone: boolean; open: number }
  >();
  /** Whether the database lost commits that no node could report, so that two histories may exist. */
  torn = false;
  /** Whether the database lost what no node can give back, so that there is no more to check. */
  abandoned = false;
  protected once: Once[] = [];
  protected n = 0;
  readonly #clients = new Process('clients');
  protected readonly witnesses: Witnesses;

  constructor(plan: ClusterPlan, world: World) {
    this.plan = plan;
    this.world = world;
    this.witnesses = new Witnesses(plan.witnesses, plan.quorum);
    const broken = (error: Broken): void => {
      world.broken ??= error;
    };
    this.nodes = Array.from(
      { length: plan.nodes },
      (_, nth) =>
        new ClusterNode(nth, world, {
          skew_ms: plan.skews_ms[nth] ?? 0,
          snapshot_bytes: plan.snapshot_bytes,
          broken,
        }),
    );
    this.server.committed = (rounds) => this.guard(() => this.history.committed(rounds));
  }

  protected guard(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.world.broken ??=
        error instanceof Broken ? error : new Broken('check failed', describe(error));
    }
  }

  // Clients.

  protected ask(
    step: Extract<
      ClusterStep,
      { do: 'append' | 'once' | 'many' | 'row' | 'disclose' | 'erase' | 'rotate' }
    >,
  ): void {
    switch (step.do) {
      case 'append':
        this.append(step.at, this.notes(step.cases));
        return;
      case 'many':
        for (let i = 0; i < step.count; i += 1) this.append(step.at + i, this.notes([i % 6]));
        return;
      case 'once': {
        const drafts = this.notes(step.cases);
        this.once.push({ key: String(this.n), drafts, state: 'waiting' });
        this.retry(step.at);
        return;
      }
      case 'row': {
        const name = `row/${String(step.row)}`;
        const value = (this.n += 1);
        const row = this.rows.get(name) ?? { acknowledged: 0, maybe: new Set<number>() };
        this.rows.set(name, row);
        row.maybe.add(value);
        this.send(step.at, { do: 'row', name, value }, () => {
          // Another one may have been put later, and then shows.
          if (value > row.acknowledged) row.acknowledged = value;
        });
        return;
      }
      case 'disclose': {
        const key = `case/${String(step.key)}`;
        const secret = this.world.random('secrets').bytes(32).toString('hex');
        const known = this.secrets.get(key) ?? {
          all: new Set<string>(),
          erased: false,
          gone: false,
          open: 0,
        };
        this.secrets.set(key, known);
        known.all.add(secret);
        known.erased = false;
        // One that fails may still come to the database later.
        known.open += 1;
        this.send(step.at, { do: 'disclose', key, secret }, () => (known.open -= 1));
        return;
      }
      case 'erase': {
        const key = `case/${String(step.key)}`;
        const known = this.secrets.get(key);
        if (known === undefined) return;
        const puts = known.all.size;
        const { open } = known;
        known.gone = true;
        this.send(step.at, { do: 'erase', key }, () => {
          if (open === 0 && known.all.size === puts) known.erased = true;
        });
        return;
      }
      case 'rotate':
        this.send(this.world.random('clients').int(3), { do: 'rotate' });
    }
  }

  protected notes(cases: readonly number[]): Draft[] {
    return cases.map((one) => {
      const n = (this.n += 1);
      this.sent.set(n, 'maybe');
      const members = { case_id: `c${String(one)}`, n };
      return { type: NOTE.name, tenant_ref: TENANTS[n % 3] ?? '', members };
    });
  }

  protected append(at: number, drafts: readonly Draft[], once?: Once): void {
    const ask: Ask = { do: 'append', drafts, ...(once === undefined ? {} : { once: once.key }) };
    this.send(
      at,
      ask,
      (answer) => {
        if (once !== undefined) once.state = 'done';
        if (!('entries' in answer)) throw new Broken('receipts', 'an append has no entries');
        for (const [i, { index, text }] of answer.entries.entries()) {
          if (!this.torn) this.ledger.acknowledge(index, text);
          const { n } = JSON.parse(text === '' ? '{}' : text) as JsonObject;
          if (
            typeof n !== 'number' ||
            n !== (drafts[i]?.members as JsonObject | undefined)?.['n']
          ) {
            throw new Broken('receipts', `entry ${String(index)} is not the one that was sent`);
          }
          if (!this.torn) this.sent.set(n, 'acknowledged');
        }
      },
      () => {
        if (once !== undefined) once.state = 'waiting';
      },
    );
  }

  /** Sends again what was not acknowledged. */
  protected retry(at: number): void {
    for (const one of this.once) {
      if (one.state !== 'waiting') continue;
      one.state = 'sent';
      this.append(at, one.drafts, one);
    }
    this.once = this.once.filter(({ state }) => state !== 'done');
  }

  /** Sends a request to a node. One of the functions is called when it is answered, or after a time. */
  send(
    at: number,
    ask: Ask,
    done: (answer: Answer) => void = () => undefined,
    failed: () => void = () => undefined,
  ): void {
    const { world } = this;
    const node = this.nodes[at % this.nodes.length];
    if (node === undefined) return;
    const state = { over: false };
    const over = (then: () => void): void => {
      if (state.over) return;
      state.over = true;
      this.guard(then);
    };
    const fail = (why: string): void => {
      world.trace(() => `${ask.do} at ${node.name}: ${why}`);
      over(failed);
    };
    world.as(this.#clients, () => {
      const request = new Message({ method: 'POST' }, JSON.stringify(ask));
      this.network.send(
        node.address,
        request,
        ({ statusCode, body }) => {
          const answer = JSON.parse(body) as Answer & {
            readonly code?: string;
            readonly error?: unknown;
          };
          if (statusCode === 200) {
            world.trace(() => `${ask.do} at ${node.name}: done`);
            over(() => done(answer));
            return;
          }
          fail(`${String(statusCode)} ${body}`);
          this.guard(() => this.#explain(node, statusCode, answer.code ?? '', body));
        },
        (error) => fail(error.message),
      );
      world.after(CLIENT_MS * 1000, () => over(failed));
    });
  }

  /** An error that a client is answered with must be one that a fault explains. */
  #explain(node: ClusterNode, status: number, code: string, body: string): void {
    const disk = node.diskRefused || this.nodes.some(({ diskRefused }) => diskRefused);
    if (status === 503 && !SERIOUS.has(code)) return;
    if (code === 'rounds_lost' && this.plan.steps.some((one) => one.do === 'failover')) return;
    if (disk && (code === 'ENOSPC' || code === 'EIO')) return;
    throw new Broken('answer', `${node.name} answers ${String(status)}: ${body}`);
  }
}
