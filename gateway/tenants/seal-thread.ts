// The sealing thread: answers batches in their order. Started by seal-pool.ts.

import { parentPort } from 'node:worker_threads';
import { sealBatch } from './sealing.ts';
import type { Unsealed } from './sealing.ts';

if (parentPort === null) throw new Error('seal-thread.ts runs as a worker of seal-pool.ts');
const port = parentPort;

port.on('message', (unsealed: Unsealed) => {
  const batch = sealBatch(unsealed);
  port.postMessage(batch, [batch.bytes.buffer, batch.lengths.buffer]);
});
