// Prices shown and prices charged: every toll of a catalog states whether it is metered and by which acts, and exactly
// those acts append entries with that toll. gateway/API.md §10.2, §17.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { Json, JsonObject } from '../../log/index.ts';
import { catalogUrl, readCatalog, servedCatalog } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import { ok, run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import { FOUNDRY_BODIES } from './foundry/bodies.ts';
import { GATE_BODIES } from './gate/asking.ts';

interface Metering {
  readonly metered: boolean;
  readonly acts: readonly string[];
  readonly outcomes?: readonly string[];
  readonly note?: string;
}

const { tolls_usd, metering } = readCatalog('tolls.json') as unknown as {
  readonly tolls_usd: Readonly<Record<string, number>>;
  readonly metering: Readonly<Record<string, Metering>>;
};
/** Catalogs with a toll, in addition to illustrative arithmetic. */
const PRICED = readdirSync(catalogUrl(''))
  .filter((file) => /^[a-z-]+\.json$/.test(file) && file !== 'tolls.json')
  .filter((file) => {
    const { scale: _, ...shown } = readCatalog(file) as JsonObject;
    // A file without `apis` is not a catalog of a layer, but data such as descriptions of terms.
    return shown['apis'] !== undefined && /"\w*toll\w*_usd"/.test(JSON.stringify(shown));
  });

describe('tolls', () => {
  let running: Running;
  before(async () => {
    running = await run();
  });
  after(() => running.close());

  /** Tolls of entries that a request appends, as `<toll> <outcome>`. */
  const charged = async (method: string, path: string, body: unknown): Promise<string[]> => {
    const log = running.gateway.logs.sandbox;
    const from = log.size();
    const sent = body === undefined ? {} : { body: body as object };
    await running.ask(method, path, { ...sent, key: running.sandbox });
    const entries = Array.from(
      { length: log.size() - from },
      (_, at) => JSON.parse(log.entry(from + at) ?? '{}') as JsonObject,
    );
    return entries.flatMap(({ toll, outcome, classification }) =>
      typeof toll === 'string' ? [`${toll} ${(classification ?? outcome ?? '') as string}`] : [],
    );
  };

  it('are charged by the acts that the catalog names, and by no other route', async () => {
    const found = new Map<string, Set<string>>();
    const asked = new Set<string>();
    const act = async (route: Route, body: unknown): Promise<void> => {
      const name = `${route.method} ${route.path}`;
      asked.add(name);
      for (const toll of await charged(route.method, filled(route.path), body)) {
        const [key = '', outcome = ''] = toll.split(' ');
        found.set(key, (found.get(key) ?? new Set()).add(name));
        const { outcomes } = metering[key] ?? assert.fail(`no catalog has the toll ${key}`);
        // An act that was done without a decision of the gate has no outcome.
        const free = outcomes === undefined || (outcome === '' && name.endsWith('/unasked'));
        assert.ok(free || outcomes.includes(outcome), `${name}: ${toll}`);
      }
    };
    // Visitors call these routes under other paths.
    const routes = running.gateway.routes().filter(({ tag }) => tag !== 'Demonstrations');
    for (const route of routes) {
      for (const body of await bodiesOf(running, route)) await act(route, body);
    }
    const paths = new Set(routes.map(({ method, path }) => `${method} ${path}`));
    for (const [toll, { metered, acts }] of Object.entries(metering)) {
      for (const one of acts) assert.ok(paths.has(one) && asked.has(one), `${toll}: ${one}`);
      assert.deepEqual([...(found.get(toll) ?? [])].sort(), [...acts].sort(), toll);
      assert.equal(metered, acts.length > 0, toll);
    }
  });

  it('never apply to a read or a verification, and state a reason if no act has them', () => {
    for (const [toll, { metered, acts, note }] of Object.entries(metering)) {
      for (const one of acts) assert.match(one, /^POST (?!.*(verify|lookup|proof|export))/, toll);
      if (!metered) assert.ok(note !== undefined, toll);
    }
    assert.deepEqual(Object.keys(metering), Object.keys(tolls_usd));
  });

  it('state in every catalog whether they are metered, and as what', () => {
    const host = { catalog: readCatalog, url: (path: string) => path };
    assert.ok(PRICED.length >= 7);
    for (const name of PRICED) {
      const catalog = servedCatalog(host, name, '/');
      assert.ok(pricesIn(catalog).length > 0, name);
      for (const [place, priced] of pricesIn(catalog)) {
        const { metered, acts, billed_as } = priced;
        const toll = typeof billed_as === 'string' ? billed_as : place;
        const expected = metering[toll] ?? { metered: false, acts: [] };
        assert.deepEqual([metered, acts], [expected.metered, expected.acts], `${name}: ${place}`);
      }
    }
    const { toll_usd, billed_as, billed_usd } = servedCatalog(host, 'pdtr.json', '/');
    assert.deepEqual([toll_usd, billed_as, billed_usd], [0.1, 'pdtr_bind', 0.15]);
  });

  it('of x402 discovery are those of metered acts, and all of them', () => {
    const { resources } = readCatalog('x402.json') as unknown as {
      readonly resources: readonly { method: string; path: string; toll: string }[];
    };
    const listed = resources.map(({ method, path }) => `${method} ${path}`);
    for (const { method, path, toll } of resources) {
      assert.ok(metering[toll]?.acts.includes(`${method} ${path}`), `${path}: ${toll}`);
    }
    const acts = Object.values(metering).flatMap(({ acts: some }) => some);
    assert.deepEqual([...listed].sort(), [...new Set(acts)].sort());
  });
});

/** The prices of a catalog, each with the object that says whether it is metered, by toll or by place. */
function pricesIn(catalog: JsonObject): readonly (readonly [string, JsonObject])[] {
  const { metering: own = {}, toll_inputs_usd, tolls_usd: tolls, skus } = catalog;
  const several = { ...(toll_inputs_usd as object), ...(tolls as object) };
  const found = Object.keys(several).map((name): readonly [string, JsonObject] => {
    const priced = (own as JsonObject)[name];
    assert.ok(priced !== undefined, `nothing says whether ${name} is metered`);
    return [name, priced as JsonObject];
  });
  for (const sku of (skus ?? []) as readonly JsonObject[]) found.push([sku['sku'] as string, sku]);
  const single = ['toll_usd', 'challenge_toll_usd'].filter((name) => catalog[name] !== undefined);
  return [...found, ...single.map((name) => [name, catalog] as const)];
}

const PARAMS: Readonly<Record<string, string>> = { hold_id: 'held', slug: 'example' };
const filled = (path: string): string =>
  path.replace(/\{(\w+)\*?\}/g, (_, name: string) => PARAMS[name] ?? 'example');

/** Requests that together produce every outcome with a toll; for most routes the example is enough. */
async function bodiesOf(running: Running, route: Route): Promise<readonly (Json | undefined)[]> {
  const { path, method, example, bytes, appends } = route;
  const key = { key: running.sandbox };
  if (method === 'GET') return appends === true ? [undefined] : [];
  if (bytes !== undefined || method !== 'POST') return [];
  if (path === '/api/v1/execute-gate/policy') {
    const rules = [
      { id: 'allowed', effect: 'allow', action_types: ['data.read'] },
      { id: 'held', effect: 'hold', action_types: ['wire.send'] },
      { id: 'denied', effect: 'deny', action_types: ['data.export'] },
    ];
    return [{ rules }];
  }
  if (path === '/api/v1/execute-gate' || path === '/api/v1/execute-gate/bind') {
    await bodiesOf(running, { ...route, path: '/api/v1/execute-gate/policy' }).then(([policy]) =>
      running.post('/api/v1/execute-gate/policy', policy as object, key),
    );
    return ['data.read', 'wire.send', 'data.export', 'other'].map((action_type) => ({
      ...{ action_type, agent_id: 'agent:one' },
    }));
  }
  if (path === '/api/v1/classify') return [example, { message: '' }].map((body) => body as Json);
  if (path === '/api/v1/foundry/trigger/fire') {
    const fired = await Promise.all(
      ['parametric_window', 'regulatory_packet', 'spoliation_pack'].map(async (action) => {
        const body = { template_id: 'incident_sealed', enabled_exposure_usd: '1000' };
        const { trigger_id } = ok(await running.post('/signal/trigger/publish', body, key));
        const reading = { metric: 'incident', value: 1 };
        return { trigger_id: trigger_id as string, reading, action, session_id: 'matter' };
      }),
    );
    const [policy] = await bodiesOf(running, { ...route, path: '/api/v1/execute-gate/policy' });
    ok(await running.post('/api/v1/execute-gate/policy', policy, key));
    const body = { template_id: 'bind_gate_hold' };
    const { trigger_id } = ok(await running.post('/signal/trigger/publish', body, key));
    const reading = { metric: 'bind_hold', value: 1 };
    const permit = { action_type: 'data.read', agent_id: 'agent:one' };
    return [
      ...fired,
      { trigger_id: trigger_id as string, reading, action: 'restraint_permit', permit },
    ];
  }
  if (path === '/tcb/counterfactual-replay') {
    const told = { action_not_taken: 'a refund', decision_reason: 'a limit' };
    const { restraint } = ok(await running.post('/api/v1/restraint', told, key));
    return [{ entry_id: restraint.entry_id as string, changes: {} }];
  }
  if (path.endsWith('/bind-payment')) {
    return [{ payment_hash: (path.startsWith('/tcb/') ? 'b' : 'a').repeat(64) }];
  }
  const made = { ...FOUNDRY_BODIES, ...GATE_BODIES }[path];
  const body = made === undefined ? example : await made(running);
  return [(body ?? undefined) as Json | undefined];
}
