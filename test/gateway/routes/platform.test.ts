// Tests of gateway/routes/platform.ts.

import assert from 'node:assert/strict';
import { Validator } from '@seriousme/openapi-schema-validator';
import { native } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { verifyCheckpoint } from '../../../log/verify.ts';
import { skipInCluster } from '../../cluster/suite-cluster.ts';
import { settled } from '../../support/settled.ts';
import { Clock } from '../running.ts';
import { problem, serve } from './served.ts';
import type { Served } from './served.ts';

/** The part of a schema that the tests read. */
interface Documented {
  readonly properties: Readonly<Record<string, { readonly description?: string }>>;
}

describe('gateway/routes/platform', () => {
  let served: Served;
  const clock = new Clock();

  before(async () => {
    served = await serve({}, { clock });
    await served.classify(served.live);
    await served.classify(served.sandbox);
    await served.classify(served.live, { message: '' });
    // The entries counted below are complete.
    await settled(served.gateway.logs.live, served.gateway.logs.sandbox);
  });

  after(() => served.close());

  it('is healthy when everything works', async () => {
    const { uptime_seconds, witnesses: _, ...health } = (await served.get('/health')).json();
    const audit_log_entries = served.gateway.logs.live.size();
    const well = { status: 'ok', storage: 'leveldb', degraded: [], reasons: [] };
    assert.deepEqual(health, { ...well, audit_log_entries });
    assert.ok((uptime_seconds as number) >= 0);
  });

  it('shows every component as a status page does', async function () {
    skipInCluster(this, 'a node shows the cluster as one more component');
    const { status, components, page } = (await served.get('/status.json')).json();
    assert.equal((status as JsonObject)['indicator'], 'none');
    assert.equal((page as JsonObject)['url'], 'http://test.example');
    const ids = (components as unknown as { id: string; status: string }[]).map((c) => {
      assert.equal(c.status, 'operational');
      return c.id;
    });
    const logs = ['live_log', 'live_checkpoints', 'sandbox_log', 'sandbox_checkpoints'];
    assert.deepEqual(ids, [...logs, 'storage', 'classification']);
  });

  it('counts attempts and outcomes of the live log, and the invariant holds', async () => {
    const metrics = (await served.get('/metrics/public')).json();
    const counts = { attempts: 2, safe: 1, violation: 0, crisis: 0, error: 1 };
    assert.deepEqual(metrics['classifications'], counts);
    assert.deepEqual(metrics['last_24_hours'], counts);
    const formula = 'attempts = safe + violation + crisis + error';
    assert.deepEqual(metrics['invariant'], { formula, holds: true });
    const { live, sandbox } = served.gateway.logs;
    assert.equal(metrics['chain_depth'], live.size());
    assert.deepEqual(metrics['sandbox'], { chain_depth: sandbox.size() });
    const { note, size } = metrics['checkpoint'] as { note: string; size: number };
    const trust = { origin: live.origin, vkey: live.vkey, keys: [] };
    assert.equal(verifyCheckpoint(note, trust, { suite: native }).size, size);
  });

  it('shows the tenant of a key', async () => {
    const {
      tenant_ref: _,
      key_id: __,
      ...me
    } = (await served.get('/api/v1/me', served.live)).json();
    assert.deepEqual(me, {
      ok: true,
      api_base: 'http://test.example',
      role: 'service',
      sandbox: false,
      tenant_id: 'first',
      scopes: [],
      entities: [],
      verify_url: 'http://test.example/verify',
    });
    assert.equal((await served.get('/api/v1/me', served.sandbox)).json()['sandbox'], true);
    const without = await served.get('/api/v1/me');
    assert.deepEqual(problem(without), { status: 401, code: 'api_key_missing' });
  });

  it('shows the recorded scopes of a key, which no route requires', async () => {
    const order = {
      tenant: 'scoped',
      kind: 'live',
      role: 'service',
      scopes: ['nothing'],
    } as const;
    const { key } = await served.gateway.tenants.issue(order);
    assert.deepEqual((await served.get('/api/v1/me', key)).json()['scopes'], ['nothing']);
    assert.equal((await served.get('/metrics', key)).status, 200);
    const { components } = (await served.get('/openapi.json')).json() as unknown as {
      readonly components: { readonly schemas: Record<string, Documented> };
    };
    const { scopes } = components.schemas['KeyMetadata']?.properties ?? {};
    assert.match(scopes?.description ?? '', /recorded and not enforced/);
  });

  it('shows Prometheus metrics to keys of the service only', async () => {
    for (const role of ['carrier', 'operator'] as const) {
      const { key } = await served.gateway.tenants.issue({ tenant: 'acme', kind: 'live', role });
      assert.deepEqual(problem(await served.get('/metrics', key)), {
        status: 403,
        code: 'role_forbidden',
      });
    }
    assert.deepEqual(problem(await served.get('/metrics')), {
      status: 401,
      code: 'api_key_missing',
    });
    const metrics = await served.get('/metrics', served.live);
    assert.match(metrics.bytes.toString(), /^actlog_log_entries\{kind="live"\} \d+$/m);
  });

  it('describes itself as OpenAPI 3.1.0, valid by a public validator, with every route', async () => {
    const document = (await served.get('/openapi.json')).json() as JsonObject & {
      readonly paths: Readonly<Record<string, JsonObject>>;
    };
    const { valid, errors } = await new Validator().validate({ ...document });
    assert.deepEqual(errors ?? [], []);
    assert.equal(valid, true);
    assert.equal(document['openapi'], '3.1.0');
    assert.equal((document['info'] as JsonObject)['version'], '2.0.0');
    for (const { method, path } of served.gateway.routes()) {
      const item = document.paths[path.replace('*}', '}')];
      assert.ok(item !== undefined && method.toLowerCase() in item, `${method} ${path}`);
    }
  });

  // The last test, because no log accepts entries after it has moved the clock.
  it('is degraded if the newest checkpoint is too old or the clock has jumped', async () => {
    const twice = 1_200_000;
    const { live, sandbox } = served.gateway.logs;
    // A checkpoint published later would be recent under the moved clock.
    await settled(live, sandbox);
    const stale = Math.max(twice - (clock.wall() - live.published().published_at_ms), 0) + 1000;
    clock.pass(stale);
    const health = (await served.get('/health')).json();
    assert.equal(health['status'], 'degraded');
    const at = (health['degraded'] as readonly string[]).indexOf('live_checkpoints');
    const reasons = health['reasons'] as readonly string[];
    assert.equal(reasons[at], 'the newest checkpoint is too old');
    const { status, components } = (await served.get('/status.json')).json();
    assert.equal((status as JsonObject)['indicator'], 'minor');
    const found = (components as unknown as JsonObject[]).find(
      ({ id }) => id === 'live_checkpoints',
    );
    assert.equal(found?.['status'], 'degraded_performance');
  });
});

