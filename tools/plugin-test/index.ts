// `actlog/plugin-test`: the suite that every plugin has to pass. It runs under mocha and under `node --test`:
//
//     import { pluginContract } from 'actlog/plugin-test';
//     import plugin from '../notes.js';
//     pluginContract(plugin);
//
// It checks the declarations, then starts a gateway with the plugin on a temporary folder, sends the examples of the
// routes, compares the answers with the declared schemas, and projects the entries twice. A plugin with the name of a
// built-in one takes its place.

import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { commandVerbs } from '../../gateway/host/commands.ts';
import { ownerOf } from '../../gateway/host/plugin-error.ts';
import { PROBLEMS } from '../../gateway/http/problems.ts';
import { carriedName, CONTRACT, MAX_SENTENCE } from '../../plugins/contract/index.ts';
import type { AnyPlugin, JsonObject, Route, Sequenced } from '../../plugins/contract/index.ts';
import { answerCheck } from './answer-check.ts';
import { run } from './running.ts';
import type { Answer, Running } from './running.ts';

export { answerCheck } from './answer-check.ts';
export { Clock, ok, run } from './running.ts';
export type { Answer, Ask, Body, Running } from './running.ts';

/** What the suite needs to know beyond the declaration. */
export interface ContractOptions {
  /** Plugins that this one requires, where the gateway does not have them. */
  readonly with?: readonly AnyPlugin[];
  /** Values for path parameters of routes, by name. */
  readonly params?: Readonly<Record<string, string>>;
  /**
   * Bodies of routes whose request names an existing entry, by path; made while the gateway runs. Null
   * where a path or header has to name it: tests of the plugin's own ask that route.
   */
  readonly bodies?: Readonly<Record<string, (running: Running) => Promise<object | null>>>;
  /** Types that no example can write, since they need more than one log: tests of the plugin's own write them. */
  readonly unwritten?: readonly string[];
}

const TYPE_NAME = /^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*\.v[1-9][0-9]*$/;
const KIND_NAME = /^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*$/;

/** What mocha, and other runners with its globals, share with node:test. */
interface Runner {
  readonly describe: (title: string, body: (this: unknown) => void) => unknown;
  readonly it: (title: string, body: () => void | Promise<void>) => unknown;
  readonly before: (body: () => Promise<void>) => unknown;
  readonly after: (body: () => Promise<void>) => unknown;
}
const globals: object = globalThis;
const { describe, it, before, after }: Runner =
  'describe' in globals ? (globals as Runner) : await import('node:test');

/** Milliseconds that a step may take under mocha, whose default is too short to start a gateway. */
const STEP_MS = 60_000;

/** Declares the tests of a plugin: its declarations first, then the plugin in a gateway of its own. */
export function pluginContract(plugin: AnyPlugin, options: ContractOptions = {}): void {
  describe(`the contract of ${plugin.name}`, function () {
    (this as { timeout?(ms: number): void } | undefined)?.timeout?.(STEP_MS);
    describeDeclaration(plugin);
    describeServed(plugin, options);
  });
}

function describeDeclaration(plugin: AnyPlugin): void {
  it('is written for this contract and has a name of its own', () => {
    assert.ok([1, CONTRACT].includes(plugin.contract));
    assert.match(plugin.name, /^[a-z][a-z0-9-]*$/);
    assert.ok(plugin.title.length > 0);
  });

  it('declares types under its own name, with schemas of 2020-12 that stand alone', () => {
    for (const type of plugin.types) {
      assert.match(type.name, TYPE_NAME);
      assert.ok(type.name.startsWith(`${plugin.name}.`), type.name);
      assert.deepEqual(JSON.parse(JSON.stringify(type.schema)), type.schema, 'plain JSON');
      new Ajv2020({ strict: true, strictTypes: false }).compile(type.schema);
    }
    const names = plugin.types.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
  });

  it('closes its schemas: what they do not name is not logged', () => {
    for (const { name, schema } of plugin.types) {
      assert.ok('additionalProperties' in schema || 'unevaluatedProperties' in schema, name);
    }
  });

  it('declares chains under its own name, over members of the schema', () => {
    for (const { name, keys, schema } of plugin.types) {
      for (const [kind, ...members] of keys) {
        assert.match(String(kind), KIND_NAME);
        assert.ok(String(kind).startsWith(`${plugin.name}.`), name);
        const properties = Object.keys((schema['properties'] ?? {}) as JsonObject);
        for (const member of members) assert.ok(properties.includes(member), `${name}: ${member}`);
      }
    }
  });
}

