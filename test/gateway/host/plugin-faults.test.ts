// Mistakes in a plugin stop the start with one line that names the plugin and the place.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Type from 'typebox';
import { readConfig } from '../../../gateway/config.ts';
import { Dispatch } from '../../../gateway/http/dispatch.ts';
import { externalPlugins } from '../../../gateway/host/external-plugins.ts';
import type { Gateway } from '../../../gateway/gateway.ts';
import { orderPlugins, setUpPlugins } from '../../../gateway/host/host.ts';
import { pluginSettingRows, pluginSettings } from '../../../gateway/host/plugin-settings.ts';
import { errorsOf } from '../../../plugins/contract/index.ts';
import type { Plugin } from '../../../plugins/contract/index.ts';
import { run } from '../running.ts';

/** A plugin written in JavaScript: any member may have any value. */
type Loose = Record<string, unknown>;

const GOOD_ROUTE: Loose = {
  method: 'GET',
  path: '/notes',
  tag: 'notes',
  summary: 'Lists notes',
  access: 'read',
  responses: { 200: { description: 'ok', type: 'text/plain' } },
  handle: (ctx: { body: unknown }) => (ctx.body = 'ok'),
};

const GOOD_TYPE: Loose = {
  name: 'notes.note.v1',
  schema: {
    type: 'object',
    properties: { topic: { type: 'string' } },
    additionalProperties: false,
  },
  keys: [['notes.topic', 'topic']],
};

const plugin = (more: Loose): Plugin =>
  ({ contract: 1, name: 'notes', title: 'Notes', types: [], routes: () => [], ...more }) as never;

/** A plugin of contract 2 whose setup returns this. */
const setupOf = (setup: unknown): Plugin =>
  ({ contract: 2, name: 'notes', title: 'Notes', types: [], setup: () => setup }) as never;

const withRoute = (more: Loose): Plugin => plugin({ routes: () => [{ ...GOOD_ROUTE, ...more }] });

const withType = (more: Loose): Plugin => plugin({ types: [{ ...GOOD_TYPE, ...more }] });

const member = (schema: unknown): Loose => ({
  keys: [],
  schema: { type: 'object', properties: { topic: schema } },
});

const CLOSED = errorsOf({ topic_closed: { status: 409, sentence: 'The topic is closed.' } });

const withError = (code: string, more: Loose): Plugin =>
  plugin({ errors: { [code]: { ...CLOSED.topic_closed, code, ...more } } });

/** The parts of a gateway that setting up plugins needs. */
const gateway = {
  served: { live: [], sandbox: [] },
  config: readConfig({}).config,
  catalog: () => ({ tolls_usd: { classify: 0.05 } }),
} as unknown as Gateway;

/** What a start does with the declarations of a plugin. */
function start(one: Plugin): void {
  const ordered = orderPlugins([one]);
  new Dispatch(setUpPlugins(ordered, gateway, pluginSettings(ordered, readConfig({}))).routes);
}

const body = Type.Object({});

const GOOD_COMMAND: Loose = {
  name: 'notes tidy',
  summary: 'Tidy the notes',
  args: Type.Object({}),
  example: {},
  perform: () => Promise.resolve({}),
};

const withCommand = (more: Loose): Plugin =>
  plugin({ commands: () => [{ ...GOOD_COMMAND, ...more }] });

/** A job must run from once a second to once in 366 days. */
const EVERY = /command notes tidy: every_ms must be an integer .* from 1000 .* to 31622400000/;

