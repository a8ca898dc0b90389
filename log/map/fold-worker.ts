// The thread of a fold: takes calls in order and answers them. See fold.ts.

import { parentPort } from 'node:worker_threads';
import { LogError } from '../errors.ts';
import { packProofs } from './fold-messages.ts';
import type { FoldAnswer, FoldCall } from './fold-messages.ts';
import { FoldTries } from './fold-tries.ts';

const port = parentPort;
if (port === null) throw new Error('the fold worker runs as a worker thread only');

const tries = new FoldTries();

port.on('message', (call: FoldCall) => {
  if (call.op === 'apply') {
    tries.apply(call.name, call.updates);
  } else if (call.op === 'release') {
    tries.release(call.name, call.version);
  } else {
    void answer(call).then((answered) => {
      port.postMessage(answered);
    });
  }
});

type Answered = Extract<FoldCall, { id: number }>;

async function answer(call: Answered): Promise<FoldAnswer> {
  try {
    return { id: call.id, result: await resultOf(call) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      id: call.id,
      failed: error instanceof LogError ? { code: error.code, message } : { message },
    };
  }
}

/** Runs at once up to the first wait, so that calls take effect in the order of their coming. */
function resultOf(call: Answered): unknown {
  switch (call.op) {
    case 'load':
      return tries.load(call.name, call.path);
    case 'cut':
      return tries.cut(call.name);
    case 'prove':
      return packProofs(tries.prove(call.name, call.version, call.skeys));
    case 'save':
      return tries.save(call.name, call.path, call.covered);
    case 'close':
      return tries.close(call.name);
  }
}
