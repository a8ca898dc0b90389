// The build: a fresh dist/ that mirrors the source folders, so that a path from one file to another
// is the same in both, and dist/static/verify.js, the offline verifier for browsers.

import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const folders = ['log', 'plugins', 'gateway', 'tools'];

rmSync(dist, { recursive: true, force: true });

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

// `platform: browser` makes any import of node:* an error, which is the point.
await build({
  absWorkingDir: root,
  entryPoints: ['log/verify.ts'],
  outfile: 'dist/static/verify.js',
  bundle: true,
  minify: true,
  sourcemap: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  legalComments: 'linked',
  logLevel: 'warning',
});

chmodSync(join(dist, 'tools', 'actlog.js'), 0o755);