const FAULTS: readonly (readonly [Plugin, RegExp])[] = [
  [plugin({ name: undefined }), /^plugin Notes: has no name$/],
  [plugin({ types: undefined }), /: types must give a list/],
  [plugin({ types: [null] }), /: has a type without a name/],
  [plugin({ routes: undefined }), /: routes must be a function/],
  [plugin({ routes: () => undefined }), /: routes must give a list, not undefined/],
  [plugin({ routes: () => Promise.resolve([]) }), /: routes must give a list, not a promise/],
  [plugin({ routes: () => Promise.reject(new Error('x')) }), /not a promise/],
  [
    plugin({ routes: () => (undefined as never as Loose)['x'] }),
    /: routes throws: Cannot read properties of undefined.*, at .*plugin-faults\.test\.ts/,
  ],
  [
    plugin({ routes: (host: { toll(id: string): unknown }) => [host.toll('nope')] }),
    /: catalogs\/tolls\.json has no toll nope, and no plugin declares it$/,
  ],
  [plugin({ commands: () => null }), /: commands must give a list, not null/],
  [plugin({ commands: () => [null] }), /: has a command without a name$/],
  [withCommand({ name: 'others tidy' }), /has the command others tidy, which is not its own$/],
  [withCommand({ name: 'notes ' }), /command notes : its name must be the plugin's and words/],
  [withCommand({ name: 'notes Tidy' }), /command notes Tidy: its name must be/],
  [withCommand({ summary: '' }), /command notes tidy: has no summary$/],
  [withCommand({ perform: 'x' }), /command notes tidy: perform must be a function$/],
  [withCommand({ args: undefined }), /command notes tidy: args must be a TypeBox object$/],
  [withCommand({ args: Type.String() }), /args must be a TypeBox object$/],
  [withCommand({ args: { type: 'object', properties: 1 } }), /args is no strict JSON Schema: /],
  [plugin({ commands: () => [GOOD_COMMAND, GOOD_COMMAND] }), /the command notes tidy twice$/],
  ...[0, -1, 1, 999, 1000.5, 366 * 86_400_000 + 1, 2 ** 53, NaN, Infinity, null, '3600000'].map(
    (every_ms) => [withCommand({ every_ms }), EVERY] as const,
  ),
  [
    withCommand({ every_ms: 1000, args: Type.Object({ tenant: Type.String() }) }),
    /command notes tidy: has every_ms, so it is performed without arguments: .*tenant/,
  ],
  [plugin({ keys: [['notes.topic', 'topic']] }), /: keys must have names/],
  [plugin({ keys: [{ name: 'air', algorithm: 'RSA' }] }), /the key air must have the algorithm/],
  [plugin({ routes: () => [null] }), /: a route has no path/],
  [withRoute({ path: undefined }), /: a route has no path \(Lists notes\)/],
  [withRoute({ path: 'notes' }), /route GET notes: a path must start with a slash/],
  [withRoute({ path: '/notes/:id' }), /route GET \/notes\/:id: a path has no : .* is \{id\}/],
  [withRoute({ path: '/notes/{id' }), /a path has no :/],
  [withRoute({ path: '/notes/{rest*}/x' }), /\{rest\*\} at its end/],
  [withRoute({ path: '/notes/{id}' }), /the path has \{id\}, which params does not name/],
  [
    withRoute({ params: Type.Object({ id: Type.String() }) }),
    /params names id, which is not in the path/,
  ],
  [withRoute({ method: 'PUT' }), /route PUT \/notes: the method must be one of GET, POST, DELETE/],
  [withRoute({ method: undefined }), /the method must be one of/],
  [withRoute({ access: undefined }), /route GET \/notes: access must be open, key, read or/],
  [withRoute({ access: 'public' }), /access must be/],
  [withRoute({ access: { roles: ['root'] } }), /access must be/],
  [withRoute({ access: { roles: [] } }), /access must be/],
  [withRoute({ budget: 'large' }), /budget must be one of/],
  [withRoute({ handle: undefined }), /has no handle/],
  [withRoute({ respond: 'x' }), /respond must be a function/],
  [withRoute({ responses: undefined }), /has no responses/],
  [withRoute({ responses: {} }), /has no responses/],
  [withRoute({ responses: { ok: { description: 'x' } } }), /responses has ok, which is no status/],
  [withRoute({ responses: { 200: {} } }), /the response 200 has no description/],
  [withRoute({ tag: undefined }), /has no tag/],
  [withRoute({ summary: '' }), /has no summary/],
  [withRoute({ errors: ['nope'] }), /route GET \/notes: errors has nope, which neither the plugin/],
  [withRoute({ errors: ['toString'] }), /errors has toString/],
  [withRoute({ errors: [null] }), /errors has null/],
  [
    withRoute({ errors: [CLOSED.topic_closed] }),
    /errors has topic_closed, which neither the plugin/,
  ],
  [plugin({ errors: null }), /: errors must be what errorsOf returns$/],
  [plugin({ errors: { topic_closed: null } }), /error topic_closed: errors must be what errorsOf/],
  [plugin({ errors: { other: CLOSED.topic_closed } }), /error other: the code must match/],
  [withError('Topic_closed', {}), /error Topic_closed: the code must match/],
  [withError('rate_limited', {}), /error rate_limited: the gateway itself has this code$/],
  ...[200, 399, 401, 405, 409.5, 422, 429, 500, 501, 505, '409', NaN].map(
    (status) =>
      [withError('topic_closed', { status }), /error topic_closed: the status must/] as const,
  ),
  [withError('topic_closed', { sentence: 'no' }), /error topic_closed: needs a sentence/],
  [withRoute({ query: Type.Object({ n: Type.Integer() }) }), /query takes n as integer, but/],
  [withRoute({ body: { type: 'objekt' } }), /body is no strict JSON Schema: /],
  [withRoute({ aliases: ['/n/{id}'] }), /has an alias with other parameters/],
  [withRoute({ method: 'POST', idempotent: true, body }), /needs either respond or flat/],
  [
    plugin({ routes: () => [GOOD_ROUTE, { ...GOOD_ROUTE }] }),
    /^plugin notes: GET \/notes is declared twice$/,
  ],
  [
    plugin({
      routes: () =>
        ['a', 'b'].map((name) => ({
          ...GOOD_ROUTE,
          path: `/n/{${name}}`,
          params: Type.Object({ [name]: Type.String() }),
        })),
    }),
    /^plugin notes: \/n\/\{b\} is declared as \/n\/\{a\} already$/,
  ],
  [withType({ name: 'notes.Note.v1' }), /type notes\.Note\.v1: its name does not match \^/],
  [withType({ name: 'notes.note' }), /type notes\.note: its name does not match/],
  [withType({ schema: undefined }), /type notes\.note\.v1: schema is not an object/],
  [withType({ keys: undefined }), /type notes\.note\.v1: keys is not an array/],
  [withType({ keys: ['topic'] }), /keys has a template that is not an array of strings/],
  [withType({ keys: [['notes.topic']] }), /the template \["notes\.topic"\] names no member/],
  [withType({ keys: [['topic', 'topic']] }), /the kind topic of a template does not match notes\./],
  [
    withType({ keys: [['notes.topic', 'title']] }),
    /the template of notes\.topic names title, which is not a member of the schema/,
  ],
  [plugin({ types: [GOOD_TYPE, GOOD_TYPE] }), /type notes\.note\.v1: is declared twice/],
  [
    plugin({
      types: [
        GOOD_TYPE,
        {
          ...GOOD_TYPE,
          name: 'notes.other.v1',
          schema: { type: 'object', properties: { title: { type: 'string' } } },
          keys: [['notes.topic', 'title']],
        },
      ],
    }),
    /type notes\.other\.v1: the kind notes\.topic is over topic in another type, here over title/,
  ],
  [
    withType({ keys: [], schema: { type: 'object', properties: { index: { type: 'integer' } } } }),
    /type notes\.note\.v1: its schema names the member index, which the log sets/,
  ],
  [
    withType({ keys: [], schema: { type: 'object', properties: { log: { type: 'string' } } } }),
    /a schema must not have the member log/,
  ],
  [
    withType(member({ type: 'objekt' })),
    /not a strict JSON Schema 2020-12: .*must be equal to one/,
  ],
  [withType(member({ $ref: '#/$defs/none' })), /2020-12: can't resolve reference #\/\$defs\/none/],
  [withType(member({ type: 'string', pattern: '(' })), /type notes\.note\.v1: .*2020-12: .*\(/],
  [withType({ project: {} }), /type notes\.note\.v1: project must be a function/],
  [
    plugin({ settings: Type.Object({ NOTES_LIST: Type.Array(Type.String()) }) }),
    /declares the setting NOTES_LIST, which must be a string, an integer, a boolean or/,
  ],
  [plugin({ settings: Type.Object({ notes: Type.String() }) }), /notes, which is not in upper/],
  [plugin({ settings: Type.String() }), /settings must be a TypeBox object/],
  [
    plugin({ settings: { type: 'object', properties: { NOTES_MAX: null } } }),
    /declares the setting NOTES_MAX, which has no schema$/,
  ],
  [
    plugin({ settings: Type.Object({ NOTES_MAX: Type.Integer({ default: 'many' }) }) }),
    /declares the setting NOTES_MAX, whose default is wrong: NOTES_MAX must be integer$/,
  ],
  [
    plugin({ settings: Type.Object({ NOTES_MAX: Type.String({ pattern: '(' }) }) }),
    /declares the setting NOTES_MAX, whose schema is not strict: /,
  ],
  [
    withCommand({ args: Type.Object({ tenant: Type.String() }) }),
    /command notes tidy: example does not have the arguments that args declares: tenant is missing$/,
  ],
  [withCommand({ example: undefined }), /command notes tidy: example does not have/],
  [
    plugin({ catalogs: { 'tolls.json': {} } }),
    /catalogs has tolls\.json, which must be notes\.json/,
  ],
  [plugin({ catalogs: { 'notes.json': 'x' } }), /: catalogs\.notes\.json must be object$/],
  [
    plugin({ tolls: { note: { usd: 1, acts: ['POST /n'] } } }),
    /tolls has note, which must be words/,
  ],
  [plugin({ tolls: { notes_a: { usd: -1, acts: ['POST /n'] } } }), /: tolls\.notes_a\.usd must be/],
  [plugin({ layer: { name: 'Notes' } }), /: layer\.role is missing$/],
  [plugin({ verifiers: [null] }), /has a verifier with the kind undefined$/],
  [plugin({ events: [null] }), /has events of undefined, which is not a type of its own$/],
  [plugin({ route: () => [] }), /has the member route, which contract 1 does not have$/],
  [
    { ...setupOf({}), routes: () => [] } as never,
    /has the member routes, which contract 2 does not have$/,
  ],
  [setupOf({ route: [] }), /setup gives route, which is no part of a setup$/],
  [setupOf({ pageFolder: './pages/' }), /pageFolder must be the file URL of a folder/],
  [setupOf({ menu: [{ path: 'notes', name: 'Notes' }] }), /: menu\.0\.path must match pattern/],
  [setupOf({ menu: [null] }), /: menu\.0 must be object$/],
  [
    setupOf({ console: [{ id: 'a', title: 'A', list: '/a', empty: 'None.', heading: 'a' }] }),
    /: console\.0\.facts is missing$/,
  ],
  [
    setupOf({ visitorRoutes: [{ path: '/v', tag: 'x', target: '/n' }] }),
    /visitorRoutes\.0\.target/,
  ],
  [setupOf({ metrics: { members: {} } }), /: metrics need the function read$/],
  [
    setupOf({ metrics: { members: { notes: { type: 'objekt' } }, read: () => ({}) } }),
    /: the metric notes has no strict JSON Schema: /,
  ],
  [setupOf({ status: [] }), /: status must be a function$/],
  [setupOf(Promise.resolve({})), /: setup must return an object, not a promise$/],
];

describe('a plugin with a fault', () => {
  it('stops the start with one line and its name', () => {
    assert.doesNotThrow(() => {
      start(plugin({ types: [GOOD_TYPE], routes: () => [GOOD_ROUTE] }));
      for (const every_ms of [undefined, 1000, 2 ** 31, 366 * 86_400_000]) {
        start(withCommand({ every_ms }));
      }
    });
    for (const [one, reason] of FAULTS) {
      assert.throws(
        () => {
          start(one);
        },
        (error: Error) => {
          assert.match(error.message, reason);
          assert.match(error.message, /^plugin (notes|Notes): [^\n]*$/);
          // The error names that the command line prints without a stack.
          assert.match(error.name, /^(?:Plugin|Config)Error$/);
          return true;
        },
        String(reason),
      );
    }
  });

  it('gets an error that names the plugin with the same path', async () => {
    const taken = withRoute({ path: '/health' });
    await assert.rejects(run({}, { plugins: [taken] }), {
      name: 'PluginError',
      message: 'plugin notes: GET /health is declared twice, by gateway before',
    });
  });

  it('gets an error that names the plugin with the same command', async () => {
    const one = plugin({ name: 'keys', commands: () => [{ ...GOOD_COMMAND, name: 'keys list' }] });
    await assert.rejects(run({}, { plugins: [one] }), {
      name: 'PluginError',
      message: "plugin keys: has the command keys list, which is the gateway's own",
    });
  });

  it('is refused with the name of its module if it is no plugin', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-faults-'));
    const load = async (name: string, source: string): Promise<unknown> => {
      const path = join(folder, name);
      await writeFile(path, source);
      return externalPlugins([path]);
    };
    await assert.rejects(load('null.mjs', 'export default null;'), /null\.mjs is not a plugin/);
    await assert.rejects(load('none.mjs', 'export const a = 1;'), /none\.mjs is not a plugin/);
    await assert.rejects(
      load('name.mjs', 'export default { contract: 1, types: [], routes: () => [] };'),
      /PLUGINS: the plugin of .*name\.mjs has no name/,
    );
    await rm(folder, { recursive: true });
  });
});

describe('settings of a plugin', () => {
  it('can be booleans and literals, parsed from their texts', () => {
    const one = plugin({
      settings: Type.Object({
        NOTES_ON: Type.Boolean({ default: false, description: 'Whether.' }),
        NOTES_LEVEL: Type.Optional(Type.Union([Type.Literal(1), Type.Literal('all')])),
      }),
    });
    const read = (env: Record<string, string>) =>
      pluginSettings([one], readConfig(env)).get('notes');
    assert.deepEqual(read({}), { NOTES_ON: false });
    assert.deepEqual(read({ NOTES_ON: 'true', NOTES_LEVEL: '1' }), {
      NOTES_ON: true,
      NOTES_LEVEL: 1,
    });
    assert.deepEqual(read({ NOTES_ON: 'false' }), { NOTES_ON: false });
    assert.throws(() => read({ NOTES_ON: 'yes' }), /plugin notes: NOTES_ON must be boolean/);
    const [row] = pluginSettingRows([one]);
    assert.deepEqual([row?.type, row?.standard], ['true \\| false', 'false']);
  });
});
