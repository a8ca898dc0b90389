// Breaks every member of every request, one at a time: the answer is the envelope, and its `param` names the member. The
// mutations follow from the schemas of the routes. gateway/API.md §4.1.

import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TSchema } from 'typebox';
import type { Json, JsonObject, Route } from '../../../plugins/contract/index.ts';
import { run } from '../running.ts';
import type { Answer, Running } from '../running.ts';

const ACT = { action_type: 'payment.release', agent_id: 'agent:a' };
const SECRET = { salt: '0123456789abcdef0123456789abcdef', value: 'a secret' };

/** Requests of routes whose example would have to name an existing object. */
const BODIES: Readonly<Record<string, JsonObject>> = {
  '/api/v1/execute-gate': { ...ACT, use_secret: SECRET },
  '/api/v1/execute-gate/bind': { ...ACT, use_secret: SECRET },
  '/api/v1/execute-gate/holds/{hold_id}': { action: 'release', reason: 'checked' },
  '/api/v1/execute-gate/permits/use': {
    receipt: {},
    action_type: 'payment.release',
    agent_id: 'agent:a',
    scope: 'x402',
    timestamp_ms: 1_790_000_000_000,
    use_secret: SECRET,
  },
  '/api/v1/foundry/trigger/fire': {
    trigger_id: '01a1ff4b-72ad-700a-9eac-ca2181eac64e',
    reading: { metric: 'incidents', value: '1.5' },
    permit: ACT,
  },
  '/api/v1/oracle/resolve': {
    aggregate_entry_id: '01a1ff4b-72ad-700a-9eac-ca2181eac64e',
    value: '1.5',
    resolver: 'the desk',
  },
  '/standards/absence-ledger/verify': {
    document: {},
    question: { key: ['surface', 'acme', 'policy_bind'], from_ms: 1, to_ms: 2 },
  },
  '/api/v1/require-receipt/act': { reference: 'order 7' },
  '/demo/calls/classify': { message: 'Good morning' },
  '/demo/calls/gate': { action_type: 'payment.release', agent_id: 'agent:a' },
  '/demo/calls/bind-gate': { action_type: 'policy.bind', agent_id: 'agent:a' },
  '/demo/calls/holds/{hold_id}': { action: 'release', reason: 'checked' },
  '/demo/calls/restraint': { action_not_taken: 'a wire', decision_reason: 'a limit' },
  '/demo/calls/payment': { payment_hash: 'a'.repeat(64) },
  '/demo/calls/publish': { entity: 'demo:visitor01', surfaces: ['policy_bind'] },
  '/demo/calls/witness': { entity: 'demo:visitor01', surface: 'policy_bind', from_ms: 1, to_ms: 2 },
  '/demo/calls/partner': { partner: 'Demo Partner' },
  '/tcb/counterfactual-replay': {
    entry_id: '01a1ff4b-72ad-700a-9eac-ca2181eac64e',
    changes: {},
  },
};

/** A body that the route accepts. */
function bodyOf({ path, example }: Route): JsonObject {
  const shown = BODIES[path] ?? example;
  return (shown as JsonObject | undefined) ?? {};
}

/** Candidate values for a member; only those that its schema refuses are sent. */
const VALUES: readonly Json[] = [
  ...[null, true, -1, 1.5, 7, Number.MAX_SAFE_INTEGER + 1, '', 'x', '\u202e no such ~', [], {}],
  ...['é!'.repeat(20_000), [[1]], [1, 1], Array<string>(300).fill('a')],
];

/** Candidate texts for members of a path or a query. */
const TEXTS: readonly string[] = ['', '-1', '\u202e no such ~', 'é!'.repeat(1000)];

interface Place {
  readonly path: readonly string[];
  readonly schema: TSchema;
}

/** Each member that the schema declares, at any depth of the value. */
function* placesOf(schema: TSchema, value: Json, path: readonly string[] = []): Generator<Place> {
  if (path.length > 0) yield { path, schema };
  const {
    properties = {},
    items,
    anyOf = [],
  } = schema as {
    properties?: Readonly<Record<string, TSchema>>;
    items?: TSchema;
    anyOf?: readonly TSchema[];
  };
  const members = (typeof value === 'object' && value !== null ? value : {}) as JsonObject;
  for (const [name, member] of Object.entries(properties)) {
    yield* placesOf(member, members[name] ?? null, [...path, name]);
  }
  if (items !== undefined && Array.isArray(value) && value.length > 0) {
    yield* placesOf(items, value[0] as Json, [...path, '0']);
  }
  for (const branch of anyOf) {
    const inner = [...placesOf(branch, value, path)].filter((place) => place.path !== path);
    yield* inner.filter(({ path: [name = ''] }) => path.length > 0 || name in members);
  }
}

/** The value with another one in one place; missing objects on the way are created. */
function withMember(value: Json, [name, ...rest]: readonly string[], member: Json): Json {
  if (name === undefined) return member;
  if (Array.isArray(value)) {
    return value.map((item: Json, i) =>
      String(i) === name ? withMember(item, rest, member) : item,
    );
  }
  const members = (typeof value === 'object' && value !== null ? value : {}) as JsonObject;
  return { ...members, [name]: withMember(members[name] ?? null, rest, member) };
}

