// `/demo/calls/…`: what a visitor without a key may ask of the sandbox log. Each is a route of the service as it
// is, under a second path and a body that takes less; it acts for one tenant that all visitors share, whose
// texts are never kept. No key exists that a page could show. gateway/API.md §3.3, §3.4.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { JsonObject } from '../../log/index.ts';
import type { Json, Route } from '../../plugins/contract/index.ts';

/** Entities of visitors: nobody takes the name of another in the sandbox. */
const DemoEntity = Type.String({ pattern: '^demo:[a-z0-9]{8,32}$' });
/** Slugs of visitors begin with `demo-` for the same reason. */
const DemoPartner = Type.String({ pattern: '^Demo [A-Za-z0-9 ]{1,40}$' });

const OWN: Readonly<Record<string, TSchema>> = { entity: DemoEntity, partner: DemoPartner };

interface Call {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  /** The route of the service, as it is declared. */
  readonly target: string;
  /** Members of its body that a visitor may give. */
  readonly members?: readonly string[];
  /** Members in place of those of the route's own example. */
  readonly example?: JsonObject;
  /** What the example needs, as its description says it. */
  readonly needs?: string;
  /** The body that stands in for the visitor's. */
  readonly fixed?: 'policy';
}

const ACT = ['action_type', 'agent_id', 'scope', 'timestamp_ms', 'entity', 'surface', 'session_id'];
const ASKED = [...ACT, 'amount_atomic', 'currency', 'reversibility', 'message', 'domain'];

const post = (path: string, target: string, members: readonly string[]): Call => ({
  path: `/demo/calls/${path}`,
  method: 'POST',
  target,
  members,
});

const CALLS: readonly Call[] = [
  post('classify', '/api/v1/classify', ['message', 'domain', 'session_id', 'entity', 'surface']),
  { ...post('policy', '/api/v1/execute-gate/policy', []), fixed: 'policy' },
  post('gate', '/api/v1/execute-gate', ASKED),
  post('bind-gate', '/api/v1/execute-gate/bind', ASKED),
  {
    ...post('holds/{hold_id}', '/api/v1/execute-gate/holds/{hold_id}', ['action', 'reason']),
    needs: ' The example needs the hold_id of a HOLD in the path.',
  },
  post('restraint', '/api/v1/restraint', [
    ...['action_not_taken', 'decision_reason', 'capability_proof', 'opportunity_context'],
    ...['agent_id', 'session_id', 'entity'],
  ]),
  post('payment', '/api/v1/bind-payment', [
    ...ACT,
    ...['payment_hash', 'amount_atomic', 'currency', 'entry_id', 'settlement_rail'],
  ]),
  {
    ...post('publish', '/api/v1/astl/publish', ['entity', 'surfaces']),
    example: { entity: 'demo:visitor01', surfaces: ['policy_bind'] },
  },
  {
    ...post('witness', '/api/v1/absence/witness', ['entity', 'surface', 'from_ms', 'to_ms']),
    example: { entity: 'demo:visitor01' },
  },
  post('seal', '/compliance/eu-ai-act/article-12/seal', ['session_id', 'event_type']),
  {
    ...post('partner', '/api/v1/relay/enroll', ['partner']),
    example: { partner: 'Demo Brokers' },
  },
  {
    path: '/demo/calls/exhibits/{session_id}',
    method: 'GET',
    target: '/compliance/naic/exhibit-pack/{session_id}',
  },
];

const demonstrations = new WeakSet<Route>();

/** Whether a route is a call of the demonstrations: its caller is the tenant of visitors, in the sandbox. */
export const isDemonstration = (route: Route): boolean => demonstrations.has(route);

/** The calls as routes; `routes` are those of the service, `catalog` is catalogs/demo.json. */
export function demoCalls(routes: readonly Route[], catalog: Json): readonly Route[] {
  const { policy } = catalog as { readonly policy: JsonObject };
  return CALLS.map(({ path, method, target, members, example, needs = '', fixed }) => {
    const real = routes.find((route) => route.path === target && route.method === method);
    if (real === undefined) throw new Error(`the demonstrations ask ${method} ${target}`);
    const { aliases: _, example: shown, ...rest } = real;
    const call: Route = {
      ...rest,
      path,
      tag: 'Demonstrations',
      summary: `${real.summary}, as a visitor`,
      description: `${method} ${target} in the sandbox log, without a key, for a tenant that visitors share.${needs}`,
      access: 'open',
      ...(members === undefined
        ? {}
        : { body: narrowed(real, members), example: { ...kept(shown, members), ...example } }),
      ...(fixed === undefined
        ? {}
        : {
            bodyRequired: false,
            handle(ctx) {
              (ctx.state as { body: unknown }).body = policy;
              return real.handle(ctx);
            },
          }),
    };
    demonstrations.add(call);
    return call;
  });
}

/** Of an example what a visitor may give. */
const kept = (example: Json | undefined, members: readonly string[]): JsonObject =>
  Object.fromEntries(
    Object.entries((example ?? {}) as JsonObject).filter(([name]) => members.includes(name)),
  );

/** The body of a route with these members alone; others are refused. */
function narrowed({ body, path }: Route, members: readonly string[]): TSchema {
  const { properties, required = [] } = body as unknown as {
    readonly properties: Readonly<Record<string, TSchema>>;
    readonly required?: readonly string[];
  };
  const own = members.map((name): [string, TSchema] => {
    const member = properties[name];
    if (member === undefined) throw new Error(`${path} takes no ${name}`);
    return [name, OWN[name] ?? member];
  });
  const schema = {
    type: 'object',
    properties: Object.fromEntries(own),
    required: required.filter((name) => members.includes(name)),
    additionalProperties: false,
  };
  return schema;
}
