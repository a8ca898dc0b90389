// A running gateway: opens it, listens, deletes expired records, serves administration, and stops without losing
// acknowledged data.

import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import { commandVerbs, startChores } from './host/commands.ts';
import { startFsyncProbe } from './disk.ts';
import type { ConfigSources } from './config.ts';
import type { Gateway } from './gateway.ts';
import { sweepRecords } from './http/idempotency-store.ts';
import { listen } from './http/listen.ts';
import { securityHeaderList } from './http/middleware.ts';
import { openGateway } from './open.ts';
import type { OpenOptions } from './open.ts';
import { startScrub } from './scrub.ts';
import { adminVerbs } from './tenants/admin.ts';
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
  const opened = await openGateway(await withPort(sources), options);
  const { gateway, store } = opened;
  const closers: (() => Promise<void>)[] = [() => opened.close()];
  let listens = false;
  const close = async (): Promise<void> => {
    opened.stop();
    if (listens) await sleep(gateway.config.SHUTDOWN_DELAY_MS);
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const app = buildApp(gateway);
    const own = adminVerbs(gateway, store);
    const verbs = { ...own, ...commandVerbs(gateway, own) };
    const admin = await serveAdmin(gateway.config.DATA_DIR, verbs);
    closers.push(() => admin.close());
    const chores = startChores(gateway, options.logger);
    closers.push(() => chores.close());
    const scrubbing = startScrub(gateway.scrub, gateway, gateway.config.SCRUB);
    closers.push(() => scrubbing.close());
    const { uploads } = gateway;
    if (uploads !== null) {
      closers.push(() => uploads.close());
      await uploads.start();
    }
    const searching = gateway.search.start(gateway);
    closers.push(() => searching.close());
    const probe = startFsyncProbe(gateway.metrics, gateway.config.DATA_DIR, gateway);
    closers.push(() => probe.close());
    gateway.webhooks.start();
    closers.push(() => gateway.webhooks.close());
    const sweeper = setInterval(() => void sweep(gateway, options.logger), SWEEP_MS);
    closers.push(async () => clearInterval(sweeper));
    const headers = securityHeaderList(gateway.base_url.startsWith('https:'));
    const listening = await listen(gateway.config, app.callback(), headers);
    closers.push(() => listening.close());
    closers.push(() => Promise.resolve(gateway.events.close()));
    listens = true;
    // The last step, because keys that were stored but not shown would be lost.
    const first_keys = gateway.tenants.empty ? await gateway.tenants.issueFirst() : [];
    return { gateway, port: listening.port, first_keys, close };
  } catch (error) {
    await close();
    throw error;
  }
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
