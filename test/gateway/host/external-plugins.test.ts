// Plugins as packages in the folder of the operator, error messages for those that cannot be loaded, and unhandled
// rejections in a plugin.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  externalPlugins,
  pluginIn,
  servedPlugins,
} from '../../../gateway/host/external-plugins.ts';
import { run } from '../running.ts';

const MAIN = fileURLToPath(new URL('../../../gateway/main.ts', import.meta.url));
const EXTERNAL = fileURLToPath(
  new URL('../../../gateway/host/external-plugins.ts', import.meta.url),
);
const TSX = import.meta.resolve('tsx');

const PLUGIN = `export default { contract: 2, name: 'careless', title: 'Careless', types: [],
  setup() { setImmediate(() => { void Promise.reject(new Error('left alone')); }); return {}; } };`;

const SCRIPT = `
import { externalPlugins } from ${JSON.stringify(EXTERNAL)};
import { openLogger, reportRejections } from ${JSON.stringify(MAIN)};
reportRejections(openLogger({ LOG_LEVEL: 'info' }, { write: (line) => process.stdout.write(line) }));
const [plugin] = await externalPlugins(['careless-plugin']);
plugin.setup();
setTimeout(() => console.log('goes on'), 50);
`;

describe('a plugin that is a package', function () {
  this.timeout(30_000);
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-external-'));
    const place = join(folder, 'node_modules', 'careless-plugin');
    await mkdir(place, { recursive: true });
    const manifest = { name: 'careless-plugin', type: 'module', exports: './index.js' };
    await writeFile(join(place, 'package.json'), JSON.stringify(manifest));
    await writeFile(join(place, 'index.js'), PLUGIN);
    await writeFile(join(folder, 'run.mjs'), SCRIPT);
  });
  after(() => rm(folder, { recursive: true }));

  it('is found from the folder of the operator, and an unhandled rejection in it does not end the process', async () => {
    const child = spawn(process.execPath, ['--import', TSX, 'run.mjs'], { cwd: folder });
    let text = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk as string;
    const [line = '', last] = text.trim().split('\n');
    const { plugin, err } = JSON.parse(line) as { plugin: string; err: { message: string } };
    assert.equal(plugin, 'careless');
    assert.equal(err.message, 'left alone');
    assert.equal(last, 'goes on');
  });
});

describe('PLUGINS', () => {
  let folder: string;
  let before_: string;

  /** Writes a package into the folder of the operator; its plugin has the name of the package. */
  async function packed(name: string, manifest: object, file = 'index.js'): Promise<void> {
    const place = join(folder, 'node_modules', name);
    await mkdir(join(place, 'dist'), { recursive: true });
    await writeFile(join(place, 'package.json'), JSON.stringify({ name, ...manifest }));
    await writeFile(join(place, file), PLUGIN.replace('careless', name));
  }

  before(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'actlog-resolved-')));
    before_ = process.cwd();
    process.chdir(folder);
  });
  after(async () => {
    process.chdir(before_);
    await rm(folder, { recursive: true });
  });

  const named = async (name: string) => (await externalPlugins([name]))[0]?.name;

  it('finds packages that export for import alone, by a main, and by a folder', async () => {
    const type = 'module';
    await packed('imported', { type, exports: { import: './dist/a.js' } }, 'dist/a.js');
    await packed('main-only', { type, main: 'dist/b.js' }, 'dist/b.js');
    assert.equal(await named('imported'), 'imported');
    assert.equal(await named('main-only'), 'main-only');
    assert.equal(await named('./node_modules/imported'), 'imported');
    assert.equal(await named(join(folder, 'node_modules/main-only')), 'main-only');
    const at = (file: string) => `Error: x\n    at f (${join(folder, file)}:1:1)`;
    assert.equal(pluginIn(at('node_modules/imported/lib/deep.js')), 'imported');
    assert.equal(pluginIn(at('node_modules/imported/node_modules/other/a.js')), null);
    assert.equal(pluginIn(at('node_modules/another/a.js')), null);
  });

  it('reports in one line what is missing', async () => {
    await packed('unbuilt', { type: 'module', exports: './dist/index.js' });
    await packed('private-only', { type: 'module', exports: { './other': './index.js' } });
    const faults: readonly (readonly [string, RegExp])[] = [
      ['nowhere', /^PLUGINS: there is no package nowhere in .* or beside actlog: install it there/],
      ['nowhere', /"npm install nowhere", or name a file by a path that begins with \.\/$/],
      ['./nowhere.js', /^PLUGINS: \.\/nowhere\.js cannot be loaded: no file .*nowhere\.js$/],
      ['unbuilt', /^PLUGINS: unbuilt cannot be loaded: Cannot find module '.*dist\/index\.js'/],
      ['private-only', /^PLUGINS: private-only cannot be loaded: No "exports" main defined/],
      ['./node_modules', /^PLUGINS: \.\/node_modules cannot be loaded: Cannot find module/],
    ];
    for (const [name, reason] of faults) {
      await assert.rejects(externalPlugins([name]), (error: Error) => {
        assert.match(error.message, reason);
        assert.equal(error.name, 'ConfigError');
        return true;
      });
    }
  });

  it('may name a plugin that takes the place of a built-in one', async () => {
    await packed('stack', { type: 'module', exports: './index.js' });
    const plugins = await servedPlugins(['stack']);
    assert.equal(plugins.filter(({ name }) => name === 'stack').length, 1);
    const lines: string[] = [];
    const running = await run({ PLUGINS: './node_modules/stack' }, { lines: (l) => lines.push(l) });
    assert.equal((await running.get('/api/v1/stack/catalog')).status, 404);
    await running.close();
    assert.match(
      lines.join(''),
      /"plugin":"stack","msg":"a plugin takes the place of the built-in/,
    );
  });
});
