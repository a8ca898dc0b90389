// Opens the parts of the gateway: stores, threads, logs, plugins. It does not listen, so that administration without a
// server uses the same function.

import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import {
  encryptKeyFiles,
  isLogError,
  LOG_KINDS,
  LogError,
  logNumbers,
  makeFolder,
  openLog,
  openRegister,
  openThreads,
  readEntry,
  receiptOf,
  removeLeftovers,
  systemTime,
} from '../log/index.ts';
import type { Kind, Log, Register, Threads, TimeSource } from '../log/index.ts';
import { reasonsOf, sentencesOf } from '../plugins/contract/index.ts';
import type { AnyPlugin, Route } from '../plugins/contract/index.ts';
import { carryOver } from './carry.ts';
import { GATEWAY_COPY } from './cluster/joining.ts';
import type { Membership } from './cluster/cluster.ts';
import { secretRows } from './cluster/secret-rows.ts';
import { registerPlace } from './config.ts';
import type { Config, ConfigSources } from './config.ts';
import { observeDisk, timedStore } from './disk.ts';
import { openEgress } from './egress/egress.ts';
import { EventFeed } from './events.ts';
import type { Resolve } from './egress/names.ts';
import type { Gateway } from './gateway.ts';
import { orderPlugins, setUpPlugins } from './host/host.ts';
import { catalogsOf } from './host/plugin-catalogs.ts';
import { pluginSettings } from './host/plugin-settings.ts';
import { Problems } from './http/problems.ts';
import type { Plugged } from './host/plugged.ts';
import { passphraseOf } from './passphrase.ts';
import { visitorRoutes } from './host/visitors.ts';
import { KeyFiles } from './host/key-files.ts';
import { LoopWatch, reportsBlocks } from './host/loop-watch.ts';
import { PluginKeys } from './host/plugin-keys.ts';
import {
  observeLogs,
  observeScrub,
  observeCluster,
  observeUploads,
  observeWebhooks,
  observeWitnesses,
  openMetrics,
} from './metrics.ts';
import { checkedElsewhere, replacedIn, servedPlugins } from './host/external-plugins.ts';
import { erasureRoutes } from './routes/erasure.ts';
import { batchRoute } from './http/batch-route.ts';
import { GATEWAY_TYPES, gatewayRoutes } from './routes/index.ts';
import { KitCache } from './routes/kit.ts';
import { Scrub } from './scrub.ts';
import { SearchIndex } from './search.ts';
import type { ScrubbedDatabase } from './scrub.ts';
import { StaticFiles } from './pages/statics.ts';
import { uploadsOf } from './tiles/uploads.ts';
import { Counters } from './tenants/counters.ts';
import { Disclosures } from './tenants/disclosures.ts';
import { finishErasures } from './tenants/erase.ts';
import { openGatewayStore, openSharedStore } from './tenants/store.ts';
import type { GatewayStore } from './tenants/store.ts';
import { Tenants } from './tenants/tenants.ts';
import { openTracing } from './tracing.ts';
import { SecretBox, WEBHOOK_SECRETS } from './webhooks/secret-box.ts';
import { Subscriptions } from './webhooks/subscriptions.ts';
import { queueDepth } from './webhooks/depth.ts';
import { WEBHOOK_KEYS, Webhooks } from './webhooks/webhooks.ts';
import { openViews } from './pages/views.ts';
import type { PageFrame } from './pages/views.ts';
import { WitnessNetwork } from './witnesses/witness-network.ts';

/** Options of a start; tests set the time, the resolver and the plugins. */
export interface OpenOptions {
  readonly logger: Logger;
  readonly time?: TimeSource;
  /** Finds the addresses of names that come with requests. */
  readonly resolve?: Resolve;
  /** Whether to open logs whose tenants are lost and make new first keys, which must be requested. */
  readonly new_keys?: boolean;
  /** Plugins in addition to those of PLUGINS and the built-in ones. A plugin replaces the built-in one of its name. */
  readonly plugins?: readonly AnyPlugin[];
  /** What a node of a cluster opens the gateway on. */
  readonly member?: Membership;
  /** Threads that the caller closes; without them, the gateway starts its own. */
  readonly threads?: Threads;
}

/** An open gateway and the function that closes it. Nothing acknowledged is lost. */
export interface OpenedGateway {
  readonly gateway: Gateway;
  readonly store: GatewayStore;
  /** Makes `gateway.stopping()` true. `close` calls it too. */
  stop(): void;
  close(): Promise<void>;
}

