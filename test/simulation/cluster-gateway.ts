// What a node of a cluster (gateway/cluster/node.ts) opens in the simulation in place of a gateway: one log, the rows of
// the gateway's database and the keys of disclosures, opened as gateway/open.ts does, with a handler that forwards
// through gateway/cluster/forward.ts. Koa, plugins, sockets and the sandbox log are left out.

import { join } from 'node:path';
import type { Membership } from '../../gateway/cluster/cluster.ts';
import { forward } from '../../gateway/cluster/forward.ts';
import { secretRows } from '../../gateway/cluster/secret-rows.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { Next, RequestContext } from '../../gateway/http/request.ts';
import type { AdminVerbs } from '../../gateway/tenants/admin.ts';
import { openSharedStore } from '../../gateway/tenants/store.ts';
import type { GatewayStore } from '../../gateway/tenants/store.ts';
import { isLogError, openLog, removeLeftovers, Turns } from '../../log/index.ts';
import type { Cosign, Draft, Log, Threads } from '../../log/index.ts';
import { TENANTS, TYPES } from './subject.ts';
import { theNetwork } from './world/http.ts';
import type { Handler, Message, Response } from './world/http.ts';
import { world } from './world/world.ts';
import type { Machine, Process } from './world/world.ts';

/** An open gateway, as the checks see it. */
export interface OpenGateway {
  readonly process: Process;
  readonly leads: boolean;
  readonly log: Log;
  readonly store: GatewayStore;
  readonly member: Membership;
  /** Serialises the appends of one idempotency key. */
  readonly turns: Turns;
}

/** What a run provides to the gateways of its cluster, and the events that they report to it. */
export interface ClusterHost {
  readonly interval_ms: number;
  readonly idle_ms: number;
  readonly cosign: Cosign | null;
  opened(gateway: OpenGateway): void;
  closed(gateway: OpenGateway): void;
  /** Called before a client is told that entries are in the log. */
  acknowledging(entries: readonly Acknowledged[]): void;
  administers(machine: Machine | null, verbs: AdminVerbs): void;
}

export interface Acknowledged {
  readonly index: number;
  readonly text: string;
}

/** What a client asks for, as the body of its request. */
export type Ask =
  | { readonly do: 'append'; readonly drafts: readonly Draft[]; readonly once?: string }
  | { readonly do: 'row'; readonly name: string; readonly value: number }
  | { readonly do: 'disclose'; readonly key: string; readonly secret: string }
  | { readonly do: 'erase'; readonly key: string }
  | { readonly do: 'rotate' };

export type Answer = { readonly entries: readonly Acknowledged[] } | { readonly done: true };

let host: ClusterHost | null = null;

export function useHost(own: ClusterHost): void {
  host = own;
}

function theHost(): ClusterHost {
  if (host === null) throw new Error('no cluster is simulated');
  return host;
}

interface Sources {
  readonly config: { readonly DATA_DIR: string };
}

interface Opened {
  readonly gateway: Gateway;
  readonly own: OpenGateway;
  stop(): void;
  close(): Promise<void>;
}

/** In place of `openGateway` of gateway/open.ts. */
export async function openGateway(
  { config }: Sources,
  { member, threads }: { readonly member: Membership; readonly threads: Threads },
): Promise<Opened> {
  const told = theHost();
  const process = world().current;
  const store = await openSharedStore(member.rows, (key) => member.rowChanged(key));
  let log: Log | null = null;
  try {
    await removeLeftovers(join(config.DATA_DIR, 'keys'));
    log = await openLog({
      data: config.DATA_DIR,
      kind: 'live',
      origin_base: 'log.example',
      checkpoint_interval_ms: told.interval_ms,
      idle_ms: told.idle_ms,
      threads,
      register: member.register,
      types: TYPES,
      replica: member.replica('live', 1),
      onKeyFile: () => member.shareKeys(),
      ...(told.cosign === null ? {} : { cosign: told.cosign }),
    });
    await log.declare(TYPES);
  } catch (error) {
    await log?.close();
    await store.close();
    throw error;
  }
  const own = {
    process,
    leads: member.view.role === 'leader',
    log,
    store,
    member,
    turns: new Turns(),
  };
  told.opened(own);
  const opened = log;
  const gateway = {
    cluster: member.view,
    events: { close: () => undefined },
    tenants: {
      get empty() {
        return store.tenants.size === 0;
      },
      issueFirst: () => firstTenants(opened, store),
    },
  };
  return {
    // The node and `forward` read these members alone.
    gateway: gateway as unknown as Gateway,
    own,
    stop: () => undefined,
    close: async () => {
      told.closed(own);
      await opened.close();
      await store.close();
    },
  };
}

