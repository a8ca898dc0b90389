// Durable appends against what bounds them: signatures of one thread, and synced batches of the database
// alone. The unsigned log has a pool that answers with zeros: an aid of this bench, in no product.

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { join } from 'node:path';
import { Level } from 'level';
import { openThreads } from '../../log/index.ts';
import type { Draft, Log, SignPool, Threads } from '../../log/index.ts';
import {
  inFlight,
  openBenchLog,
  STATEMENT_BYTES,
  statements,
  temporaryFolder,
} from './bench-log.ts';
import { interleave, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';

const BATCH = 256;

/** Signed and unsigned appends. */
export const append: Bench = {
  name: 'append',
  run: async (options) => [...(await signed(options)), ...(await unsigned(options))],
};

async function signed(options: BenchOptions): Promise<Figure[]> {
  const folder = await temporaryFolder();
  const { log, close } = await openBenchLog(folder.path);
  try {
    const draft = await statements(log);
    const steal = stealMeter();
    const parts = await interleave(turnsOf(options), {
      appends: appends(log, draft, options),
      signatures: async () => signatures(options),
    });
    return [
      {
        name: 'append.signed',
        what: 'signed durable appends/s ÷ native Ed25519 signatures/s of one thread',
        unit: 'ratio',
        better: 'higher',
        at_least: 0.4,
        aim: 0.7,
        value: parts.appends / parts.signatures,
        parts,
        steal: steal(),
      },
    ];
  } finally {
    await close();
    await folder.remove();
  }
}

async function unsigned(options: BenchOptions): Promise<Figure[]> {
  const folder = await temporaryFolder();
  const { log, close } = await openBenchLog(folder.path, { threads: unsignedThreads() });
  const level = new Level<Uint8Array, Uint8Array>(join(folder.path, 'raw'), {
    keyEncoding: 'view',
    valueEncoding: 'view',
    compression: false,
  });
  try {
    const draft = await statements(log);
    const steal = stealMeter();
    const parts = await interleave(turnsOf(options), {
      appends: appends(log, draft, options),
      raw_puts: () => rawPuts(level, options),
    });
    return [
      {
        name: 'append.unsigned',
        what: 'unsigned durable appends/s ÷ single 600-byte puts/s in raw synced batches of 256',
        unit: 'ratio',
        better: 'higher',
        at_least: 0.3,
        aim: 0.5,
        value: parts.appends / parts.raw_puts,
        parts,
        steal: steal(),
      },
    ];
  } finally {
    await level.close();
    await close();
    await folder.remove();
  }
}

const turnsOf = ({ quick }: BenchOptions): number => (quick ? 3 : 7);

const appends =
  (log: Log, draft: () => Draft, { quick }: BenchOptions) =>
  (): Promise<number> =>
    inFlight(quick ? 10_000 : 30_000, () => log.append([draft()]));

function signatures({ quick }: BenchOptions): number {
  const { privateKey } = generateKeyPairSync('ed25519');
  const message = randomBytes(STATEMENT_BYTES);
  const count = quick ? 5_000 : 20_000;
  const start = performance.now();
  for (let i = 0; i < count; i += 1) sign(null, message, privateKey);
  return count / ((performance.now() - start) / 1000);
}

async function rawPuts(
  level: Level<Uint8Array, Uint8Array>,
  { quick }: BenchOptions,
): Promise<number> {
  const value = new Uint8Array(STATEMENT_BYTES);
  const batches = Array.from({ length: quick ? 40 : 160 }, () =>
    Array.from({ length: BATCH }, () => ({ type: 'put' as const, key: randomBytes(16), value })),
  );
  const start = performance.now();
  for (const batch of batches) await level.batch(batch, { sync: true });
  return (batches.length * BATCH) / ((performance.now() - start) / 1000);
}

function unsignedThreads(): Threads {
  const threads = openThreads();
  const zeros: SignPool = {
    addKey: () => undefined,
    signAll: async (_keyId, messages) => messages.map(() => new Uint8Array(64)),
    close: () => Promise.resolve(),
  };
  return { ...threads, sign: zeros };
}
