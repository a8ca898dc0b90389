// The configuration: one table of settings, each with its type, default and description; from it come
// validation, the typed Config and the table in tools/OPERATING.md. A value that is unknown or invalid refuses to start.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isJsonObject, parseJson } from '../log/index.ts';
import type { RegisterPlace } from '../log/index.ts';
import {
  address,
  integer,
  interval,
  list,
  networks,
  oneOf,
  text,
  type Setting,
} from './setting.ts';

/** An invalid setting; the message names it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const perMinute = (fallback: number, description: string): Setting<number> =>
  integer(fallback, 1, 10_000_000, description);

/** Every setting of the gateway, in the order of the table. Plugins add theirs (`Plugin.settings`). */
export const SETTINGS = {
  HOST: text(
    'host or address',
    '127.0.0.1',
    'Interface to listen on. The default is loopback only; `0.0.0.0` serves the network.',
  ),
  PORT: integer(8080, 0, 65_535, 'Port to listen on; 0 takes a free one.'),
  BASE_URL: address(
    '',
    'Public address of the service, in receipts and links. `http://localhost:<PORT>` when empty.',
  ),
  DATA_DIR: text(
    'folder',
    './data',
    'Folder of the logs, keys and tenants. One process at a time may use it.',
  ),
  LOG_ORIGIN: text(
    'host and path',
    '',
    'Prefix of the origins of new logs; the host of BASE_URL when empty. Fixed once a log exists.',
    // C2SP tlog-checkpoint: a URL without its scheme.
    /^(?!.*\/\/)[A-Za-z0-9][A-Za-z0-9.:/_-]{0,127}$/,
  ),
  CHECKPOINT_INTERVAL_MS: integer(
    1000,
    10,
    60_000,
    'How often a checkpoint is published while there are new entries.',
  ),
  CHECKPOINT_DIR: text(
    'folder',
    '',
    'Folder of the checkpoint register, preferably on another disk than DATA_DIR; it must not be restored with the database. A folder of its own for each data folder in `$XDG_STATE_HOME/actlog` (`~/.local/state/actlog`) when empty.',
  ),
  DATABASE_URL: text(
    'postgres address',
    '',
    'PostgreSQL database that holds the checkpoint register and the lease in place of CHECKPOINT_DIR (with CLUSTER=on: the whole sequence of writes), so that a cloned data folder cannot fork the log; `postgres://user:password@host/database`, one for each service.',
    /^postgres(ql)?:\/\/\S+$/,
  ),
  TILES_URL: text(
    's3 address',
    '',
    'Bucket that the logs are published to, `s3://bucket/prefix`: tiles, bundles and checkpoints as static files under `log/<kind>/<number>/`. Region and credentials are those of the `AWS_*` variables and files that the AWS SDK reads.',
    /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9!_.*'()-]+)*\/?$/,
  ),
  TILES_ENDPOINT: address(
    '',
    'Address of an S3-compatible service other than AWS; it is asked with the bucket in the path.',
  ),
  TILES_INTERVAL_MS: integer(
    1000,
    10,
    3_600_000,
    'How often a new checkpoint is looked for and published to TILES_URL.',
  ),
  CLUSTER: oneOf(
    ['off', 'on'],
    'Whether the process is a node of a cluster, whose nodes share one sequence of writes in the database of DATABASE_URL. It needs DATABASE_URL, ADVERTISE, BASE_URL and KEY_PASSPHRASE_FILE; all but ADVERTISE are the same on all nodes.',
  ),
  ADVERTISE: address('', 'Address at which the other nodes of the cluster reach this one.'),
  CLUSTER_SNAPSHOT_BYTES: integer(
    67_108_864,
    65_536,
    1_099_511_627_776,
    'Bytes of rounds after which the leader writes a snapshot to the database; at least as many as the last snapshot has.',
  ),
  WITNESS_POLICY: text(
    'file',
    '',
    'C2SP tlog-policy file: witnesses, groups and the quorum that a checkpoint needs to be published, of the logs that it names or of all.',
  ),
  CHECKPOINT_ML_DSA: oneOf(
    ['off', 'on'],
    'Sign checkpoints with ML-DSA-44 as well, beside Ed25519. The key follows from the checkpoint key.',
  ),
  WITNESS_FAIL_OPEN: oneOf(
    ['off', 'on'],
    'Publish checkpoints without the quorum rather than not at all; health says so.',
  ),
  WITNESS_TIMEOUT_MS: integer(2000, 10, 60_000, 'How long a witness may take to answer.'),
  KEY_PASSPHRASE_FILE: text(
    'file',
    '',
    'File with the passphrase of the private key files; they are not encrypted when empty.',
  ),
  SCRUB: interval(
    '1d',
    'How often the tables of all databases are compared with their checksums while they are served, at 8 MiB a second. Damage makes the service degraded.',
  ),
  ANONYMOUS_WRITES: oneOf(
    ['sandbox', 'deny', 'allow'],
    'Writes without a key, as tenant `public`: to the sandbox log, refused, or to the live log, where they are permanent.',
  ),
  RATE_LIMITS: oneOf(['on', 'off'], 'Switches all rate limits; `off` is for load tests.'),
  RATE_SANDBOX: perMinute(60, 'Requests a minute for each sandbox key.'),
  RATE_LIVE: perMinute(600, 'Requests a minute for each live key.'),
  RATE_ANONYMOUS_WRITES: perMinute(
    30,
    'Writes a minute without a key, for each IP address (IPv6: /64).',
  ),
  RATE_PUBLIC_READS: perMinute(600, 'Reads a minute without a key, for each IP address.'),
  RATE_LOG_READS: perMinute(
    60_000,
    'Reads a minute of checkpoints, tiles and bundles, for each IP address.',
  ),
  MAX_SESSION_READS: integer(
    2,
    1,
    1000,
    'Concurrent answers over a whole session for each key, or for each IP address without a key.',
  ),
  MAX_BODY_BYTES: integer(262_144, 1024, 16_777_216, 'Largest request body.'),
  MAX_BATCH_BYTES: integer(8_388_608, 1024, 67_108_864, 'Largest request body of a batch.'),
  MAX_MESSAGE_BYTES: integer(
    32_768,
    16,
    1_048_576,
    'Longest message that is classified, in UTF-8; a longer one is ERROR.',
  ),
  MAX_STRING_CHARS: integer(512, 64, 65_536, 'Longest identifier in a request.'),
  MAX_METADATA_BYTES: integer(
    65_536,
    1024,
    1_048_576,
    'Largest object of a caller, as canonical JSON.',
  ),
  MAX_JSON_DEPTH: integer(16, 4, 16, 'Deepest nesting of a request body.'),
  PAGE_DEFAULT: integer(20, 1, 100, 'Items of a page where the request names no limit.'),
  PAGE_MAX: integer(100, 1, 1000, 'Largest number of items of a page.'),
  MAX_CONNECTIONS: integer(10_000, 1, 1_000_000, 'Open connections; more are closed at once.'),
  HEADERS_TIMEOUT_MS: integer(
    10_000,
    100,
    600_000,
    'How long a client may take to send its headers.',
  ),
  REQUEST_TIMEOUT_MS: integer(
    30_000,
    100,
    600_000,
    'How long a client may take to send a whole request.',
  ),
  SEND_TIMEOUT_MS: integer(
    30_000,
    100,
    600_000,
    'How long a client may read nothing of a waiting answer.',
  ),
  SEND_BUFFER_BYTES: integer(
    67_108_864,
    1_048_576,
    17_179_869_184,
    'Total bytes of answers that wait for clients to read them. Beyond it, connections that read nothing are closed, the largest first.',
  ),
  KEEP_ALIVE_TIMEOUT_MS: integer(10_000, 100, 600_000, 'How long an idle connection stays open.'),
  SHUTDOWN_DELAY_MS: integer(
    0,
    0,
    600_000,
    'How long a stop goes on serving with /readyz at 503, so that a load balancer sends no more requests.',
  ),
  SHUTDOWN_TIMEOUT_MS: integer(10_000, 0, 600_000, 'How long a stop waits for requests in flight.'),
  IDEMPOTENCY_TTL_MS: integer(
    86_400_000,
    1000,
    31_536_000_000,
    'How long an Idempotency-Key is remembered after its request has completed.',
  ),
  TRUST_PROXY: integer(
    0,
    0,
    16,
    'Number of proxies in front of the service whose X-Forwarded-For is trusted.',
  ),
  EGRESS_ALLOW_HTTP: oneOf(
    ['off', 'on'],
    'Whether callers may name http addresses; for development.',
  ),
  EGRESS_NETWORKS: networks(
    'Private networks that addresses named by callers may nevertheless lead to, such as `10.1.0.0/16`.',
  ),
  WEBHOOKS: oneOf(
    ['on', 'off'],
    'Whether webhooks are delivered; with `off` they wait in the queue.',
  ),
  WEBHOOK_TIMEOUT_MS: integer(15_000, 50, 60_000, 'How long the receiver of a webhook may take.'),
  WEBHOOK_CONNECTIONS: integer(8, 1, 64, 'Concurrent webhook requests to one host.'),
  THREADS: oneOf(
    ['on', 'off'],
    'Signing, map folding and sending webhooks in threads of their own.',
  ),
  PLUGINS: list('Plugins beside the built-in ones, or in their places: paths or package names.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: address(
    '',
    'OTLP receiver (http) of a span for each request, at `/v1/traces` below it. Other `OTEL_*` variables, such as those of the sampler and of headers, hold too.',
  ),
  LOG_LEVEL: oneOf(
    ['info', 'trace', 'debug', 'warn', 'error', 'fatal', 'silent'],
    'Lowest level of the messages that are written to standard output.',
  ),
} as const;

