// A gateway whose live log is closed and followed by another one, as `actlog restore --successor` does it.

import assert from 'node:assert/strict';
import { openThreads } from '../../log/index.ts';
import { openSuccessor } from '../../log/succession.ts';
import { broughtTypes } from '../../tools/brought-types.ts';
import { run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';

/** Stops a gateway, closes its first live log for good, and serves the folder again with the second. */
export async function succeeded(running: Running): Promise<Running> {
  const {
    data,
    gateway: { register },
  } = running;
  await running.close(true);
  const threads = openThreads({ inline: true });
  const types = await broughtTypes({ PLUGINS: [] });
  try {
    await openSuccessor({ ...{ data, kind: 'live', number: 1 }, register, types, threads });
  } finally {
    await threads.close();
  }
  const again = await run({ DATA_DIR: data });
  assert.equal(again.gateway.logs.live.number, 2);
  return again;
}
