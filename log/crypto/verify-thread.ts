// A verifying thread: answers batches in their order. Started by verify-pool.ts.

import { parentPort } from 'node:worker_threads';
import { verifyBatch } from './verify-batch.ts';
import type { VerifyAnswer, VerifyRequest } from './verify-batch.ts';

if (parentPort === null) throw new Error('verify-thread.ts runs as a worker of verify-pool.ts');
const port = parentPort;

port.on('message', ({ id, batch }: VerifyRequest) => {
  const holds = verifyBatch(batch);
  const answer: VerifyAnswer = { id, holds };
  port.postMessage(answer, [holds.buffer]);
});