/** The settings of the gateway, validated; members are named like the settings. */
export type Config = {
  readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never;
};

/**
 * The configuration, and the settings of its sources that the gateway does not know: those of plugins, which the host
 * checks.
 */
export interface ConfigSources {
  readonly config: Config;
  /** Members of the configuration file that no setting of the gateway has. */
  readonly rest: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads the configuration file (a JSON object by setting names, optional) and the environment, which takes precedence.
 * Relative paths become absolute. Throws `ConfigError`.
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  file?: string,
): ConfigSources {
  const given = file === undefined ? {} : readFile(file);
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const value = env[name] ?? given[name];
    values[name] =
      value === undefined || value === '' ? setting.fallback : parsed(name, setting, value);
  }
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !(name in SETTINGS)));
  const config = completed(values as unknown as Config);
  const given_default = (env['PAGE_DEFAULT'] ?? given['PAGE_DEFAULT'] ?? '') !== '';
  checkCluster(config);
  return { config: withPages(config, given_default), rest, env };
}

function parsed(name: string, setting: Setting<unknown>, value: string): unknown {
  try {
    return setting.parse(value);
  } catch (error) {
    throw new ConfigError(`${name} ${(error as Error).message}`);
  }
}

/** What a node of a cluster needs. */
const CLUSTER_NEEDS = ['DATABASE_URL', 'ADVERTISE', 'BASE_URL', 'KEY_PASSPHRASE_FILE'] as const;

