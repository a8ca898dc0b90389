// The thread of long allocations: one task after the other, each answered. Started by sharp-pool.ts.

import { parentPort } from 'node:worker_threads';
import type { SharpAnswer, SharpRequest } from './sharp-pool.ts';
import { shapleyOf } from './shapley.ts';

const port = parentPort;
if (port === null) throw new Error('sharp-thread.ts runs as a worker of sharp-pool.ts');

port.on('message', ({ id, task }: SharpRequest) => {
  let answer: SharpAnswer;
  try {
    answer = { id, result: shapleyOf(task) };
  } catch (error) {
    answer = { id, failed: error instanceof Error ? error.message : String(error) };
  }
  port.postMessage(answer);
});