async function firstTenants(log: Log, store: GatewayStore): Promise<readonly never[]> {
  for (const tenant_ref of TENANTS) await log.registerTenant(tenant_ref, '0'.repeat(64));
  const inLog = { tenant_ref: TENANTS[0] ?? '', tenant_key: '0'.repeat(64) };
  await store.putTenant({ name: 'first', created_at_ms: 0, live: inLog, sandbox: inLog });
  return [];
}

/** In place of `activate` of gateway/server.ts. */
export function activate({ gateway, own }: Opened): Promise<{
  readonly handler: (req: Message, res: Response) => Promise<void>;
  readonly verbs: AdminVerbs;
  close(): Promise<void>;
}> {
  const pass = forward(gateway);
  const handler = async (req: Message, res: Response): Promise<void> => {
    const ctx = {
      req,
      res,
      method: req.method,
      state: {},
      status: 200,
      body: '' as string | Message,
      set: (name: string, value: string) => {
        res.setHeader(name, value);
      },
    };
    const next: Next = async () => {
      if (req.method === 'GET') ctx.body = JSON.stringify({ done: true });
      else ctx.body = JSON.stringify(await perform(own, JSON.parse(req.body) as Ask));
    };
    try {
      // Of the context of Koa, `forward` uses these members alone.
      await pass(ctx as unknown as RequestContext, next);
      res.writeHead(ctx.status);
      res.end(typeof ctx.body === 'string' ? ctx.body : ctx.body.body);
    } catch (error) {
      const { code } = error as { readonly code?: string };
      const expected = isLogError(error) || code === 'log_unavailable';
      res.writeHead(expected ? 503 : 500);
      res.end(JSON.stringify({ code: code ?? null, message: String(error) }));
    }
  };
  return Promise.resolve({ handler, verbs: {}, close: () => Promise.resolve() });
}

async function perform(gateway: OpenGateway, ask: Ask): Promise<Answer> {
  const { log, store, member } = gateway;
  const told = theHost();
  switch (ask.do) {
    case 'append': {
      const entries = await append(gateway, ask);
      told.acknowledging(entries);
      return { entries };
    }
    case 'row':
      await store.putCounts([[ask.name, ask.value]]);
      return { done: true };
    case 'disclose':
      await secretRows(member.secrets).put(
        [{ key: ask.key, value: Buffer.from(ask.secret, 'hex') }],
        { fresh: true },
      );
      // As with an entry, the round that uses the key comes after it.
      await store.putCounts([[`disclosed/${ask.key}`, 1]]);
      return { done: true };
    case 'erase':
      await secretRows(member.secrets).erase(ask.key);
      return { done: true };
    case 'rotate':
      await log.operator.rotateKey();
      return { done: true };
  }
}

function append(
  { log, turns }: OpenGateway,
  { drafts, once }: Extract<Ask, { do: 'append' }>,
): Promise<readonly Acknowledged[]> {
  if (once === undefined) return log.append(drafts).then(shown);
  // A repeat waits for the request that it repeats.
  return turns.run(() => appendOnce(log, drafts, `once/${once}`), once);
}

async function appendOnce(
  log: Log,
  drafts: readonly Draft[],
  key: string,
): Promise<readonly Acknowledged[]> {
  const known = log.attached(key);
  if (known !== undefined) {
    const first = Number(Buffer.from(known).toString());
    return drafts.map((_, at) => ({ index: first + at, text: log.entry(first + at) ?? '' }));
  }
  const attach = ([first]: readonly { readonly index: number }[]) => [
    { key, value: Buffer.from(String(first?.index)) },
  ];
  return shown(await log.append(drafts, { attach }));
}

const shown = (entries: readonly Acknowledged[]): readonly Acknowledged[] =>
  entries.map(({ index, text }) => ({ index, text }));

/** In place of `listen` of gateway/http/listen.ts. */
export function listen(
  config: { readonly ADVERTISE: string },
  handler: Handler,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  theNetwork().listen(config.ADVERTISE, handler);
  const close = (): Promise<void> => {
    theNetwork().close(config.ADVERTISE);
    return Promise.resolve();
  };
  return Promise.resolve({ port: 80, close });
}

/** In place of that of gateway/http/middleware.ts. */
export const securityHeaderList = (): readonly never[] => [];

/** In place of `serveAdmin` of gateway/tenants/admin-socket.ts. */
export function serveAdmin(_data: string, verbs: AdminVerbs): Promise<{ close(): Promise<void> }> {
  theHost().administers(world().current.machine, verbs);
  return Promise.resolve({ close: () => Promise.resolve() });
}

/** In place of that of gateway/http/authenticate.ts. */
export const clientAddress = (): string => '192.0.2.1';
