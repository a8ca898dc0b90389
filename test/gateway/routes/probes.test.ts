// /livez and /readyz, by which an orchestrator restarts a process or takes it out of a load balancer. gateway/API.md §13.

import assert from 'node:assert/strict';
import { IN_CLUSTER } from '../../cluster/suite-cluster.ts';
import type { Body } from '../../support/body.ts';
import { codeOf } from '../http/envelope.ts';
import { ok, run } from '../running.ts';

/** A probe without what a node adds: its role and how far it follows. */
function withoutNode(body: Body): Body {
  if (!IN_CLUSTER) return body;
  const { role, leader, applied, lag_ms, ...rest } = body;
  return rest;
}

describe('gateway/routes/probes', () => {
  it('answer when everything works, without a key and without a rate limit', async () => {
    const running = await run({ RATE_LIMITS: 'on' });
    try {
      for (const path of ['/livez', '/readyz', '/readyz?for=reads', '/readyz?for=writes']) {
        const answer = await running.get(path);
        assert.equal(answer.headers.get('cache-control'), 'no-store');
        assert.equal(answer.headers.get('ratelimit'), null);
        const body =
          path === '/livez' ? { status: 'ok' } : { ready: true, degraded: [], reasons: [] };
        assert.deepEqual(withoutNode(ok(answer)), body);
        assert.equal((await running.ask('HEAD', path)).status, 200);
      }
      assert.equal(codeOf(await running.get('/readyz?for=tea'), 400), 'parameter_invalid');
    } finally {
      await running.close();
    }
  });

  it('report that writes are refused, and stay ready for reads', async () => {
    const lines: string[] = [];
    const running = await run({}, { lines: (line) => lines.push(line) });
    try {
      running.clock.jump(3_600_000);
      assert.equal(ok(await running.get('/livez')).status, 'ok');
      const { ready, degraded, reasons } = ok(await running.get('/readyz'));
      assert.equal(ready, true);
      assert.match(reasons[degraded.indexOf('live_log')], /takes no entries: the clock moved/);
      const writes = await running.get('/readyz?for=writes');
      assert.equal(codeOf(writes, 503), 'not_ready');
      assert.equal(writes.headers.get('retry-after'), '5');
      assert.deepEqual(writes.json.degraded, degraded);
      assert.match(writes.json.reasons[degraded.indexOf('live_log')], /the clock moved/);
      assert.equal(
        lines.filter((line) => line.includes('not_ready')).length,
        0,
        'nothing has failed',
      );
    } finally {
      await running.close();
    }
  });

  it('are not ready while the service stops; it keeps serving for SHUTDOWN_DELAY_MS', async () => {
    const running = await run({ SHUTDOWN_DELAY_MS: '1500' });
    const closing = running.close();
    try {
      assert.equal(codeOf(await running.get('/readyz'), 503), 'not_ready');
      assert.equal(codeOf(await running.get('/readyz?for=writes'), 503), 'not_ready');
      assert.equal(ok(await running.get('/livez')).status, 'ok');
      const body = { message: 'Hello' };
      ok(await running.post('/api/v1/classify', body, { key: running.live }));
    } finally {
      await closing;
    }
    await assert.rejects(running.get('/livez'));
  });
});
