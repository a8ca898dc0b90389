// The signing thread: keeps keys by id, answers batches in their order. Started by sign-pool.ts.

import type { KeyObject } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { signBatch } from './sign-batch.ts';
import type { SignAnswer, SignRequest } from './sign-batch.ts';

if (parentPort === null) throw new Error('sign-thread.ts runs as a worker of sign-pool.ts');
const port = parentPort;
const keys = new Map<string, KeyObject>();

port.on('message', (request: SignRequest) => {
  if ('key' in request) {
    keys.set(request.keyId, request.key);
    return;
  }
  const { id, keyId, batch } = request;
  try {
    const key = keys.get(keyId);
    if (key === undefined) throw new Error('the signing thread has no such key');
    const signatures = signBatch(key, batch);
    const answer: SignAnswer = { id, signatures };
    port.postMessage(answer, [signatures.buffer]);
  } catch (error) {
    const answer: SignAnswer = { id, error: error instanceof Error ? error.message : 'unknown' };
    port.postMessage(answer);
  }
});
