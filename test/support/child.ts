// Runs a TypeScript module of the tests as a child process. If the build is as new as the sources, esbuild bundles
// the module and its imports below test/ into one file, which imports the rest from the build; that starts in a third
// of the time that tsx needs to transpile everything. Without a build, tsx is used.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';
import { BUILT } from './actlog.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tests = join(root, 'test') + sep;

/** The bundles that `moduleOf` has made, by module. */
const made = new Map<string, Promise<string>>();
let folder: string | undefined;

/**
 * The arguments for `process.execPath` that run a module of the tests; the arguments of the module come after them.
 *
 * @param module its URL. Neither it nor its imports below test/ may use `import.meta`, which would be that of the
 * bundle.
 */
export async function childArgs(module: URL): Promise<readonly string[]> {
  const path = await moduleOf(module);
  return BUILT ? [path] : ['--import', import.meta.resolve('tsx'), path];
}

/**
 * The arguments that load a module of the tests before the program. None contains a space, so they can be in
 * NODE_OPTIONS.
 *
 * @param module as for `childArgs`
 */
export async function preloadArgs(module: URL): Promise<readonly string[]> {
  const url = pathToFileURL(await moduleOf(module)).href;
  return BUILT ? ['--import', url] : ['--import', import.meta.resolve('tsx'), '--import', url];
}

function moduleOf(module: URL): Promise<string> {
  const source = fileURLToPath(module);
  if (!BUILT) return Promise.resolve(source);
  let file = made.get(source);
  if (file === undefined) made.set(source, (file = joined(source)));
  return file;
}

async function joined(source: string): Promise<string> {
  if (folder === undefined) {
    const own = (folder = mkdtempSync(join(tmpdir(), 'actlog-child-')));
    process.on('exit', () => {
      rmSync(own, { recursive: true, force: true });
    });
  }
  const outfile = join(folder, `${relative(tests, source).replaceAll(sep, '-')}.mjs`);
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
    plugins: [fromBuild],
  });
  return outfile;
}

/** Keeps imports of the sources and of packages out of the bundle, with absolute URLs. */
const fromBuild: Plugin = {
  name: 'from-build',
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path, resolveDir }) => {
      if (kind === 'entry-point' || path.startsWith('node:')) return undefined;
      if (!path.startsWith('.')) return { path: import.meta.resolve(path), external: true };
      const target = resolve(resolveDir, path);
      if (target.startsWith(tests)) return undefined;
      const output = join(root, 'dist', relative(root, target).replace(/\.ts$/, '.js'));
      return { path: pathToFileURL(output).href, external: true };
    });
  },
};
