// The plugin that plugins/GUIDE.md shows passes the contract suite unchanged.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AnyPlugin } from '../../plugins/contract/index.ts';
import { pluginContract } from '../../tools/plugin-test/index.ts';

const guide = await readFile(new URL('../../plugins/GUIDE.md', import.meta.url), 'utf8');
const shown = /^import \{ asSchema, definePlugin.*?(?=^```$)/ms.exec(guide)?.[0];
assert.ok(shown !== undefined, 'plugins/GUIDE.md shows a plugin');

pluginContract(await pluginOf(shown), {
  bodies: { '/notes': () => Promise.resolve({ topic: 'contract', text: 'hello' }) },
});

/** The plugin of a module that imports the sources instead of the package. */
async function pluginOf(source: string): Promise<AnyPlugin> {
  const folder = await mkdtemp(join(tmpdir(), 'actlog-guide-'));
  try {
    const file = join(folder, 'notes.mjs');
    const contract = new URL('../../plugins/contract/index.ts', import.meta.url).href;
    const text = source
      .replace("'actlog/plugin'", `'${contract}'`)
      .replace("'typebox'", `'${import.meta.resolve('typebox')}'`);
    await writeFile(file, text);
    return ((await import(pathToFileURL(file).href)) as { default: AnyPlugin }).default;
  } finally {
    await rm(folder, { recursive: true });
  }
}
