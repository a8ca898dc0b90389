// Writes the table of settings into README.md, from the declarations of gateway and plugins.

import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'prettier';
import { configTable } from '../gateway/config.ts';
import { pluginSettingRows } from '../gateway/plugin-settings.ts';
import { PLUGINS } from '../plugins/index.ts';

const README = new URL('../README.md', import.meta.url);
const START = '<!-- settings -->';
const END = '<!-- /settings -->';

/** README.md as it should be: the table between its two marks is that of the code. */
export async function readmeText(): Promise<string> {
  const text = readFileSync(README, 'utf8');
  const start = text.indexOf(START);
  const end = text.indexOf(END);
  if (start < 0 || end < start) throw new Error('README.md has no marks for the settings');
  const table = configTable(pluginSettingRows(PLUGINS));
  const whole = `${text.slice(0, start + START.length)}\n\n${table}\n\n${text.slice(end)}`;
  return format(whole, { parser: 'markdown', printWidth: 100, singleQuote: true });
}

if (process.argv[1]?.endsWith('readme.ts') === true) writeFileSync(README, await readmeText());
