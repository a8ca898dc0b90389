// The service against Koa alone, over 64 keep-alive connections: a classification with its durable receipt,
// an inclusion proof at a random index, a full tile.

import { builtLog } from './built-log.ts';
import { startBareKoa, startService } from './child.ts';
import type { ChildProgram } from './child.ts';
import { interleave, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';
import { againstEcho, headersOf } from './post.ts';
import type { Posted } from './post.ts';
import { rate } from './wire.ts';
import type { Shot } from './wire.ts';

const CLASSIFY: Posted = {
  ...{ name: 'http.classify', what: 'POST classify with a durable receipt' },
  path: '/api/v1/classify',
  body: JSON.stringify({ message: 'Schedule the interview for Monday', domain: 'hiring' }),
  ...{ at_least: 0.3, aim: 0.45, p99: { at_least: 80, aim: 40 } },
};
const TILE_BYTES = 8192;

/** POST classify, GET proof, GET tile. */
export const http: Bench = {
  name: 'http',
  run: async (options) => {
    const built = await builtLog({ entries: options.quick ? 20_000 : 1_000_000, keys: 'one each' });
    const started: ChildProgram[] = [];
    const start = async (starting: Promise<ChildProgram>): Promise<ChildProgram> => {
      const child = await starting;
      started.push(child);
      return child;
    };
    try {
      const bare = await start(startBareKoa());
      // The first answers of a process that has just started, before anything is in its caches.
      const fresh = await start(startService(built.path));
      const cold = await rate(proofs(fresh, built.entries, 2));
      await fresh.stop();
      const service = await start(startService(built.path));
      return [
        ...(await againstEcho({ service, bare, headers: headersOf(built.key) }, CLASSIFY, options)),
        ...(await reads(service, bare, built.entries, cold, options)),
      ];
    } finally {
      for (const child of started) await child.stop();
      await built.close();
    }
  },
};

async function reads(
  service: ChildProgram,
  bare: ChildProgram,
  entries: number,
  cold: number,
  options: BenchOptions,
): Promise<Figure[]> {
  const seconds = options.quick ? 2 : 5;
  await rate(proofs(service, entries, seconds)); // warm
  const steal = stealMeter();
  const parts = await interleave(options.quick ? 2 : 5, {
    proof: () => rate(proofs(service, entries, seconds)),
    tile: () => rate({ url: `${service.url}/log/live/1/tile/0/000`, seconds }),
    get: () => rate({ url: `${bare.url}/`, seconds }),
    get_8192_bytes: () => rate({ url: `${bare.url}/bytes/${String(TILE_BYTES)}`, seconds }),
  });
  const common = { steal: steal(), unit: 'ratio', better: 'higher' } as const;
  return [
    {
      ...common,
      name: 'http.proof',
      what: 'GET inclusion proof at a random index ÷ bare Koa GET, warm (cold: a process just started)',
      at_least: 0.3,
      aim: 0.5,
      value: parts.proof / parts.get,
      parts: { proof: parts.proof, proof_cold: cold, get: parts.get, entries },
    },
    {
      ...common,
      name: 'http.tile',
      what: 'GET full tile ÷ bare Koa GET',
      at_least: 0.6,
      aim: 0.9,
      value: parts.tile / parts.get,
      parts: { tile: parts.tile, get: parts.get, get_8192_bytes: parts.get_8192_bytes },
    },
  ];
}

/** Every request asks for another entry. */
const proofs = (service: ChildProgram, entries: number, seconds: number): Shot => ({
  ...{ url: service.url, seconds },
  path: () => `/log/live/1/proof/inclusion?index=${String(Math.floor(Math.random() * entries))}`,
});
