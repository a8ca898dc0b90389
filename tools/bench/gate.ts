// What agents wait for: an execute-gate that permits, one entry, and a payment bound to its act, two.

import { postBench } from './post.ts';
import type { Pair } from './post.ts';

const GATE = '/api/v1/execute-gate';
const POLICY = { rules: [{ id: 'payments', effect: 'allow', action_prefixes: ['payment.'] }] };
const ACT = JSON.stringify({
  action_type: 'payment.release',
  agent_id: 'agent:bench',
  amount_atomic: 42_000_000,
  currency: 'USDC',
  reversibility: 'irreversible',
});
const P99 = { at_least: 100, aim: 60 };

let payments = 0;

/** Every payment is another one: a bind that is repeated appends nothing. */
function payment(): string {
  payments += 1;
  const payment_hash = payments.toString(16).padStart(64, '0');
  return JSON.stringify({ payment_hash, action_type: 'payment.settle', agent_id: 'agent:bench' });
}

async function putPolicy({ service, headers }: Pair): Promise<void> {
  const policy = await fetch(`${service.url}${GATE}/policy`, {
    method: 'POST',
    headers,
    body: JSON.stringify(POLICY),
  });
  if (!policy.ok) throw new Error(`the policy is refused: ${await policy.text()}`);
}

/** POST execute-gate. */
export const gate = postBench(
  'gate',
  {
    ...{ name: 'gate.http', what: 'POST execute-gate with a durable PERMIT', path: GATE },
    ...{ body: ACT, at_least: 0.25, aim: 0.4, p99: P99 },
  },
  putPolicy,
);

/** POST bind-payment. */
export const bind = postBench(
  'bind',
  {
    ...{ name: 'bind.http', what: 'POST bind-payment, two durable entries' },
    ...{ path: '/api/v1/bind-payment', body: payment, at_least: 0.25, aim: 0.4, p99: P99 },
  },
  putPolicy,
);
