// The packed tarball. A built-in layer copied out of the repository, the examples of test/examples, and the package
// that `actlog create-plugin` writes build against the tarball with only its exports and dependencies, and pass the
// published suite under node:test. So does a program that uses the client. With only the dependencies of the package,
// `npx actlog` runs the MCP examples of tools/AGENTS.md.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
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
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startProcess } from '../e2e/process.ts';
import type { ServerProcess } from '../e2e/process.ts';
import type { Body } from '../support/body.ts';
import { freePort } from '../support/free-port.ts';
import { guideExample } from '../support/guide-examples.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const GUIDE = readFileSync(join(root, 'tools/AGENTS.md'), 'utf8');

/** A layer that requires no other plugin, as the contract suite of the repository runs it. */
const LAYERS = ['astl'];
/** Packages of test/examples. */
const EXAMPLES = ['consent', 'signal'];
const PACKAGES = [...LAYERS, ...EXAMPLES];

/** The exports that need no peer dependency. */
const EXPORTS = [
  ...['actlog', 'actlog/verify', 'actlog/client', 'actlog/plugin', 'actlog/plugin-page'],
  ...['actlog/plugin-test', 'actlog/require-receipt'],
];

const tsc = join(root, 'node_modules/typescript/bin/tsc');

/** The environment of started programs, without the variables of the test runner. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS, NODE_TEST_CONTEXT, ...env } = process.env;
  return env;
}

function ran(
  command: string,
  args: readonly string[],
  cwd: string,
  variables: NodeJS.ProcessEnv = process.env,
): string {
  const { NODE_OPTIONS, NODE_TEST_CONTEXT, ...env } = variables;
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

/** The packages that `npm install --omit=dev` brings, with optional ones. */
function ownDependencies(): readonly string[] {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { dev?: boolean; devOptional?: boolean; peer?: boolean }>>;
  };
  return Object.entries(lock.packages)
    .filter(([, { dev, devOptional, peer }]) => ![dev, devOptional, peer].includes(true))
    .map(([path]) => path.split('node_modules/'))
    .flatMap(([, name, nested]) => (name === undefined || nested !== undefined ? [] : [name]));
}

/** Installs the tarball and these packages of the repository without a network. */
function install(tarball: string, folder: string, names: readonly string[]): void {
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'actlog'), { recursive: true });
  mkdirSync(join(modules, '.bin'));
  for (const name of names) {
    if (!existsSync(join(root, 'node_modules', name))) continue; // an optional package for another system
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  ran('tar', ['-xzf', tarball, '--strip-components=1', '-C', join(modules, 'actlog')], folder);
  symlinkSync('../actlog/dist/tools/actlog.js', join(modules, '.bin/actlog'));
}

/** Copies a layer as a package; only import specifiers are changed. */
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

/** Copies an example, which is a package. */
function copyExample(example: string, folder: string): void {
  cpSync(join(root, 'test/examples', example), join(folder, example), { recursive: true });
}

/** What the suite needs for the routes of an example, as source text. */
const optionsOf = (example: string): string =>
  example !== 'consent'
    ? '{}'
    : `{ bodies: { '/consent/withdrawals': async (running) => {
         const body = { purpose: 'contract', subject: 'p' };
         const granted = await running.post('/consent/grants', body, { key: running.sandbox });
         return { grant_id: granted.json.entry_id };
       } } }`;