function checkCluster(config: Config): void {
  if (config.CLUSTER === 'off') return;
  const missing = CLUSTER_NEEDS.filter((name) => config[name] === '');
  if (missing.length > 0) throw new ConfigError(`CLUSTER=on needs ${missing.join(' and ')}`);
}

/** Where the checkpoint register of the data folder is. */
export const registerPlace = (config: Config): RegisterPlace => ({
  data: config.DATA_DIR,
  database: config.DATABASE_URL,
  checkpoints: config.CHECKPOINT_DIR,
  witnessed: config.WITNESS_POLICY !== '',
});

/** A default page size over the maximum would make every request without a limit fail. */
function withPages(config: Config, given: boolean): Config {
  const { PAGE_DEFAULT, PAGE_MAX } = config;
  if (PAGE_DEFAULT <= PAGE_MAX) return config;
  if (!given) return { ...config, PAGE_DEFAULT: PAGE_MAX };
  throw new ConfigError(
    `PAGE_DEFAULT is ${String(PAGE_DEFAULT)} and more than PAGE_MAX, which is ${String(PAGE_MAX)}`,
  );
}

/** Defaults that depend on other settings. */
function completed(config: Config): Config {
  const data = resolve(config.DATA_DIR);
  const optional = (path: string): string => (path === '' ? '' : resolve(path));
  return {
    ...config,
    DATA_DIR: data,
    CHECKPOINT_DIR: optional(config.CHECKPOINT_DIR),
    KEY_PASSPHRASE_FILE: optional(config.KEY_PASSPHRASE_FILE),
    WITNESS_POLICY: optional(config.WITNESS_POLICY),
  };
}

function readFile(path: string): Record<string, string> {
  let value: unknown;
  try {
    value = parseJson(readFileSync(path));
  } catch (cause) {
    throw new ConfigError(
      `configuration file ${path} cannot be read: ${(cause as Error).message}`,
      { cause },
    );
  }
  if (!isJsonObject(value as never))
    throw new ConfigError(`configuration file ${path} must hold a JSON object`);
  const texts = Object.entries(value as Record<string, unknown>).map(([name, item]) => {
    if (typeof item !== 'string' && typeof item !== 'number') {
      throw new ConfigError(`${name} must be a string or a number`);
    }
    return [name, String(item)] as const;
  });
  return Object.fromEntries(texts);
}

/** A row of the settings table. */
export interface SettingRow {
  readonly name: string;
  readonly type: string;
  readonly standard: string;
  readonly description: string;
}

/** The settings as a Markdown table, for tools/OPERATING.md; `more` are those of plugins. */
export function configTable(more: readonly SettingRow[] = []): string {
  const own = Object.entries(SETTINGS).map(([name, setting]) => ({ name, ...setting }));
  const rows = [...own, ...more].map(({ name, type, standard, description }) => {
    const shown = standard === '' ? '' : `\`${standard}\``;
    return `| \`${name}\` | ${type} | ${shown} | ${description} |`;
  });
  return ['| setting | type | default | |', '|---|---|---|---|', ...rows].join('\n');
}
