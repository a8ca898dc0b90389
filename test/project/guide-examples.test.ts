// The shell examples of the documents run as shown, against a service, one after the other, in one shell. The test
// sets only the address of the service, its key, and the path of the programs.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { run } from '../gateway/running.ts';
import { ACTLOG } from '../support/actlog.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Each document with the heading of its first example to run. */
const DOCUMENTS: readonly (readonly [document: string, first: string])[] = [
  ['README.md', '## First receipt'],
  ['gateway/API.md', '# The HTTP interface'],
];

/** `npx actlog` runs the command line of this repository; `curl` fails if the service answers with an error. */
const PROGRAMS: Readonly<Record<string, string>> = {
  npx: `shift; exec "${[process.execPath, ...ACTLOG].join('" "')}" "$@"`,
  curl: 'PATH=${PATH#*:} exec curl --fail-with-body "$@"',
};

/** The shell blocks of a document after a heading, without the line that sets address and key. */
async function examplesOf(document: string, first: string): Promise<string> {
  const text = await readFile(`${root}${document}`, 'utf8');
  const from = text.slice(text.indexOf(first));
  const blocks = [...from.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  assert.ok(blocks.length > 1, document);
  return blocks.join('\n').replace(/^export BASE=.*\n/gm, '');
}

describe('the shell examples', () => {
  for (const [document, first] of DOCUMENTS) {
    it(`of ${document} run as shown`, async function () {
      this.timeout(120_000);
      const examples = await examplesOf(document, first);
      const folder = await mkdtemp(join(tmpdir(), 'actlog-examples-'));
      const running = await run({ BASE_URL: '', LOG_ORIGIN: '' });
      try {
        for (const [name, line] of Object.entries(PROGRAMS)) {
          await writeFile(join(folder, name), `#!/bin/sh\n${line}\n`);
          await chmod(join(folder, name), 0o755);
        }
        await writeFile(join(folder, 'examples.sh'), `set -eu\n${examples}`);
        const env = {
          ...process.env,
          PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}`,
          BASE: running.url,
          KEY: running.live,
        };
        const shell = promisify(execFile)('sh', ['-x', 'examples.sh'], { cwd: folder, env });
        await shell.catch((error: unknown) => {
          const { stdout = '', stderr = '' } = error as Partial<Record<string, string>>;
          assert.fail(`${stdout.slice(-2000)}\n${stderr.slice(-2000)}`);
        });
      } finally {
        await running.close();
        await rm(folder, { recursive: true });
      }
    });
  }
});
