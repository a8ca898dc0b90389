// Two built-in layers, copied out of the repository as packages of their own, build against the packed tarball with
// nothing but what it exports, and pass the published suite under node:test. So does a program that uses the client.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Layers that require no other plugin, as the contract suite of the repository runs them. */
const LAYERS = ['astl', 'relay'];

function ran(command: string, args: readonly string[], cwd: string): string {
  const { NODE_OPTIONS, NODE_TEST_CONTEXT, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`);
  return stdout;
}

/** A program whose types and imports are those of a user of the client. */
const PROGRAM = `
import { Client, ConnectionFailed } from 'actlog/client';

const client = new Client('http://127.0.0.1:1', { retries: 0 });
const outcomeOf = async (): Promise<'PERMIT' | 'HOLD' | 'DENY' | 'SILENCE'> =>
  (await client.gate({ action_type: 'payment.release', agent_id: 'agent:treasury' })).outcome;
await outcomeOf().catch((error: unknown) => {
  if (!ConnectionFailed.is(error)) throw error;
  console.log('not reached');
});
`;

/** Installs the tarball without a network: its dependencies are those of the repository. */
function install(tarball: string, folder: string): void {
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'actlog'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name.startsWith('.') || name === 'actlog') continue;
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  ran('tar', ['-xzf', tarball, '--strip-components=1', '-C', join(modules, 'actlog')], folder);
}

/** Copies a layer as a package; of its sources only the specifiers change that a package has to spell otherwise. */
function copyLayer(layer: string, folder: string): void {
  const target = join(folder, layer);
  cpSync(join(root, 'plugins', layer), join(target, 'src'), { recursive: true });
  for (const file of readdirSync(join(target, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    const path = join(target, 'src', file);
    const text = readFileSync(path, 'utf8')
      .replaceAll(/'(?:\.\.\/)+contract\/index\.ts'/g, "'actlog/plugin'")
      .replaceAll(/'(?:\.\.\/)+log\/(?:verify|cose\/portable)\.ts'/g, "'actlog/verify'");
    writeFileSync(path, text);
  }
  const manifest = { name: `actlog-${layer}`, version: '1.0.0', type: 'module' };
  writeFileSync(join(target, 'package.json'), JSON.stringify(manifest));
  cpSync(join(target, 'src'), join(target, 'dist'), {
    recursive: true,
    filter: (path) => !path.endsWith('.ts'),
  });
}

describe('layers as packages of their own (skipped until `npm run build` has made dist/)', function () {
  this.timeout(180_000);
  let folder = '';

  before(function () {
    if (!existsSync(join(root, 'dist/tools/plugin-test/index.js'))) this.skip();
    folder = mkdtempSync(join(tmpdir(), 'actlog-packed-'));
    // dist/ is what the tests of the build look at too: packing does not build again.
    const packed = ran(
      'npm',
      ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
      root,
    );
    const [{ filename = '' } = {}] = JSON.parse(packed) as { filename?: string }[];
    install(join(folder, filename), folder);
  });
  after(() => {
    if (folder !== '') rmSync(folder, { recursive: true });
  });

  it('build against the tarball', () => {
    for (const layer of LAYERS) copyLayer(layer, folder);
    mkdirSync(join(folder, 'program'));
    writeFileSync(join(folder, 'program/program.mts'), PROGRAM);
    const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
      compilerOptions: object;
    };
    const own = { noEmit: false, rootDir: '.', outDir: 'out', types: ['node'] };
    const include = [...LAYERS.map((layer) => `${layer}/src`), 'program'];
    const config = { compilerOptions: { ...compilerOptions, ...own }, include };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    ran(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], folder);
    for (const layer of LAYERS) {
      cpSync(join(folder, 'out', layer, 'src'), join(folder, layer, 'dist'), { recursive: true });
    }
  });

  it('include a client that is typed and needs nothing else', () => {
    const said = ran(process.execPath, [join(folder, 'out/program/program.mjs')], folder);
    assert.equal(said, 'not reached\n');
  });

  it('pass the published suite', () => {
    const tests = LAYERS.map((layer) => {
      const path = join(folder, layer, 'contract.test.mjs');
      const source =
        `import { pluginContract } from 'actlog/plugin-test';\n` +
        `import plugin from './dist/index.js';\npluginContract(plugin);\n`;
      writeFileSync(path, source);
      return path;
    });
    const report = ran(process.execPath, ['--test', '--test-reporter=tap', ...tests], folder);
    assert.match(report, /^# fail 0$/m);
    const passed = Number(/^# pass (\d+)$/m.exec(report)?.[1]);
    assert.ok(passed >= 2 * LAYERS.length, report);
    for (const layer of LAYERS) assert.match(report, new RegExp(`the contract of ${layer}`));
  });
});
