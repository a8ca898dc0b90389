// Runs third-party tools on the OpenAPI document of a running service: schemathesis sends requests that the document
// allows and forbids, and openapi-python-client generates a client, which then calls the service.
//
//   ACTLOG_PYTHON=<a Python with schemathesis and openapi-python-client> npm run test:openapi

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';

const PYTHON = process.env['ACTLOG_PYTHON'] ?? '';
const HERE = dirname(fileURLToPath(import.meta.url));

/** The checks: no server error, and only the statuses, content types, headers and answers that the document has. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];

/** Content types and protocols for which the generator makes no code. */
const NOT_JSON = /Unsupported content_type|Endpoint will not be generated/;

/** Runs a program of the Python installation; prints its output if it fails. */
function program(name: string, args: readonly string[], cwd: string): Promise<string> {
  const bin = dirname(PYTHON);
  const PATH = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
  const child = spawn(join(bin, name), [...args], { cwd, env: { ...process.env, PATH } });
  return new Promise((resolve, reject) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${name} ended with ${String(code)}:\n${output}`));
    });
  });
}

/** Sends every operation allowed and forbidden requests, the same in each run. */
async function fuzz({ url, sandbox }: Running, folder: string): Promise<void> {
  const output = await program(
    'schemathesis',
    [
      ...['--config-file', join(HERE, 'schemathesis.toml'), '--no-color', 'run'],
      ...[`${url}/openapi.json`, '--url', url, '-H', `X-API-Key: ${sandbox}`],
      ...['--phases', 'examples,coverage,fuzzing', '--checks', CHECKS.join(',')],
      ...['--seed', '1', '--max-examples', '2', '--max-time', '90', '--no-shrink'],
      ...['--generation-database', 'none', '--request-timeout', '20', '--warnings', 'off'],
      '--continue-on-failure',
    ],
    folder,
  );
  console.log(/^ *\d+ generated.*$/m.exec(output)?.[0].trim() ?? output);
}

/** Generates a client from the document, and calls the service with it. */
async function generate({ url, sandbox }: Running, folder: string): Promise<void> {
  const document = join(folder, 'openapi.json');
  await writeFile(document, await (await fetch(`${url}/openapi.json`)).text());
  const output = await program(
    'openapi-python-client',
    ['generate', '--path', document, '--output-path', join(folder, 'made'), '--meta', 'none'],
    folder,
  );
  const lost = output
    .split('\n')
    .filter((line) => /^(Unable to|Cannot parse|ERROR)/.test(line) && !NOT_JSON.test(line));
  if (lost.length > 0) throw new Error(`the generator leaves out:\n${lost.join('\n')}\n${output}`);
  await program('python', [join(HERE, 'generated.py'), url, sandbox], folder);
}

const folder = await mkdtemp(join(tmpdir(), 'actlog-openapi-'));
const running = await run({ WEBHOOKS: 'off', CHECKPOINT_INTERVAL_MS: '1000' });
try {
  await generate(running, folder);
  await fuzz(running, folder);
} finally {
  await running.close();
  await rm(folder, { recursive: true, force: true });
}
