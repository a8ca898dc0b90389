// A running gateway: opens it, listens, deletes expired records, serves administration, and stops without losing
// acknowledged data.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { buildHandler } from './app.ts';
import { commandVerbs, startChores } from './host/commands.ts';
import { startFsyncProbe } from './disk.ts';
import type { ConfigSources } from './config.ts';
import type { Gateway } from './gateway.ts';
import { sweepRecords } from './http/idempotency-store.ts';
import { listen } from './http/listen.ts';
import { securityHeaderList } from './http/middleware.ts';
import { openGateway } from './open.ts';
import type { OpenedGateway, OpenOptions } from './open.ts';
import { startScrub } from './scrub.ts';
import { adminVerbs } from './tenants/admin.ts';
import type { AdminVerbs } from './tenants/admin.ts';
import { serveAdmin } from './tenants/admin-socket.ts';
import type { IssuedKey } from './tenants/tenants.ts';

/** How often expired idempotency records and forgotten dead letters are deleted. */
const SWEEP_MS = 600_000;

/** A gateway that serves. */
export interface RunningServer {
  readonly gateway: Gateway;
  readonly port: number;
  /** The keys of a first start on an empty data folder; they are shown only once. */
  readonly first_keys: readonly IssuedKey[];
  /** Finishes requests in flight, publishes, and closes the logs. */
  close(): Promise<void>;
}

/** Opens a gateway and serves it. With PORT 0 and no BASE_URL, addresses in answers name the port that was free. */
export async function startServer(
  sources: ConfigSources,
  options: OpenOptions,
): Promise<RunningServer> {
  if (sources.config.CLUSTER === 'on') {
    const { startNode } = await import('./cluster/node.ts');
    return startNode(sources, options);
  }
  const opened = await openGateway(await withPort(sources), options);
  const { gateway } = opened;
  const closers: (() => Promise<void>)[] = [() => opened.close()];
  let listens = false;
  const close = async (): Promise<void> => {
    opened.stop();
    if (listens) await sleep(gateway.config.SHUTDOWN_DELAY_MS);
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const active = await activate(opened, options.logger);
    closers.push(() => active.close());
    const admin = await serveAdmin(gateway.config.DATA_DIR, active.verbs);
    closers.push(() => admin.close());
    const headers = securityHeaderList(gateway.base_url.startsWith('https:'));
    const listening = await listen(gateway.config, active.handler, headers);
    closers.push(() => listening.close());
    closers.push(async () => gateway.events.close());
    listens = true;
    // The last step, because keys that were stored but not shown would be lost.
    const first_keys = gateway.tenants.empty ? await gateway.tenants.issueFirst() : [];
    return { gateway, port: listening.port, first_keys, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** An open gateway whose requests can be answered and whose background work runs. */
export interface Active {
  readonly handler: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  readonly verbs: AdminVerbs;
  /** Ends the background work. The gateway stays open. */
  close(): Promise<void>;
}

/** Starts the background work of a gateway: on a node that follows, only what concerns its own copy. */
export async function activate(opened: OpenedGateway, logger: Logger): Promise<Active> {
  const { gateway, store } = opened;
  const own = adminVerbs(gateway, store);
  const verbs = { ...own, ...commandVerbs(gateway, own) };
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const handler = buildHandler(gateway);
    gateway.loop.start();
    closers.push(async () => gateway.loop.stop());
    const scrubbing = startScrub(gateway.scrub, gateway, gateway.config.SCRUB);
    closers.push(() => scrubbing.close());
    const searching = gateway.search.start(gateway);
    closers.push(() => searching.close());
    const probe = startFsyncProbe(gateway.metrics, gateway.config.DATA_DIR, gateway);
    closers.push(() => probe.close());
    if (gateway.cluster?.role !== 'follower') await activateLeader(gateway, logger, closers);
    return { handler, verbs, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The background work that only one process of a service does. */
async function activateLeader(
  gateway: Gateway,
  logger: Logger,
  closers: (() => Promise<void>)[],
): Promise<void> {
  const chores = startChores(gateway, logger);
  closers.push(() => chores.close());
  const { uploads } = gateway;
  if (uploads !== null) {
    closers.push(() => uploads.close());
    await uploads.start();
  }
  gateway.webhooks.start();
  closers.push(() => gateway.webhooks.close());
  const sweeper = setInterval(() => void sweep(gateway, logger), SWEEP_MS);
  closers.push(async () => clearInterval(sweeper));
}

/**
 * Tests the port before anything is created: a first start that failed on it would leave logs whose origin names that
 * port. Addresses in receipts need it too, so PORT 0 becomes a port that is free now.
 */
async function withPort(sources: ConfigSources): Promise<ConfigSources> {
  const { config } = sources;
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject).listen(config.PORT, config.HOST, resolve);
  });
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  if (config.PORT !== 0 || config.BASE_URL !== '') return sources;
  return { ...sources, config: { ...config, PORT: port } };
}

async function sweep(gateway: Gateway, logger: Logger): Promise<void> {
  const ttl = gateway.config.IDEMPOTENCY_TTL_MS;
  try {
    for (const log of Object.values(gateway.served).flat())
      await sweepRecords(log, gateway.now(), ttl);
    await gateway.webhooks.dead.sweep();
  } catch (err) {
    logger.warn({ err }, 'expired rows are still there');
  }
}