function describeServed(plugin: AnyPlugin, options: ContractOptions): void {
  let running: Running;
  let routes: readonly Route[];
  before(async () => {
    running = await run({}, { plugins: [...(options.with ?? []), plugin] });
    routes = running.gateway.routes().filter(({ tag }) => tag === plugin.name);
  });
  after(() => running.close());

  it('tags its routes with its name and says what they do', () => {
    assert.ok(running.gateway.routes().some((route) => ownerOf(route) === plugin.name));
    for (const { path, summary, responses } of routes) {
      assert.match(path, /^\/[^\s?#]*$/);
      assert.ok(summary.length > 0, path);
      assert.ok(Object.keys(responses).length > 0, path);
    }
  });

  it('names only codes of the table', () => {
    for (const { path, errors = [] } of routes)
      for (const code of errors) {
        assert.ok(typeof code === 'object' || code in PROBLEMS, path);
      }
  });

  it('answers what its examples ask as it declares, and replays it', async () => {
    for (const route of routes) {
      const made = await options.bodies?.[route.path]?.(running);
      const body = made === undefined ? route.example : (made ?? undefined);
      if (body === undefined && route.appends !== true) continue;
      const path = filled(route.path, options.params ?? {});
      const headers = route.idempotent === true ? { 'Idempotency-Key': 'contract-suite' } : {};
      const sent = body === undefined ? {} : { body };
      const ask = () =>
        route.bytes === undefined
          ? running.ask(route.method, path, { ...sent, key: running.sandbox, headers })
          : postBytes(running, path, route);
      const first = await ask();
      const declared = route.responses[first.status];
      assert.ok(declared, `${path} answers ${String(first.status)}: ${first.text}`);
      if (declared.schema !== undefined) answerCheck(declared.schema)(first.json);
      if (route.idempotent !== true) continue;
      const again = await ask();
      assert.equal(again.headers.get('idempotent-replayed'), 'true', path);
      assert.equal(again.text, first.text, path);
    }
  });

  it('refuses a body that its schema does not know with 400 and the parameter', async () => {
    for (const route of routes.filter(
      ({ method, body }) => method === 'POST' && body !== undefined,
    )) {
      const { required = [] } = route.body as { required?: readonly string[] };
      if (required.length === 0) continue;
      const answer = await running.post(
        filled(route.path, options.params ?? {}),
        {},
        { key: running.sandbox },
      );
      assert.equal(answer.status, 400, answer.text);
      const { error } = answer.json as { readonly error: { readonly param: string } };
      assert.ok(required.includes(error.param), answer.text);
    }
  });

  it('performs the examples of its commands, a week apart', async () => {
    const verbs = commandVerbs(running.gateway);
    const own = running.gateway
      .plugged()
      .commands.filter(({ name }) => name.startsWith(`${plugin.name} `));
    for (const { name, example } of own) {
      const done = await verbs[name]?.(example as JsonObject);
      assert.deepEqual(JSON.parse(JSON.stringify(done)), done, 'plain JSON');
      running.clock.pass(7 * 86_400_000);
    }
  });

  it('says what its entries say in one sentence each', () => {
    for (const { name, sentence } of plugin.types) {
      if (sentence === undefined) continue;
      for (const { statement } of loggedEntries(running, name)) {
        const text = sentence(statement);
        assert.ok(text.length <= MAX_SENTENCE, `${name}: ${text}`);
        assert.match(text, /^[A-Z].*[^.]\.$/u, name);
        assert.doesNotMatch(text, /undefined|null|NaN|\[object/u, name);
        assert.equal(running.gateway.sentence(statement), text);
      }
    }
  });

  it('projects the same rows from the same entries', () => {
    for (const type of plugin.types) {
      if (type.project === undefined || options.unwritten?.includes(type.name) === true) continue;
      // Written where one log follows another alone: test/plugins/carry.test.ts.
      if (type.name === carriedName(plugin.name, plugin.types)) continue;
      // An older version of a type only projects what an earlier release wrote.
      if (isOlder(type.name, plugin.types)) continue;
      const entries = loggedEntries(running, type.name);
      assert.ok(entries.length > 0, `no example writes ${type.name}`);
      const rows = [project(type.project, entries), project(type.project, entries)];
      assert.deepEqual(rows[0], rows[1]);
      for (const key of rows[0]?.keys() ?? []) assert.ok(key.startsWith(`${plugin.name}/`), key);
    }
  });
}

/** The example of a route that takes bytes is their base64. */
function postBytes(
  running: Running,
  path: string,
  { bytes = [], example }: Route,
): Promise<Answer> {
  const [type = ''] = [bytes].flat();
  const headers = { 'Content-Type': type };
  const body = Buffer.from(example as string, 'base64');
  return running.ask('POST', path, { key: running.sandbox, headers, bytes: body });
}

function filled(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\*?\}/g, (_, name: string) => params[name] ?? 'example');
}

function loggedEntries(running: Running, type: string): Sequenced[] {
  const log = running.gateway.logs.sandbox;
  return Array.from(
    { length: log.size() },
    (_, index) => JSON.parse(log.entry(index) ?? '') as JsonObject,
  )
    .filter((statement) => statement['type'] === type)
    .map((statement) => ({
      index: statement['index'] as number,
      entry_id: statement['entry_id'] as string,
      issued_at_ms: statement['issued_at_ms'] as number,
      type,
      statement,
      links: [],
    }));
}

function project(
  rule: NonNullable<AnyPlugin['types'][number]['project']>,
  entries: readonly Sequenced[],
): Map<string, unknown> {
  const rows = new Map<string, unknown>();
  for (const entry of entries) {
    rule(entry, {
      get: (key) => rows.get(key) as never,
      put: (key, value) => rows.set(key, structuredClone(value)),
      del: (key) => rows.delete(key),
    });
  }
  return rows;
}

/** Whether the types have a newer version of this one. */
function isOlder(name: string, types: readonly { readonly name: string }[]): boolean {
  const [, base = '', version = ''] = /^(.*\.v)(\d+)$/.exec(name) ?? [];
  return types.some(
    (type) => type.name.startsWith(base) && Number(type.name.slice(base.length)) > Number(version),
  );
}
