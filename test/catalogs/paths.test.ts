// The service answers every path in a catalog or in the list of the interface: a GET is not a 404, and a POST is
// declared.

import assert from 'node:assert/strict';
import { run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import { copiedSections } from './tables.ts';

const CATALOGS = [
  ...['relay', 'clear', 'nap', 'clearing', 'orn', 'absence', 'pdtr', 'require-receipt'].map(
    (layer) => `/api/v1/${layer}/catalog`,
  ),
  ...['issuer-pays', 'astl', 'stack'].map((layer) => `/api/v1/${layer}/catalog`),
  ...['/signal/signal-catalog.json', '/api/v1/gam/credits/catalog', '/.well-known/x402'],
  '/api/v1/foundry/catalog.json',
];

/** Pages and parts that are not built yet; their paths are not requested. */
const NOT_YET: readonly RegExp[] = [
  /^\/api\/v1\/inference(\/|$)/,
  /^\/api\/v1\/foundry\/pipeline\/run$/,
];

const isPending = (path: string): boolean => NOT_YET.some((pattern) => pattern.test(path));

describe('the paths of the catalogs', () => {
  let running: Running;
  let tenant = '';
  before(async () => {
    running = await run();
    tenant = (await running.get('/api/v1/me', { key: running.live })).json.tenant_id as string;
    await running.post('/api/v1/relay/enroll', { partner: 'Acme' }, { key: running.live });
  });
  after(() => running.close());

  const filled = (path: string): string =>
    path.replace('{partner}', 'acme').replace('{tenant_id}', tenant);

  /** Whether the path is declared; a wrong method or a missing parameter is not a 404. */
  async function isAnswered(path: string): Promise<boolean> {
    const url = running.url + filled(path);
    const { status } = await fetch(url, {
      redirect: 'manual',
      headers: { 'X-API-Key': running.live },
    });
    assert.ok(status < 500, `${path} answers ${String(status)}`);
    return status !== 404;
  }

  for (const catalog of CATALOGS) {
    it(`${catalog} is served, and so is each path in it`, async function () {
      if (isPending(catalog)) this.skip();
      const { status, json } = await running.get(catalog);
      assert.equal(status, 200);
      const paths = new Set(pathsIn(json).filter((path) => !isPending(path)));
      assert.ok(paths.size > 0);
      const missing: string[] = [];
      for (const path of paths) if (!(await isAnswered(path))) missing.push(path);
      assert.deepEqual(missing, []);
      const apis = (json.apis ?? {}) as Record<string, { method: string; path: string }>;
      const declared = running.gateway.routes();
      for (const { method, path } of Object.values(apis)) {
        if (isPending(path)) continue;
        const shape = path.replace(/\{\w+\}/g, '{}');
        assert.ok(
          declared.some(
            (route) => route.method === method && route.path.replace(/\{\w+\}/g, '{}') === shape,
          ),
          `${method} ${path}`,
        );
      }
    });
  }

  it('every path in the list of the interface is answered', async () => {
    const { prose } = copiedSections['Catalog and product paths'] ?? { prose: '' };
    const listed = [...prose.matchAll(/\/[A-Za-z0-9./_{}-]*[A-Za-z0-9}]/g)].map(([path]) => path);
    assert.ok(listed.length > 50, String(listed.length));
    const missing: string[] = [];
    for (const path of new Set(listed))
      if (!isPending(path) && !(await isAnswered(path))) missing.push(path);
    assert.deepEqual(missing, []);
  });
});

/** Every path in a document: as a path, as a URL of this service, or after a method. */
function pathsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const text = value
      .replace(/^(GET|POST) (?=\/)/, '')
      .replace(/^http:\/\/test\.example(?=\/)/, '');
    return text.startsWith('/') ? [text] : [];
  }
  if (value === null || typeof value !== 'object') return [];
  return Object.values(value).flatMap(pathsIn);
}
