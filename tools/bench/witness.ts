// Absence: how long the log takes to make a witness document in a large map, how large its proof is, what its
// check costs, and the witness over HTTP, with its own durable receipt, against Koa alone.

import { manifestHash, native } from '../../log/index.ts';
import type { JsonObject, Log } from '../../log/index.ts';
import { openBenchLog, TENANT } from './bench-log.ts';
import { builtLog } from './built-log.ts';
import type { BuiltLog } from './built-log.ts';
import { startBareKoa, startService } from './child.ts';
import { interleave, median, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';
import { offline, witnessed } from './offline.ts';
import { rate } from './wire.ts';
import type { Shot } from './wire.ts';

const ENTITY = 'bench:witnessed';
const SURFACES = ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8'];
const RUNS = 1000;

/** Witness documents, and witnesses over HTTP. */
export const witness: Bench = {
  name: 'witness',
  run: async (options) => {
    const built = await builtLog({ entries: options.quick ? 20_000 : 1_000_000, keys: 'one each' });
    try {
      return [...(await documents(built)), ...(await overHttp(built, options))];
    } finally {
      await built.close();
    }
  },
};

async function documents(built: BuiltLog): Promise<Figure[]> {
  const { log, close } = await openBenchLog(built.path);
  try {
    const window = await declared(log);
    const ask = (surface: string): Promise<JsonObject> =>
      log.absence({ key: ['surface', ENTITY, surface], ...window });
    const steal = stealMeter();
    const started = performance.now();
    const document = await ask('quiet');
    const first_ms = performance.now() - started;
    if (document['verdict'] !== 'ABSENT') throw new Error('the document is not ABSENT');
    const times: number[] = [];
    for (let n = 0; n < 2 * RUNS; n += 1) {
      const before = performance.now();
      await ask(SURFACES[n % SURFACES.length] ?? 'quiet');
      if (n >= RUNS) times.push(performance.now() - before);
    }
    const seen = witnessed(log, document);
    const cosigned = JSON.parse(seen.text) as JsonObject;
    const { question, verdict, checkpoint, map_head, proof } = cosigned;
    const bytes = JSON.stringify({ question, verdict, checkpoint, map_head, proof }).length;
    const keys = log.health().keys_in_map;
    const common = { steal: steal(), better: 'lower' } as const;
    return [
      {
        ...common,
        name: 'witness.document',
        what: 'making a witness document, median, warm (cold: the first of a log just opened)',
        unit: 'ms',
        at_least: 0.2,
        aim: 0.2,
        value: median(times),
        parts: { cold_ms: first_ms, keys },
      },
      {
        ...common,
        name: 'witness.bytes',
        what: 'a document from question to proof with three cosignatures',
        unit: 'KB',
        at_least: 3.5,
        aim: 3.5,
        value: bytes / 1000,
        parts: { bytes, with_declaration_and_coverage: seen.text.length },
      },
      ...(await offline(seen)),
    ];
  } finally {
    await close();
  }
}

/** Declares surfaces and beats on one; answers with a closed window after that. */
async function declared(log: Log): Promise<{ from_ms: number; to_ms: number }> {
  const append = (type: string, members: JsonObject): Promise<unknown> =>
    log.append([{ type, tenant_ref: TENANT, members }]);
  const manifest = { entity: ENTITY, surfaces: ['quiet', ...SURFACES], valid_from_ms: 0 };
  await append('astl.entity.v1', { entity: ENTITY, action: 'claim' });
  const surface_manifest_hash = manifestHash(native, manifest);
  await append('astl.manifest.v1', { ...manifest, surface_manifest_hash });
  const { map_head_ms: from_ms } = await log.whenPublished(log.size() + 1);
  const { map_head_ms: to_ms } = await log.whenPublished(log.size() + 1);
  return { from_ms, to_ms };
}

async function overHttp(built: BuiltLog, options: BenchOptions): Promise<Figure[]> {
  const service = await startService(built.path);
  const bare = await startBareKoa();
  try {
    const headers = { 'content-type': 'application/json', 'x-api-key': built.key };
    const post = (path: string, body: object): Promise<Response> =>
      fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const entity = `bench:${String(Date.now())}`;
    const published = await post('/api/v1/astl/publish', { entity, surfaces: ['quiet'] });
    const { receipt } = (await published.json()) as { receipt: { issued_at_ms: number } };
    const from_ms = receipt.issued_at_ms + 1;
    const body = { entity, surface: 'quiet', from_ms, to_ms: from_ms + 1 };
    const waited = { ...headers, prefer: 'wait=10' };
    const first = await fetch(`${service.url}/api/v1/absence/witness`, {
      ...{ method: 'POST', headers: waited, body: JSON.stringify(body) },
    });
    const { witness: document } = (await first.json()) as { witness?: { verdict: string } };
    if (document?.verdict !== 'ABSENT') throw new Error('the witness is not ABSENT');
    const seconds = options.quick ? 2 : 6;
    const asked = (url: string): Shot => ({
      ...{ url, seconds, method: 'POST', headers, body: JSON.stringify(body) },
    });
    const witnesses = (): Promise<number> => rate(asked(`${service.url}/api/v1/absence/witness`));
    await witnesses(); // warm
    const steal = stealMeter();
    const parts = await interleave(options.quick ? 2 : 5, {
      witness: witnesses,
      echo: () => rate(asked(`${bare.url}/echo`)),
    });
    return [
      {
        name: 'witness.http',
        what: 'witness with its own durable receipt ÷ bare Koa JSON echo, 64 connections',
        unit: 'ratio',
        better: 'higher',
        at_least: 0.2,
        aim: 0.35,
        value: parts.witness / parts.echo,
        parts,
        steal: steal(),
      },
    ];
  } finally {
    await bare.stop();
    await service.stop();
  }
}
