// The build: a fresh dist/ that mirrors the source folders, so that a path from one file to another
// is the same in both, and for browsers dist/static/verify.js, the offline verifier, and dist/static/kit.js.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { minify } from 'terser';
import { buildOf } from './bench/program.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const folders = ['log', 'plugins', 'gateway', 'tools'];

// Before the tests: processes that they start from dist/ need half of the time that tsx needs.
if (process.argv.includes('--if-older') && buildOf('tools/actlog') !== null) process.exit();

const { clientTypes } = await import('./client-types.ts');
rmSync(dist, { recursive: true, force: true });

writeFileSync(join(root, 'tools/clients/typescript/paths.ts'), await clientTypes());

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const compiled = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
});
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

// What is not code: templates, style sheets. The catalogs are read where they lie.
for (const folder of folders) {
  cpSync(join(root, folder), join(dist, folder), {
    recursive: true,
    filter: (path) => !/\.(ts|md)$/.test(path),
  });
}

/**
 * One ES module for browsers. esbuild joins what it imports (`platform: browser` makes any import of node:* an
 * error, which is the point), terser makes it small.
 */
async function bundle(file: string, contents: string): Promise<void> {
  const joined = await build({
    absWorkingDir: root,
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'inline',
    minifySyntax: true,
    logLevel: 'warning',
  });
  const { code = '' } = await minify(joined.outputFiles[0]?.text ?? '', {
    module: true,
    ecma: 2020,
    compress: { passes: 5, unsafe: true, pure_getters: true, unsafe_arrows: true },
  });
  mkdirSync(dirname(join(dist, file)), { recursive: true });
  writeFileSync(join(dist, file), code);
}

const fromVerify = (names: readonly string[]): string =>
  `export { ${names.join(', ')} } from './log/verify.ts';`;

await bundle(
  'static/verify.js',
  fromVerify([
    'LogError',
    'openEntry',
    'trustedKeyOf',
    'verifyAbsence',
    'verifyCheckpoint',
    'verifyConsistency',
    'verifyReceipt',
    'verifySignature',
    'verifyTlogProof',
  ]),
);
// Whom to trust is read once, and may be pinned in the page: apart, so that the verifier stays small.
await bundle('static/kit.js', fromVerify(['parsePolicy', 'trustFromKit']));

/** Bundles each script of a folder of pages: `log.ts` becomes `log-page.js` in the folder `to` of dist/. */
async function bundleScripts(folder: string, to: string): Promise<void> {
  if (!existsSync(join(root, folder))) return;
  for (const name of readdirSync(join(root, folder))) {
    if (!name.endsWith('.ts')) continue;
    await bundle(
      join(to, name.replace(/\.ts$/, '-page.js')),
      `export * from './${folder}/${name}';`,
    );
  }
}
await bundleScripts('gateway/pages/scripts', 'static');
for (const plugin of readdirSync(join(root, 'plugins'))) {
  await bundleScripts(`plugins/${plugin}/pages`, `plugins/${plugin}/pages`);
}
cpSync(join(root, 'node_modules/uplot/dist/uPlot.min.css'), join(dist, 'static', 'uplot.css'));

chmodSync(join(dist, 'tools', 'actlog.js'), 0o755);