describe('the packed tarball (skipped until `npm run build` has made dist/)', function () {
  this.timeout(180_000);
  let place = '';
  let tarball = '';

  before(function () {
    if (!existsSync(join(root, 'dist/tools/plugin-test/index.js'))) this.skip();
    place = mkdtempSync(join(tmpdir(), 'actlog-packed-'));
    // Other tests read dist/, so packing does not build again.
    const packed = ran(
      'npm',
      ['pack', '--ignore-scripts', '--json', '--pack-destination', place],
      root,
    );
    const [{ filename = '' } = {}] = JSON.parse(packed) as { filename?: string }[];
    tarball = join(place, filename);
  });
  after(() => {
    if (place !== '') rmSync(place, { recursive: true });
  });

  describe('and layers as separate packages', () => {
    let folder = '';
    before(() => {
      folder = join(place, 'layers');
      install(tarball, folder, ownDependencies());
    });

    it('build against the tarball', () => {
      for (const layer of LAYERS) copyLayer(layer, folder);
      for (const example of EXAMPLES) copyExample(example, folder);
      mkdirSync(join(folder, 'program'));
      writeFileSync(join(folder, 'program/program.mts'), PROGRAM);
      const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
        compilerOptions: { readonly paths?: unknown };
      };
      // The paths of the repository resolve to its sources.
      const { paths: _, ...options } = compilerOptions;
      const own = { noEmit: false, rootDir: '.', outDir: 'out', types: ['node'] };
      const include = [...PACKAGES.map((name) => `${name}/src`), 'program'];
      const config = { compilerOptions: { ...options, ...own }, include };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
      ran(process.execPath, [tsc, '-p', folder], folder);
      for (const layer of PACKAGES) {
        cpSync(join(folder, 'out', layer, 'src'), join(folder, layer, 'dist'), { recursive: true });
      }
    });

    it('include a client that is typed and needs no other package', () => {
      const said = ran(process.execPath, [join(folder, 'out/program/program.mjs')], folder);
      assert.equal(said, 'not reached\n');
    });

    it('pass the published suite', () => {
      const tests = PACKAGES.map((layer) => {
        const path = join(folder, layer, 'contract.test.mjs');
        const source =
          `import { pluginContract } from 'actlog/plugin-test';\n` +
          `import plugin from './dist/index.js';\npluginContract(plugin, ${optionsOf(layer)});\n`;
        writeFileSync(path, source);
        return path;
      });
      const report = ran(process.execPath, ['--test', '--test-reporter=tap', ...tests], folder);
      assert.match(report, /^# fail 0$/m);
      const passed = Number(/^# pass (\d+)$/m.exec(report)?.[1]);
      assert.ok(passed >= 2 * PACKAGES.length, report);
      for (const layer of PACKAGES) assert.match(report, new RegExp(`the contract of ${layer}`));
    });

    describe('that `actlog create-plugin` writes', () => {
      const actlog = (...args: string[]) =>
        spawnSync(
          process.execPath,
          [join(folder, 'node_modules/actlog/dist/tools/actlog.js'), ...args],
          {
            cwd: folder,
            env: environment(),
            encoding: 'utf8',
          },
        );

      it('build, with types for all exports in what actlog depends on, and pass their tests', () => {
        const { status, stdout, stderr } = actlog('create-plugin', 'risk-notes');
        assert.equal(status, 0, stderr);
        assert.match(stdout, /cd risk-notes && npm install/);
        const place = join(folder, 'risk-notes');
        const manifest = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as {
          readonly scripts: Readonly<Record<string, string>>;
          readonly devDependencies: Readonly<Record<string, string>>;
        };
        assert.equal(manifest.devDependencies['actlog'], '^0.1.0');
        assert.equal(manifest.scripts['test'], 'tsc && node --test dist/*.test.js');
        // Every declaration file is checked, and finds only packages that `npm install actlog` installs.
        const source = EXPORTS.map((name, i) => `export * as e${i} from '${name}';\n`).join('');
        writeFileSync(join(place, 'src/all.ts'), source);
        ran(process.execPath, [tsc, '--skipLibCheck', 'false', '--preserveSymlinks'], place);
        const report = ran(
          process.execPath,
          ['--test', '--test-reporter=tap', 'dist/index.test.js'],
          place,
        );
        assert.match(report, /^# fail 0$/m);
        assert.match(report, /the contract of risk-notes/);
        assert.match(report, /gives the text of a note to its caller, and not to the log/);
        const lines = readFileSync(join(place, 'README.md'), 'utf8').split('\n');
        assert.ok(lines.length <= 40, 'its README is short');
      });

      it('can be served with PLUGINS', async () => {
        const place = join(folder, 'risk-notes');
        const program = join(folder, 'node_modules/actlog/dist/tools/actlog.js');
        const settings = { PLUGINS: '.', PORT: '0', DATA_DIR: join(folder, 'data') };
        const server = spawn(process.execPath, [program, 'serve'], {
          cwd: place,
          env: { ...environment(), ...settings },
        });
        try {
          let text = '';
          for await (const chunk of server.stdout.setEncoding('utf8')) {
            text += chunk as string;
            if (text.includes("-d '")) break;
          }
          const [, key = ''] = /^sandbox key: (\S+)$/m.exec(text) ?? [];
          const [, url = ''] = /^actlog serves (\S+) on/m.exec(text) ?? [];
          const answer = await fetch(`${url}/risk-notes/notes`, {
            method: 'POST',
            headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
            body: JSON.stringify({ topic: 'served', text: 'hello' }),
          });
          const receipt = (await answer.json()) as Readonly<Record<string, unknown>>;
          assert.equal(answer.status, 200, JSON.stringify(receipt));
          assert.equal(receipt['type'], 'risk-notes.note.v1');
        } finally {
          server.kill('SIGKILL');
          await once(server, 'exit');
        }
      });

      it('must have a free name; otherwise the command prints the reason in one line', () => {
        for (const [name, reason] of [
          ['Risk', /^actlog: the name of a plugin is 1 to 40 lower-case .*: "Risk" is not\n$/],
          ['../risk', /^actlog: the name of a plugin .*: "\.\.\/risk" is not\n$/],
          ['gate', /^actlog: gate is a name of actlog itself: choose another one\n$/],
          ['log', /^actlog: log is a name of actlog itself/],
          [
            'risk-notes',
            /^actlog: there is a risk-notes in this folder already: nothing was written\n$/,
          ],
        ] as const) {
          const { status, stdout, stderr } = actlog('create-plugin', name);
          assert.deepEqual([status, stdout], [1, '']);
          assert.match(stderr, reason);
        }
        assert.equal(actlog('create-plugin').status, 2);
      });
    });
  });

  describe('and the guide for MCP', () => {
    let folder = '';
    let service: ServerProcess;
    let env: Record<string, string> = {};
    before(async () => {
      folder = join(place, 'agents');
      const filesystem = '@modelcontextprotocol/server-filesystem';
      install(tarball, folder, [...ownDependencies(), filesystem]);
      symlinkSync(
        `../${filesystem}/dist/index.js`,
        join(folder, 'node_modules/.bin/mcp-server-filesystem'),
      );
      writeFileSync(join(folder, 'package.json'), '{"private": true}');
      const program = [join(folder, 'node_modules/actlog/dist/tools/actlog.js')];
      const data = join(folder, 'data');
      const settings = { CHECKPOINT_DIR: join(folder, 'checkpoints'), BASE_URL: '' };
      service = await startProcess(data, settings, program);
      env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' };
      env = { ...env, ACTLOG_URL: service.url, DATA_DIR: data };
      const keys = ran('sh', ['-euc', guideExample('keys')], folder, env).match(/svc_live_\w+/g);
      const [ACTLOG_KEY = '', OPERATOR_KEY = ''] = keys ?? [];
      env = { ...env, ACTLOG_KEY, OPERATOR_KEY };
    });
    after(async () => {
      await (service as ServerProcess | undefined)?.stop();
    });
    const call = async (
      client: Client,
      name: string,
      args: Record<string, unknown>,
    ): Promise<Body> => client.callTool({ name, arguments: args });

    it('runs `npx actlog mcp-proxy` from the configuration of a client', async () => {
      ran('sh', ['-euc', guideExample('mcp-policy')], folder, env);
      const { mcpServers } = JSON.parse(guideExample('mcp-proxy'));
      const { command, args, env: own } = mcpServers.files;
      assert.deepEqual(Object.keys(own as object).sort(), [
        'ACTLOG_ENTITY',
        'ACTLOG_KEY',
        'ACTLOG_URL',
      ]);
      const client = new Client({ name: 'test', version: '1.0.0' });
      await client.connect(
        new StdioClientTransport({
          ...{ command, args, cwd: folder, stderr: 'ignore' },
          env: { ...own, ...env },
        }),
      );
      const listed = await call(client, 'list_directory', { path: folder });
      assert.match(listed.content[0].text, /node_modules/);
      assert.equal(listed._meta['dev.actlog/call'].outcome, 'PERMIT');
      const file = join(folder, 'written');
      const held = await call(client, 'write_file', { path: file, content: 'x' });
      assert.equal(held._meta['dev.actlog/refusal'].outcome, 'HOLD', held.content[0].text);
      assert.equal(existsSync(file), false);
      const silent = await call(client, 'create_directory', { path: file });
      assert.equal(silent._meta['dev.actlog/refusal'].outcome, 'SILENCE');
      await client.close();
    });

    it('runs `npx actlog mcp`', async () => {
      const port = String(await freePort());
      const example = guideExample('mcp').replace('8090', port);
      const shell = spawn('sh', ['-euc', example], { cwd: folder, env, detached: true });
      const ended = once(shell, 'exit');
      try {
        for await (const line of createInterface(shell.stderr)) if (line.includes(port)) break;
        const client = new Client({ name: 'test', version: '1.0.0' });
        const url = new URL(`http://127.0.0.1:${port}/mcp`);
        await client.connect(new StreamableHTTPClientTransport(url));
        const { tools } = await client.listTools();
        for (const { name } of tools) assert.ok(GUIDE.includes(`\`${name}\``), name);
        const asked = await call(client, 'ask_gate', { action_type: 'mcp.list_directory' });
        assert.equal(asked.structuredContent.outcome, 'PERMIT');
        await client.close();
      } finally {
        process.kill(-(shell.pid ?? 0), 'SIGKILL');
        await ended;
      }
    });
  });
});
