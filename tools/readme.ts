// Writes the table of settings into tools/OPERATING.md, from the declarations of gateway and plugins.

import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'prettier';
import { configTable } from '../gateway/config.ts';
import { pluginSettingRows } from '../gateway/plugin-settings.ts';
import { PLUGINS } from '../plugins/index.ts';

const GUIDE = new URL('OPERATING.md', import.meta.url);
const START = '<!-- settings -->';
const END = '<!-- /settings -->';

/** tools/OPERATING.md as it should be: the table between its two marks is generated from the code. */
export async function operatingText(): Promise<string> {
  const text = readFileSync(GUIDE, 'utf8');
  const start = text.indexOf(START);
  const end = text.indexOf(END);
  if (start < 0 || end < start) throw new Error('tools/OPERATING.md lacks the marks of the table');
  const table = configTable(pluginSettingRows(PLUGINS));
  const whole = `${text.slice(0, start + START.length)}\n\n${table}\n\n${text.slice(end)}`;
  return format(whole, { parser: 'markdown', printWidth: 100, singleQuote: true });
}

if (process.argv[1]?.endsWith('readme.ts') === true) writeFileSync(GUIDE, await operatingText());
