// Plugins as packages of the operator's folder, and promises that a plugin leaves without a handler.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

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

  it('is found from the folder of the operator, and does not end the process', async () => {
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
