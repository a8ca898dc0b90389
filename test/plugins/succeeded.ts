// A gateway whose live log is closed and has a successor, as `actlog restore --successor` makes it.

import assert from 'node:assert/strict';
import { openLog, openSuccessor, openThreads } from '../../log/index.ts';
import { broughtTypes } from '../../tools/brought-types.ts';
import { IN_CLUSTER } from '../cluster/suite-cluster.ts';
import { run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import { adminCall } from '../support/admin-call.ts';

/**
 * Stops a gateway, closes its newest live log, and starts a gateway on the folder with the successor. With `carried`
 * false, the successor already has a tenant, as after an earlier release, and so nothing is carried.
 */
export async function succeeded(
  running: Running,
  { carried = true }: { readonly carried?: boolean } = {},
): Promise<Running> {
  const { data, gateway } = running;
  const { register } = gateway;
  const { number } = gateway.logs.live;
  if (IN_CLUSTER) {
    assert.ok(carried, 'an earlier release had no clusters');
    await adminCall(data, 'cluster succeed', { log: 'live', number });
    await running.close(true);
    return run({ DATA_DIR: data });
  }
  await running.close(true);
  const threads = openThreads({ inline: true });
  const types = await broughtTypes({ PLUGINS: [] });
  const opening = { data, kind: 'live', register, types, threads } as const;
  try {
    await openSuccessor({ ...opening, number });
    if (!carried) {
      const log = await openLog({ ...opening, number: number + 1, origin_base: 'test.example' });
      await log.registerTenant('0123456789abcdefghijkl', '0'.repeat(64));
      await log.close();
    }
  } finally {
    await threads.close();
  }
  const again = await run({ DATA_DIR: data });
  assert.equal(again.gateway.logs.live.number, number + 1);
  return again;
}
