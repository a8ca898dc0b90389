// Links the simulation: the sources of the product, unchanged, against the simulated machine of world/ in place of
// node:fs, node:crypto, classic-level and the clocks and timers of Node.js. The result is one file, which runs as a
// process of its own, so that nothing of the simulation reaches other tests.

import { readFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const own = join(root, 'test', 'simulation');
const world = join(own, 'world');

/** The folders whose code runs on the simulated machine. */
const PRODUCT = ['log', 'gateway', 'plugins'].map((folder) => join(root, folder) + sep);

/** Caches of compiled schemas keep their size: to compile one again takes as long as some thousand completions. */
const COMPILED = ['gateway/http/validation.ts', 'log/rules/json-schema.ts'].map((file) =>
  join(root, file),
);

/** What an import of the product's code is linked to. */
const SIMULATED: Readonly<Record<string, string>> = {
  'node:fs': 'files-sync.ts',
  'node:fs/promises': 'files.ts',
  'node:crypto': 'crypto.ts',
  'node:timers/promises': 'timers.ts',
  'node:perf_hooks': 'timers.ts',
  'classic-level': 'level.ts',
  'lru-cache': 'small-cache.ts',
  jose: 'jose.ts',
  'prom-client': 'metrics.ts',
  undici: 'undici.ts',
  pg: 'postgres-client.ts',
};

/** What a node of a cluster imports of the gateway, and test/simulation/cluster-gateway.ts has in its place. */
const OF_GATEWAY = [
  'open.ts',
  'server.ts',
  'http/authenticate.ts',
  'http/listen.ts',
  'http/middleware.ts',
  'tenants/admin-socket.ts',
].map((file) => join(root, 'gateway', file));

const CLUSTER = join(root, 'gateway', 'cluster') + sep;

/** The file that an import of a file is linked to. */
const inPlace = (importer: string, file: string): string =>
  importer.startsWith(CLUSTER) && OF_GATEWAY.includes(file)
    ? join(own, 'cluster-gateway.ts')
    : file;

const GLOBALS: Readonly<Record<string, string>> = {
  setTimeout: 'simulatedTimeout',
  setInterval: 'simulatedInterval',
  clearTimeout: 'simulatedClear',
  clearInterval: 'simulatedClear',
  clearImmediate: 'simulatedClearImmediate',
  setImmediate: 'simulatedImmediate',
  'Date.now': 'simulatedNow',
  'Math.random': 'simulatedChance',
  'performance.now': 'simulatedMonotonic',
  'AbortSignal.timeout': 'simulatedDeadline',
};

/** A fault that is planted in the product: one text of a source file in place of another. */
export interface Replacement {
  /** Path of the file from the root of the repository. */
  readonly file: string;
  /** It occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
}

/**
 * Limits that only a long-running log reaches. They are made small, so that a run of some hundred entries evicts from
 * every cache, splits rounds, grows the records of the map and writes snapshots in several slices.
 */
const LIMITS: readonly Replacement[] = [
  limit('gateway/tenants/disclosures.ts', 'BLOCK = 2048', 'BLOCK = 4'),
  limit('log/cluster/replica.ts', 'KEPT = 512', 'KEPT = 64'),
  limit('log/cluster/replica.ts', 'PAGE = 64', 'PAGE = 6'),
  limit('log/cluster/snapshots.ts', 'PART_BYTES = 2 * 1024 * 1024', 'PART_BYTES = 2048'),
  limit('log/map/records.ts', 'CHUNK_SHIFT = 14', 'CHUNK_SHIFT = 4'),
  limit('log/map/snapshot.ts', 'SLICE_RECORDS = 8192', 'SLICE_RECORDS = 4'),
  limit('log/map/fold.ts', 'HASH_EARLY = 1024', 'HASH_EARLY = 8'),
  limit('log/write/catch-up.ts', 'CHUNK = 8192', 'CHUNK = 8'),
  limit('log/write/core.ts', 'READ_BYTES = 256 * 1024', 'READ_BYTES = 4096'),
  limit('log/write/core.ts', 'MOST_ENTRIES = 8192', 'MOST_ENTRIES = 16'),
  limit('log/write/engine.ts', 'SNAPSHOT_ENTRIES = 20_000', 'SNAPSHOT_ENTRIES = 20'),
  limit('log/write/rows.ts', 'REMEMBERED_BYTES = 16 * 1024 * 1024', 'REMEMBERED_BYTES = 1024'),
  limit('log/write/sequencer.ts', 'ROUND_ENTRIES = 128', 'ROUND_ENTRIES = 16'),
  limit('log/write/sequencer.ts', 'OVERLAP_GROUPS = 40', 'OVERLAP_GROUPS = 6'),
  limit('log/write/sequencer.ts', 'QUIET_GROUPS = 16', 'QUIET_GROUPS = 3'),
  limit('log/write/sequencer.ts', 'FEW_GROUPS = 64', 'FEW_GROUPS = 10'),
  limit('log/write/state.ts', 'REMEMBERED_TENANTS = 10_000', 'REMEMBERED_TENANTS = 2'),
];

/** The plugins of the simulated gateway; the other ones have no state that these do not have. */
const SERVED: Readonly<Record<string, string>> = {
  absence: './absence/index.ts',
  astl: './astl/index.ts',
  classify: './classify/index.ts',
  clear: './clear/index.ts',
  clearing: './clearing/index.ts',
  gate: './gate/index.ts',
  issuerPays: './issuer-pays/index.ts',
  pdtr: './pdtr/index.ts',
  relay: './relay/index.ts',
  restraint: './restraint/index.ts',
  silence: './silence/index.ts',
};

const LIST = `${Object.entries(SERVED)
  .map(([name, path]) => `import ${name} from '${path}';`)
  .join('\n')}
export { catalogUrl, readCatalog } from './contract/index.ts';
export const PLUGINS = [${Object.keys(SERVED).join(', ')}];
`;

function limit(file: string, from: string, to: string): Replacement {
  return { file, from: `const ${from};`, to: `const ${to};` };
}

/**
 * Writes the linked simulation to a file.
 *
 * @throws Error if a replaced text does not occur exactly once in its file
 */
export async function link(
  outfile: string,
  replacements: readonly Replacement[] = [],
): Promise<void> {
  await build({
    entryPoints: [join(own, 'child.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: [],
    logLevel: 'warning',
    sourcemap: 'inline',
    sourcesContent: false,
    define: GLOBALS,
    inject: [join(world, 'timers.ts')],
    plugins: [machine, planting([...LIMITS, ...replacements])],
  });
}

const machine: Plugin = {
  name: 'machine',
  setup({ onResolve, resolve: resolvePackage }) {
    onResolve({ filter: /./ }, async ({ kind, path, importer, resolveDir, pluginData }) => {
      if (kind === 'entry-point' || path.startsWith('/') || pluginData === machine)
        return undefined;
      if (path.startsWith('.')) return { path: inPlace(importer, resolve(resolveDir, path)) };
      // Linked, so that its timers are simulated too.
      if (path === 'pg-pool')
        return resolvePackage(path, { kind, resolveDir, pluginData: machine });
      if (path === 'events') return { path: join(world, 'events.ts') };
      if (importer.startsWith(CLUSTER) && /^node:https?$/u.test(path)) {
        return { path: join(world, 'http.ts') };
      }
      const simulated =
        PRODUCT.some((folder) => importer.startsWith(folder)) &&
        !(path === 'lru-cache' && COMPILED.includes(importer))
          ? SIMULATED[path]
          : undefined;
      if (simulated !== undefined) return { path: join(world, simulated) };
      if (path.startsWith('node:')) return { path, external: true };
      const found = await resolvePackage(path, { kind, resolveDir, pluginData: machine });
      return { path: pathToFileURL(found.path).href, external: true };
    });
  },
};

const planting = (replacements: readonly Replacement[]): Plugin => ({
  name: 'planting',
  setup({ onLoad }) {
    const files = new Map<string, Replacement[]>();
    for (const one of replacements) {
      const path = join(root, one.file);
      files.set(path, [...(files.get(path) ?? []), one]);
    }
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const own = files.get(path) ?? [];
      files.delete(path);
      let contents =
        path === join(root, 'plugins', 'index.ts') ? LIST : await readFile(path, 'utf8');
      // Each module finds the files beside it, though all are in one file.
      contents = contents.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
      for (const { file, from, to } of own) {
        if (contents.split(from).length !== 2) {
          throw new Error(`${file} does not have exactly once: ${from}`);
        }
        contents = contents.replace(from, () => to);
      }
      return { contents, loader: 'ts' };
    });
  },
});
