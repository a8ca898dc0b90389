// The service beside Tessera's POSIX log, the fastest log that a reader can build: both on the same disk and cores, by
// turns in one run. The Go module proxy gives Tessera's own conformance server, unchanged; without Go nothing is measured.
//
// The two do different work. Tessera sequences opaque leaves. The service authenticates, classifies, signs, indexes and
// commits, and its answer is a receipt. What they share is what a caller waits for: an answer about a durable entry.

import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { native } from '../../log/index.ts';
import { formatVkey, LOG_KEY } from '../../log/operate.ts';
import { temporaryFolder } from './bench-log.ts';
import { firstStart, freePort, startProgram, startService } from './child.ts';
import type { ChildProgram } from './child.ts';
import { interleave, median, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';
import { headersOf } from './post.ts';
import { fire } from './wire.ts';
import type { Fired, Shot } from './wire.ts';

const TESSERA = 'github.com/transparency-dev/tessera/cmd/conformance/posix';
const VERSION = 'v1.0.4';
/** Bytes of a leaf of Tessera: about the length of an entry of the service. */
const LEAF_BYTES = 900;
const BATCH_LINES = 100;
const BATCH_CONNECTIONS = 8;
/** Entries whose way into a checkpoint is timed, one at a time. */
const INTEGRATIONS = 5;

/** Appends of both logs, time to a checkpoint, bytes on disk and processor time of an entry. */
export const peers: Bench = {
  name: 'peers',
  run: async (options) => {
    const program = await builtTessera();
    return program === null ? [] : measured(program, options);
  },
};

/** The path of Tessera's server, built once and kept in the user's cache; null without Go or its module proxy. */
async function builtTessera(): Promise<string | null> {
  const cache = join(homedir(), '.cache', 'actlog');
  const program = join(cache, `tessera-posix-${VERSION}`);
  if (existsSync(program)) return program;
  await mkdir(cache, { recursive: true });
  const place = await mkdtemp(join(cache, 'building-'));
  try {
    const env = { ...process.env, GOBIN: place, GOTOOLCHAIN: 'local', GOFLAGS: '' };
    await promisify(execFile)('go', ['install', `${TESSERA}@${VERSION}`], { env });
    await rename(join(place, 'posix'), program);
    return program;
  } catch (error) {
    process.stderr.write(`peers: Tessera cannot be built: ${(error as Error).message}\n`);
    return null;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** One of the two logs: how an entry is posted, and where its checkpoint is. */
interface Side {
  readonly server: ChildProgram;
  readonly data: string;
  readonly checkpoint: string;
  readonly post: Pick<Shot, 'url' | 'method' | 'headers' | 'body'>;
}

async function measured(program: string, options: BenchOptions): Promise<Figure[]> {
  const folder = await temporaryFolder();
  const started: ChildProgram[] = [];
  try {
    const tessera = await startTessera(program, join(folder.path, 'tessera'));
    started.push(tessera.server);
    const actlog = await startActlog(join(folder.path, 'actlog'));
    started.push(actlog.server);
    return await compared(actlog, tessera, options);
  } finally {
    for (const child of started) await child.stop();
    await folder.remove();
  }
}

async function compared(actlog: Side, tessera: Side, { quick }: BenchOptions): Promise<Figure[]> {
  const seconds = quick ? 2 : 5;
  const p50 = { actlog: [] as number[], tessera: [] as number[] };
  const shoot = (side: Side, connections: number): Promise<Fired> =>
    fire({ ...side.post, connections, seconds });
  const few = (name: 'actlog' | 'tessera', side: Side) => async (): Promise<number> => {
    const fired = await shoot(side, 16);
    p50[name].push(fired.p50_ms);
    return fired.rate;
  };
  const many = (side: Side, connections: number) => async (): Promise<number> =>
    (await shoot(side, connections)).rate;
  const batch: Shot = {
    ...{ url: `${actlog.post.url}/batch`, method: 'POST', seconds, connections: BATCH_CONNECTIONS },
    headers: { ...actlog.post.headers, 'content-type': 'application/x-ndjson' },
    body: () => `${Array.from({ length: BATCH_LINES }, message).join('\n')}\n`,
  };
  await many(tessera, 256)(); // warm
  await many(actlog, 64)();
  const steal = stealMeter();
  const rates = await interleave(quick ? 2 : 5, {
    classify_16: few('actlog', actlog),
    tessera_16: few('tessera', tessera),
    classify_64: many(actlog, 64),
    tessera_64: many(tessera, 64),
    batched: async () => (await fire(batch)).rate * BATCH_LINES,
    tessera_256: many(tessera, 256),
  });
  const costs = {
    ...named('actlog', await cost(actlog, () => shoot(actlog, 64))),
    ...named('tessera', await cost(tessera, () => shoot(tessera, 256))),
    actlog_to_checkpoint_ms: await timeToCheckpoint(actlog),
    tessera_to_checkpoint_ms: await timeToCheckpoint(tessera),
  };
  const common = { steal: steal(), unit: 'ratio', better: 'higher' } as const;
  const medians = { actlog_ms: median(p50.actlog), tessera_ms: median(p50.tessera) };
  return [
    {
      ...{ ...common, name: 'peers.classify', at_least: 0.32, aim: 0.45, parts: rates },
      what: 'classify/s at 64 connections ÷ adds/s of Tessera POSIX at 256',
      value: rates.classify_64 / rates.tessera_256,
    },
    {
      ...{ ...common, name: 'peers.batched', at_least: 0.5, aim: 0.8, parts: {} },
      what: 'classify/s in batches of 100 lines at 8 connections ÷ adds/s of Tessera POSIX at 256',
      value: rates.batched / rates.tessera_256,
    },
    {
      ...{ ...common, name: 'peers.median', better: 'lower', at_least: 0.01, aim: 0.004 },
      what: 'median classify at 16 connections ÷ median add of Tessera POSIX at 16',
      value: medians.actlog_ms / medians.tessera_ms,
      parts: medians,
    },
    {
      ...{ ...common, name: 'peers.disk', unit: 'KB', better: 'lower', at_least: 1.9, aim: 1.5 },
      what: 'disk of an entry of classify, journal included',
      value: costs.actlog_bytes / 1000,
      parts: costs,
    },
  ];
}

const named = <Name extends string>(name: Name, { bytes, processor_us }: Cost) =>
  ({ [`${name}_bytes`]: bytes, [`${name}_processor_us`]: processor_us }) as Record<
    `${Name}_bytes` | `${Name}_processor_us`,
    number
  >;

/** What an entry costs: bytes on disk, and processor time of the server. */
interface Cost {
  readonly bytes: number;
  readonly processor_us: number;
}

async function cost(side: Side, shoot: () => Promise<unknown>): Promise<Cost> {
  const before = { size: await sizeAt(side), processor_s: side.server.processor_s() };
  await shoot();
  // The entries of the last moment are in the next checkpoint.
  await timeToCheckpoint(side, 1);
  const size = await sizeAt(side);
  const spent_s = side.server.processor_s() - before.processor_s;
  return {
    bytes: (await bytesIn(side.data)) / size,
    processor_us: (spent_s / (size - before.size)) * 1e6,
  };
}

/** Milliseconds from the request that appends an entry until a checkpoint has it: the median of some entries. */
async function timeToCheckpoint(side: Side, times = INTEGRATIONS): Promise<number> {
  const seen: number[] = [];
  for (let i = 0; i < times; i += 1) {
    const before = await sizeAt(side);
    const { url, method = 'POST', headers = {}, body } = side.post;
    const text = typeof body === 'function' ? body() : body;
    const asked = performance.now();
    const answer = await fetch(url, { method, headers, body: text ?? null });
    if (!answer.ok) throw new Error(`${url} answered ${String(answer.status)}`);
    await answer.arrayBuffer();
    while ((await sizeAt(side)) === before) await new Promise((resolve) => setTimeout(resolve, 5));
    seen.push(performance.now() - asked);
  }
  return median(seen);
}

/** The size of the newest checkpoint (C2SP tlog-checkpoint: its second line). */
async function sizeAt({ checkpoint }: Side): Promise<number> {
  const answer = await fetch(checkpoint);
  const [, size] = (await answer.text()).split('\n');
  return answer.ok ? Number(size) : 0;
}

/** Bytes of the blocks of all files below a folder. */
async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    // LevelDB deletes files while it runs.
    const found = await lstat(join(entry.parentPath, entry.name)).catch(() => null);
    bytes += (found?.blocks ?? 0) * 512;
  }
  return bytes;
}

const message = (): string =>
  JSON.stringify({ message: 'Schedule the interview for Monday', domain: 'hiring' });

async function startActlog(data: string): Promise<Side> {
  const key = await firstStart(data);
  const server = await startService(data);
  return {
    ...{ server, data, checkpoint: `${server.url}/log/live/checkpoint` },
    post: {
      url: `${server.url}/api/v1/classify`,
      ...{ method: 'POST', headers: headersOf(key), body: message() },
    },
  };
}

async function startTessera(program: string, data: string): Promise<Side> {
  await mkdir(data, { recursive: true });
  const key = join(data, '..', 'tessera.key');
  await writeFile(key, signerKey('bench.example/tessera'), { mode: 0o600 });
  const at = `127.0.0.1:${String(await freePort())}`;
  const args = [`--storage_dir=${data}`, `--listen=${at}`, `--private_key=${key}`];
  const url = `http://${at}`;
  const server = await startProgram(program, args, url);
  return {
    ...{ server, data, checkpoint: `${url}/checkpoint` },
    post: {
      url: `${url}/add`,
      ...{ method: 'POST', body: () => randomBytes(LEAF_BYTES / 2).toString('hex') },
    },
  };
}

/** A new signer key of Go's note package: `PRIVATE+KEY+<name>+<key id>+<base64 of 1 ‖ seed>`. */
function signerKey(name: string): string {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const vkey = formatVkey(native, name, LOG_KEY, Buffer.from(x, 'base64url'));
  const [, id = ''] = vkey.split('+');
  const seed = Buffer.from(d, 'base64url');
  const secret = Buffer.concat([Buffer.from([LOG_KEY]), seed]).toString('base64');
  return ['PRIVATE', 'KEY', name, id, secret].join('+');
}
