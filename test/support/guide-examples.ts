// The examples of tools/AGENTS.md for the tests that run them: the code block after `<!-- example: NAME -->`.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const GUIDE = readFileSync(new URL('../../tools/AGENTS.md', import.meta.url), 'utf8');

/** The code of an example; throws if the guide has no such mark. */
export function guideExample(name: string): string {
  const mark = `<!-- example: ${name} -->\n\n\`\`\``;
  const start = GUIDE.indexOf(mark);
  assert.ok(start >= 0, `tools/AGENTS.md has no example ${name}`);
  const code = GUIDE.slice(GUIDE.indexOf('\n', start + mark.length) + 1);
  return code.slice(0, code.indexOf('\n```') + 1);
}