/** Whether the value has the object that a member belongs to. */
const hasParent = (value: Json, path: readonly string[]): boolean =>
  path.slice(0, -1).reduce<unknown>((at, name) => (at as JsonObject | undefined)?.[name], value) !==
  undefined;

/** The schema without component names, because each name may occur in it only once. */
const anonymous = (schema: TSchema): TSchema =>
  JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === '$id' ? undefined : value)));

const ajv = formats.default(new Ajv2020({ strict: false, ownProperties: true }));

/** The values that the schema of a member refuses. */
function refusedBy(schema: TSchema, values: readonly Json[]): readonly Json[] {
  const validate = ajv.compile(anonymous(schema));
  return values.filter((value) => !validate(value));
}

describe('a refused member', function () {
  this.timeout(240_000);
  let running: Running;
  before(async () => {
    running = await run();
  });
  after(() => running.close());

  const routes = (method: string): readonly Route[] =>
    running.gateway.routes().filter((route) => route.method === method);

  /** Demonstrations accept no key. */
  const keyOf = ({ path }: Route): object =>
    path.startsWith('/demo/') ? {} : { key: running.sandbox };

  const pathOf = ({ path }: Route): string =>
    path.replace('{month}', '2026-01').replace(/\{\w+\*?\}/g, 'example');

  const expectParam = (answer: Answer, member: readonly string[], what: string): void => {
    const at = `${what} ${member.join('.')} -> ${String(answer.status)} ${answer.text.slice(0, 300)}`;
    assert.equal(answer.status, 400, at);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/, at);
    assert.equal(answer.headers.get('x-request-id'), answer.json.error.request_id, at);
    const { type, param, message } = answer.json.error;
    assert.equal(type, 'invalid_request_error', at);
    assert.ok(typeof param === 'string' && message.includes(param), at);
    // For a member that is an object or a list, the error may name a part of it.
    assert.ok(`${param}.`.startsWith(`${member.join('.')}.`), at);
  };

  const inTens = async (shots: readonly (() => Promise<void>)[]): Promise<void> => {
    for (let i = 0; i < shots.length; i += 10) {
      await Promise.all(shots.slice(i, i + 10).map((shot) => shot()));
    }
  };

  it('of a body is named, for every kind of fault', async () => {
    const shots: (() => Promise<void>)[] = [];
    for (const route of routes('POST')) {
      if (route.body === undefined) continue;
      const whole = bodyOf(route);
      const { required = [] } = route.body as { required?: readonly string[] };
      assert.ok(
        required.every((name) => name in whole),
        `${route.path}: no body that the route accepts`,
      );
      // Without its object, a member would not be the only fault.
      const places = [...placesOf(route.body, whole)].filter(({ path }) => hasParent(whole, path));
      for (const { path, schema } of places) {
        for (const value of refusedBy(schema, VALUES)) {
          const body = withMember(whole, path, value);
          const what = `POST ${route.path} with ${JSON.stringify(value).slice(0, 60)} as`;
          shots.push(async () => {
            expectParam(await running.post(pathOf(route), body, keyOf(route)), path, what);
          });
        }
      }
    }
    assert.ok(shots.length > 1500, `${String(shots.length)} members were broken`);
    await inTens(shots);
  });

  it('of a body is named if it is missing', async () => {
    const shots = routes('POST').flatMap((route) => {
      const whole = bodyOf(route);
      const { required = [] } = (route.body ?? {}) as { required?: readonly string[] };
      return required.map((name) => async () => {
        const body = Object.fromEntries(Object.entries(whole).filter(([other]) => other !== name));
        const answer = await running.post(pathOf(route), body, keyOf(route));
        expectParam(answer, [name], `POST ${route.path} without`);
        const code = name === 'message' ? 'message_required' : 'parameter_missing';
        assert.equal(answer.json.error.code, code, `${route.path} ${name}`);
      });
    });
    assert.ok(shots.length > 40);
    await inTens(shots);
  });

  it('of a query is named', async () => {
    const shots = running.gateway.routes().flatMap((route) => {
      // If a standard requires another error form, separate tests check it.
      if (route.query === undefined || route.problem !== undefined) return [];
      const { properties = {}, required = [] } = route.query as {
        properties?: Readonly<Record<string, TSchema>>;
        required?: readonly string[];
      };
      const missing = required.map((name) => ({ name, query: '', text: 'nothing' }));
      const wrong = Object.entries(properties).flatMap(([name, schema]) =>
        refusedBy(schema, TEXTS).map((text) => {
          const query = `?${name}=${encodeURIComponent(text as string)}`;
          return { name, query, text: JSON.stringify(text).slice(0, 40) };
        }),
      );
      const only = (name: string): boolean => required.every((other) => other === name);
      return [...missing, ...wrong]
        .filter(({ name }) => only(name))
        .map(({ name, query, text }) => async () => {
          const asked = await running.ask(route.method, pathOf(route) + query, keyOf(route));
          if (asked.status === 404) return; // the path names no object, and is checked first
          expectParam(asked, [name], `${route.method} ${route.path} with ${text} as`);
        });
    });
    assert.ok(shots.length > 60);
    await inTens(shots);
  });
});
