// Calls every route of the service with a key of every role. gateway/API.md §3.1.

import assert from 'node:assert/strict';
import { isVisitorRoute } from '../../gateway/host/visitors.ts';
import { ROLES } from '../../plugins/contract/index.ts';
import type { Role, Route } from '../../plugins/contract/index.ts';
import { run } from './running.ts';
import type { Running } from './running.ts';

/** Routes that act on the service: no key of a tenant may call them. */
const SERVICE = ['GET /api/v1/service', 'GET /metrics', 'POST /api/v1/require-receipt/conformance'];

/** Routes that make decisions of a tenant. */
const OPERATOR = [
  'POST /api/v1/spoliation-seal/release',
  'POST /api/v1/execute-gate/policy',
  'POST /api/v1/execute-gate/holds/{hold_id}',
];

/** The routes that an insured may call in addition to those without a key. */
const INSURED = [
  'GET /api/v1/me',
  'GET /carrier/v1/insured',
  'GET /carrier/v1/insured/{slug}/compliance',
  'POST /carrier/v1/mandates/accept',
];

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

function mayCall(role: Role, route: Route): boolean {
  const name = nameOf(route);
  if (SERVICE.includes(name)) return role === 'service';
  if (OPERATOR.includes(name)) return role === 'service' || role === 'operator';
  if (role !== 'insured') return true;
  return INSURED.includes(name) || route.access === 'read';
}

describe('roles of API keys', () => {
  let running: Running;
  const keys = new Map<Role, string>();
  before(async () => {
    running = await run();
    for (const role of ROLES) {
      const { key } = await running.gateway.tenants.issue({ tenant: 'acme', kind: 'live', role });
      keys.set(role, key);
    }
  });
  after(() => running.close());

  const asked = async (route: Route, key?: string) => {
    const path = route.path.replace(/\{\w+\*?\}/g, 'x');
    const body = route.method === 'POST' ? { body: {} } : {};
    return running.ask(route.method, path, { ...body, ...(key === undefined ? {} : { key }) });
  };

  it('give access to their routes only', async () => {
    const routes = running.gateway.routes().filter((route) => !isVisitorRoute(route));
    const names = routes.map(nameOf);
    for (const name of [...SERVICE, ...OPERATOR, ...INSURED]) {
      assert.ok(names.includes(name), `${name} is a route`);
    }
    for (const route of routes) {
      for (const role of ROLES) {
        const { status, text } = await asked(route, keys.get(role));
        const refused = status === 403 && text.includes('this request needs a key of role');
        assert.equal(refused, !mayCall(role, route), `${role} at ${nameOf(route)}: ${text}`);
      }
      const { status } = await asked(route);
      const keyed = route.access === 'key' || typeof route.access === 'object';
      assert.equal(status === 401, keyed, `without a key at ${nameOf(route)}`);
    }
  });

  it('give no access to demonstrations, which take no key', async () => {
    for (const route of running.gateway.routes().filter(isVisitorRoute)) {
      for (const role of ROLES) {
        assert.equal((await asked(route, keys.get(role))).status, 401, nameOf(route));
      }
    }
  });

  it('are documented with each operation', async () => {
    const { json } = await running.get('/openapi.json');
    for (const route of running.gateway.routes()) {
      const operation = json.paths[route.path.replaceAll('*}', '}')][route.method.toLowerCase()];
      if (isVisitorRoute(route)) continue;
      assert.deepEqual(
        operation['x-roles'],
        ROLES.filter((role) => mayCall(role, route)),
        nameOf(route),
      );
    }
  });

  it('give an insured no access to data of its carrier', async () => {
    const message = 'Schedule the interview for Monday';
    const classified = await running.post(
      '/api/v1/classify',
      { message },
      { key: keys.get('carrier')! },
    );
    const { entry_id } = classified.json as { entry_id: string };
    const path = `/receipt/lookup?entry_id=${entry_id}`;
    for (const role of ROLES) {
      const { json, text } = await running.get(path, { key: keys.get(role)! });
      assert.equal(json.found, true);
      assert.equal(text.includes(message), role !== 'insured', role);
    }
  });
});