describe('gateway/routes/platform: the clock', () => {
  const CLOCK_PARTS = ['live_log', 'sandbox_log'];
  let served: Served;
  // A test that is left out has started nothing.
  afterEach(() => (served as Served | undefined)?.close());

  /** The status, the degraded parts and the reasons without their numbers. */
  async function health(): Promise<readonly unknown[]> {
    const { status, degraded, reasons } = (await served.get('/health')).json();
    const words = (reasons as readonly string[]).map((reason) => reason.replace(/-?\d+/, 'n'));
    return [status, degraded, words];
  }

  it('is why a log takes nothing whose last entry is ahead of the clock at start', async function () {
    skipInCluster(this, 'each node confirms its own clock');
    const clock = new Clock();
    served = await serve({}, { clock });
    await served.classify(served.live);
    await served.classify(served.sandbox);
    await served.close(true);
    clock.pass(-3_600_000);
    served = await serve({ DATA_DIR: served.data }, { clock });
    const why = "takes no entries: the clock is n ms behind the log's last entry";
    assert.deepEqual(await health(), ['degraded', CLOCK_PARTS, [why, why]]);
    for (const log of Object.values(served.gateway.logs)) log.operator.confirmClock();
    assert.deepEqual(await health(), ['ok', [], []]);
  });

  it('stops a log from accepting entries after a jump, and does not change the uptime', async () => {
    const clock = new Clock();
    served = await serve({}, { clock });
    // An entry without a checkpoint would be late under the moved clock.
    await settled(served.gateway.logs.live, served.gateway.logs.sandbox);
    clock.pass(5000);
    clock.jump(100_000);
    const why = 'takes no entries: the clock moved by n ms';
    assert.deepEqual(await health(), ['degraded', CLOCK_PARTS, [why, why]]);
    const up = (await served.get('/health')).json()['uptime_seconds'] as number;
    assert.ok(up >= 5 && up < 100, String(up));
  });
});
