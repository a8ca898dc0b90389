// Kills of the proxy, the service and the server behind it; `npm run test:mcp` does many more.

import assert from 'node:assert/strict';
import { killRun } from './kills.ts';

describe('killed at random moments, the MCP proxy', function () {
  this.timeout(120_000);

  it('lets no call reach the server without an earlier durable use of its own permit', async () => {
    const report = await killRun(3, { seed: 1, victims: ['service', 'server', 'proxy'] });
    assert.deepEqual(report.kills, { proxy: 1, service: 1, server: 1 });
    assert.ok(report.answered > 0 && report.received >= report.answered, JSON.stringify(report));
  });
});