/** Opens a gateway on its data folder. If a step fails, everything that was opened is closed. */
export async function openGateway(
  sources: ConfigSources,
  options: OpenOptions,
): Promise<OpenedGateway> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    opened?.stop();
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  let opened: Omit<OpenedGateway, 'close'> | undefined;
  try {
    opened = await open(sources, options, closers);
    return { ...opened, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(
  sources: ConfigSources,
  options: OpenOptions,
  closers: (() => Promise<void>)[],
): Promise<Omit<OpenedGateway, 'close'>> {
  const { config } = sources;
  const time = options.time ?? systemTime;
  const now = (): number => time.wall();
  const started = time.monotonic();
  const plugins = orderPlugins(await servedPlugins(config.PLUGINS, options.plugins));
  for (const plugin of replacedIn(plugins)) {
    options.logger.warn({ plugin }, 'a plugin takes the place of the built-in one of its name');
  }
  const witnesses = WitnessNetwork.open(config, now, options.logger);
  await makeFolder(config.DATA_DIR, 0o700);
  await chmod(config.DATA_DIR, 0o700);

  const { member } = options;
  const follows = member?.view.role === 'follower';
  const register = member?.register ?? (await ownRegister(config, options.logger, closers));
  const store = await (member === undefined
    ? openGatewayStore(join(config.DATA_DIR, 'gateway'), register)
    : openSharedStore(member.rows, (key) => member.rowChanged(key)));
  closers.push(() => store.close());
  const [keyFolder, passphrase] = [join(config.DATA_DIR, 'keys'), passphraseOf(config)];
  // After the folder is locked and before anything reads the keys.
  await removeLeftovers(keyFolder);
  const encrypted = passphrase === undefined ? [] : await encryptKeyFiles(keyFolder, passphrase);
  if (encrypted.length > 0) {
    const told =
      'private key files are encrypted with scrypt from now on; copies of them are as before';
    options.logger.warn({ files: encrypted }, told);
  }
  const counters = new Counters(store, (error) => {
    options.logger.warn({ err: error }, 'counts are kept in memory until the disk takes them');
  });
  closers.push(() => counters.close());
  const disclosures =
    member === undefined
      ? await Disclosures.open(join(config.DATA_DIR, 'private'), register)
      : new Disclosures(secretRows(member.secrets));
  closers.push(() => disclosures.close());
  const threads = options.threads ?? openThreads({ inline: config.THREADS === 'off' });
  if (options.threads === undefined) closers.push(() => threads.close());

  const base_url = baseUrl(config);
  const metrics = openMetrics();
  const loop = new LoopWatch(reportsBlocks(options.logger, metrics));
  const types = [
    ...GATEWAY_TYPES,
    ...plugins.flatMap((plugin) => loop.watched(plugin.name, plugin.types)),
  ];
  const served = { live: [] as Log[], sandbox: [] as Log[] };
  for (const kind of LOG_KINDS) {
    const there = member?.numbers(kind) ?? numbers(config.DATA_DIR, kind);
    for (const number of there) {
      const replica = member?.replica(kind, number);
      replica?.timeCommits((seconds) => metrics.commit(kind, seconds));
      const opening = openLog({
        ...logOptions(config, base_url, time, threads),
        register,
        kind,
        number,
        has_successor: number !== there.at(-1),
        types,
        store: timedStore(metrics, kind),
        ...(member === undefined || replica === undefined
          ? {}
          : { replica, onKeyFile: () => member.shareKeys() }),
        ...(witnesses === null ? {} : { cosign: witnesses.cosign(kind, number, threads.notes) }),
        judgeClock: (offer, last_ms) => {
          const ahead_ms = now() - last_ms;
          if (ahead_ms > LONG_STOP_MS) {
            options.logger.warn({ origin: offer.origin, ahead_ms }, LONG_STOP);
          }
          return witnesses?.aheadMs(kind, number, offer) ?? Promise.resolve(null);
        },
      });
      const log = await (number === there.at(-1)
        ? opening
        : opening.catch((error: unknown) => skipLost(options.logger, error)));
      if (log === null) continue;
      closers.push(() => log.close());
      served[kind].push(log);
    }
  }
  if (options.new_keys !== true) await checkTenants(store, [...served.live, ...served.sandbox]);
  const tenants = await Tenants.load(store, now);
  for (const log of [...served.live, ...served.sandbox]) tellOfLostKey(options.logger, log);
  witnesses?.check([...served.live, ...served.sandbox]);
  const logs = { live: newest(served.live), sandbox: newest(served.sandbox) };
  for (const log of Object.values(logs)) await log.declare(types);

  const search = await SearchIndex.open(
    join(config.DATA_DIR, 'search'),
    [...served.live, ...served.sandbox],
    options.logger,
  );
  closers.push(() => search.close());
  const egress = openEgress({
    allow_http: config.EGRESS_ALLOW_HTTP === 'on',
    networks: config.EGRESS_NETWORKS,
    thread: config.THREADS === 'on',
    timeout_ms: config.WEBHOOK_TIMEOUT_MS,
    connections: config.WEBHOOK_CONNECTIONS,
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
  });
  closers.push(() => egress.close());
  const { OTEL_EXPORTER_OTLP_ENDPOINT: receiver } = config;
  const tracing = receiver === '' ? null : await openTracing(receiver, options.logger);
  if (tracing !== null) closers.push(() => tracing.close());
  observeLogs(metrics, Object.values(logs), now);
  if (witnesses !== null) observeWitnesses(metrics, Object.values(logs), witnesses);
  const databases = (): readonly ScrubbedDatabase[] => {
    const folder = (name: string) => ({ name, folder: join(config.DATA_DIR, name) });
    const ofLogs = [...served.live, ...served.sandbox].map((log) => ({
      ...folder(join(log.kind, String(log.number), 'db')),
      damaged: () => log.health().damaged,
    }));
    if (member !== undefined) {
      return [...ofLogs, { ...folder(join(GATEWAY_COPY, 'db')), damaged: store.damaged }];
    }
    return [
      ...ofLogs,
      { ...folder('gateway'), damaged: store.damaged },
      { ...folder('private'), damaged: () => disclosures.damaged },
    ];
  };
  const scrub = new Scrub(databases, { now, logger: options.logger });
  observeScrub(metrics, scrub);
  observeDisk(metrics, config.DATA_DIR, databases);
  observeWebhooks(metrics, () =>
    Promise.all(Object.values(logs).map((log) => queueDepth(log, now()))),
  );
  const uploads = uploadsOf(config, {
    logs: () => [...served.live, ...served.sandbox],
    kit: () => gateway.kit(),
    now,
    logger: options.logger,
  });
  if (uploads !== null) observeUploads(metrics, uploads);
  if (member !== undefined) observeCluster(metrics, member.view);
  const declaring = [WEBHOOK_KEYS, ...plugins];
  const changed = member === undefined ? undefined : () => member.shareKeys();
  const keyFiles = await KeyFiles.open(keyFolder, { passphrase, used: store, changed });
  // What is sealed was sealed with this file, also by a release that did not remember key files.
  if (store.subscriptions.size > 0) await keyFiles.remember([WEBHOOK_SECRETS]);
  const settings = pluginSettings(plugins, sources);
  const keys = await PluginKeys.open(declaring, keyFiles, threads.sign, settings);
  const box = await SecretBox.open(keyFiles);
  const subscriptions = new Subscriptions(store, box, now);
  const statics = new StaticFiles();
  const frame: PageFrame = {
    base_url,
    style: () => statics.get('style.css')?.bytes.toString() ?? '',
    asset: (name) => addressOf(name, statics.get(name)?.sha256),
    menu: () => plugged.menu,
  };
  const routes: Route[] = [];
  const receipt: Gateway['receipt'] = (log, index, opened) =>
    receiptAt(base_url, log, index, opened);
  const { logger } = options;
  let stopping = false;
  const webhooks = new Webhooks(
    { base_url, config, disclosures, egress, logger, metrics, now, receipt, served },
    subscriptions,
    plugins.flatMap(({ events = [] }) => events),
    keys,
  );
  const sentence = sentencesOf(types);
  const events = new EventFeed(Object.values(logs), sentence);
  closers.push(async () => events.close());
  const gateway: Gateway = {
    config,
    register,
    base_url,
    logs,
    served,
    tenants,
    disclosures,
    keys,
    counters,
    cluster: member?.view ?? null,
    witnesses,
    egress,
    webhooks,
    metrics,
    events,
    search,
    scrub,
    tracing,
    uploads,
    kit: () => kits.current(),
    logger,
    statics,
    page: openViews(frame),
    viewsOf: (folder) => openViews(frame, folder),
    checkedElsewhere: checkedElsewhere(plugins),
    plugged: () => plugged,
    stopping: () => stopping,
    loop,
    uptimeMs: () => time.monotonic() - started,
    now,
    catalog: catalogsOf(plugins),
    receipt,
    routes: () => routes,
    problems: new Problems(plugins.flatMap(({ errors = {} }) => Object.values(errors))),
    types,
    sentence,
    reasons: reasonsOf(types),
  };
  const kits = new KitCache(gateway, statics.get('verify.js') ?? null);
  if (!follows) await carryOver(gateway, plugins);
  const plugged: Plugged = setUpPlugins(plugins, gateway, settings);
  const single = [...gatewayRoutes(gateway), ...erasureRoutes(gateway), ...plugged.routes];
  const own = single.flatMap((route) =>
    route.batch === true ? [route, batchRoute(route, config.MAX_BATCH_BYTES)] : [route],
  );
  routes.push(...own, ...visitorRoutes(own, plugged.visitorRoutes));
  if (!follows) await finishErasures(gateway);
  return { gateway, store, stop: () => (stopping = true) };
}

/** The register of a service of one process. */
async function ownRegister(
  config: Config,
  logger: Logger,
  closers: (() => Promise<void>)[],
): Promise<Register> {
  const { register, notices } = await openRegister(registerPlace(config));
  closers.push(() => register.close());
  for (const { level, text } of notices) logger[level](text);
  return register;
}

/** The address of a static file; with its hash, so that caches may keep it for ever. */
function addressOf(name: string, sha256: string | undefined): string {
  return sha256 === undefined ? `/static/${name}` : `/static/${name}?v=${sha256.slice(0, 16)}`;
}

function receiptAt(
  base_url: string,
  log: Log,
  index: number,
  opened: Parameters<Gateway['receipt']>[2],
): ReturnType<Gateway['receipt']> {
  const text = log.entry(index);
  if (text === null) return null;
  const { statement, signature } = readEntry(text);
  const entry_id = statement['entry_id'] as string;
  const entry = { statement, signature, index, entry_id, leaf_hash: log.leafHash(index) };
  return receiptOf(entry, { base_url, sandbox: log.kind === 'sandbox' }, opened);
}

/** A running log gets an entry at least every ten minutes. */
const LONG_STOP_MS = 3_600_000;

const LONG_STOP =
  'the wall clock is more than an hour after the last entry: that is right if the service was stopped for so long. ' +
  'Otherwise stop it and set the clock, since the times of entries cannot be taken back';

/** The intact parts are served: reads and proofs of this log, and the other logs. */
function tellOfLostKey(logger: Logger, log: Log): void {
  const { lost_key, reason } = log.health();
  if (lost_key === null) return;
  logger.error({ origin: log.origin, lost_key, reason }, 'a log is served read-only');
}

/**
 * A log that was lost and has a successor (log/FORMAT.md §5) is not served, and its end is in the successor's first
 * entry: the database is behind the register, or both its checkpoint key and its verifier key are missing.
 */
function skipLost(logger: Logger, error: unknown): null {
  const lost = isLogError(error) && ['log_rolled_back', 'key_lost'].includes(error.code);
  if (!lost) throw error;
  logger.warn({ reason: error.message }, 'a lost log is not served, its successor is');
  return null;
}

/**
 * Refuses a gateway's database without tenants beside a log that has some: a start would take it for a first one, and
 * issue keys of new tenants.
 */
async function checkTenants(store: GatewayStore, logs: readonly Log[]): Promise<void> {
  if (store.tenants.size > 0) return;
  for (const log of logs) {
    if (!(await log.hasTenants())) continue;
    throw new LogError(
      'log_rolled_back',
      `${log.origin} has entries of tenants, and the folder gateway/ of the data folder has none: their API keys and ` +
        'subscriptions are lost, and a start would take it for a new one. Restore the folder from a backup, or make ' +
        'first keys on purpose: "actlog keys first --new-keys"',
    );
  }
}

/** The logs of a kind that are there, oldest first; a new data folder gets the first. */
function numbers(data: string, kind: Kind): number[] {
  const there = logNumbers(data, kind);
  return there.length === 0 ? [1] : there;
}

function newest(logs: readonly Log[]): Log {
  const last = logs.at(-1);
  if (last === undefined) throw new Error('a kind has at least one log');
  return last;
}

function baseUrl(config: Config): string {
  return config.BASE_URL === '' ? `http://localhost:${String(config.PORT)}` : config.BASE_URL;
}

function logOptions(config: Config, base_url: string, time: TimeSource, threads: Threads) {
  const passphrase = passphraseOf(config);
  return {
    data: config.DATA_DIR,
    origin_base: config.LOG_ORIGIN === '' ? new URL(base_url).host : config.LOG_ORIGIN,
    origin_fixed: config.LOG_ORIGIN !== '',
    checkpoint_interval_ms: config.CHECKPOINT_INTERVAL_MS,
    ml_dsa: config.CHECKPOINT_ML_DSA === 'on',
    time,
    threads,
    ...(passphrase === undefined ? {} : { passphrase }),
  };
}
