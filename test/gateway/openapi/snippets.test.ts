// Runs the examples on the pages of operations in curl, TypeScript and Python: all three get the same answers, and a new
// sandbox answers each of them unless its description says what it needs.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { JsonObject } from '../../../log/index.ts';
import { snippetsOf } from '../../../gateway/openapi/snippets.ts';
import type { Snippets } from '../../../gateway/openapi/snippets.ts';
import { ApiError, Client } from '../../../tools/clients/typescript/index.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

const PYTHON = process.env['ACTLOG_PYTHON'] ?? '';
/** The beginning of the sentence in a description about what an example needs. */
const NEEDS = 'The example needs ';
/** An id that no entry, session or other object of the sandbox has. */
const NO_ID = '01900000-0000-7000-8000-000000000000';

/**
 * Operations that a new sandbox refuses, because no parameter is required in their example or because they need more
 * entries.
 */
const REFUSED: Readonly<Record<string, number>> = {
  'GET /api/v1/astl/lookup': 400,
  'GET /log/{kind}/{n}/proof/inclusion': 400,
  'GET /log/{kind}/proof/inclusion': 400,
  'GET /api/v1/require-receipt/badge.svg': 404,
  'GET /api/v1/clearing/slots/{week}/proof': 404,
  'GET /api/v1/clearing/invoices/{month}': 404,
  'GET /export/scitt/consistency': 400,
  'GET /tcb/twin/{entry_id}': 404,
  'GET /api/v1/events': 400,
  'GET /verify': 400,
  'POST /entries': 400,
};
/** Operations that answer a second call differently. */
const ONCE: Readonly<Record<string, number>> = { 'POST /carrier/v1/enroll': 409 };

/** Runs the examples of a list in Python and prints their statuses. */
const RUN_PYTHON = `
import functools, json, ssl, sys
ssl.create_default_context = functools.cache(ssl.create_default_context)
from actlog.client import ApiError
statuses = []
for one in json.load(sys.stdin):
    said = []
    names = {**one["variables"], "print": lambda *args: said.append(args)}
    try:
        exec(compile(one["text"], one["name"], "exec"), names)
        statuses.append(said[0][0] if isinstance(said[0][0], int) else 200)
    except ApiError as error:
        statuses.append(error.status)
json.dump(statuses, sys.stdout)
`;

interface Example {
  readonly name: string;
  readonly snippets: Snippets;
  readonly needs: boolean;
}

describe('the examples of operations', function () {
  this.timeout(120_000);
  let running: Running;
  let folder: string;
  let examples: readonly Example[];
  let values: Readonly<Record<string, string>>;
  /** The statuses that curl received. */
  let statuses: readonly number[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-snippets-'));
    await writeFile(join(folder, 'request.cose'), 'no statement');
    await writeFile(join(folder, '.curlrc'), 'write-out = "%{http_code}\\n"\noutput = /dev/null\n');
    running = await run();
    const document = (await running.get('/openapi.json')).json as JsonObject;
    const own = { ...document, servers: [{ url: running.url }] };
    const paths = document['paths'] as Readonly<Record<string, Record<string, JsonObject>>>;
    examples = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { description = '' }]) => ({
        name: `${method.toUpperCase()} ${path}`,
        snippets: snippetsOf(own, method, path),
        needs: (description as string).includes(NEEDS),
      })),
    );
    const body = { context: 'x', session_id: 'snippets-1' };
    const { entry_id } = (
      await running.post('/silence-receipt', body, {
        key: running.sandbox,
        headers: { Prefer: 'wait=10' },
      })
    ).json.receipt;
    const names = new Set(examples.flatMap(({ snippets }) => snippets.variables));
    const known: Readonly<Record<string, string>> = {
      entry_id,
      session_id: 'snippets-1',
      kind: 'sandbox',
      tile: '0/000.p/1',
      n: '1',
      from_: '1',
      key: '["entity","acme"]',
      operation: 'get_health',
      guide: 'api',
      week: '2026-W01',
      month: '2026-01',
    };
    values = Object.fromEntries([...names].map((name) => [name, known[name] ?? NO_ID]));
    statuses = await byCurl();
  });
  after(async () => {
    await running.close();
    await rm(folder, { recursive: true });
  });

  /** Runs all commands in one shell. */
  async function byCurl(): Promise<readonly number[]> {
    const variables = Object.entries(values).map(([name, value]) => [name.toUpperCase(), value]);
    const env = {
      PATH: process.env['PATH'],
      CURL_HOME: folder,
      ACTLOG_KEY: running.sandbox,
      ...Object.fromEntries(variables),
    };
    const script = examples.map(({ snippets }) => snippets.curl).join('\n');
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: folder, env });
    return stdout.trim().split('\n').map(Number);
  }

  it('are answered by a new sandbox, unless their description says what they need', () => {
    assert.ok(examples.length > 150);
    const refused = examples.flatMap(({ name, needs, snippets }, i) => {
      const status = statuses[i] ?? 0;
      // A name that the reader must supply, such as that of an insured, does not exist in this sandbox.
      const mayMiss = needs || snippets.variables.some((one) => values[one] === NO_ID);
      const known = status < 400 || (mayMiss && status < 500) || REFUSED[name] === status;
      return known ? [] : [`${name}: ${String(status)}`];
    });
    assert.deepEqual(refused, []);
  });

  it('get the same answers in TypeScript', async () => {
    const env = { ACTLOG_KEY: running.sandbox };
    const read = (name: string): Promise<Buffer> => readFile(join(folder, name));
    const names = Object.keys(values);
    const call = async ({ name, snippets }: Example): Promise<number> => {
      const lines = snippets.typescript.split('\n');
      const said: unknown[][] = [];
      const log = { log: (...args: unknown[]) => said.push(args) };
      const code = lines.filter((line) => !line.startsWith('import ')).join('\n');
      const parameters = ['Client', 'readFile', 'process', 'console', ...names];
      const body = new AsyncFunction(...parameters, code);
      try {
        await body(Client, read, { env }, log, ...names.map((one) => values[one]));
      } catch (error) {
        if (ApiError.is(error)) return error.status;
        throw new Error(`${name}: ${String(error)}`, { cause: error });
      }
      const status = said[0]?.[0];
      return typeof status === 'number' ? status : 200;
    };
    const shown: number[] = [];
    for (const example of examples) shown.push(await call(example));
    assert.deepEqual(named(shown), { ...named(statuses), ...ONCE });
  });

  it('get the same answers in Python', async function () {
    if (PYTHON === '') {
      console.log('      skipped: ACTLOG_PYTHON names no Python that has tools/clients/python');
      this.skip();
    }
    const input = examples.map(({ name, snippets }) => ({
      name,
      text: snippets.python,
      variables: values,
    }));
    const child = spawn(PYTHON, ['-c', RUN_PYTHON], {
      cwd: folder,
      env: { ...process.env, ACTLOG_KEY: running.sandbox },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end(JSON.stringify(input));
    let text = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk as string;
    assert.notEqual(text, '');
    assert.deepEqual(named(JSON.parse(text) as number[]), { ...named(statuses), ...ONCE });
  });

  const named = (list: readonly number[]): Readonly<Record<string, number | undefined>> =>
    Object.fromEntries(examples.map(({ name }, i) => [name, list[i]]));
});

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
  ...texts: string[]
) => (...values: unknown[]) => Promise<void>;
