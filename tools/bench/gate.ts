// What agents wait for: an execute-gate that permits, one entry; a payment bound to the decision behind it, one;
// and one bound to an act alone, two: the note that no decision was named precedes it.

import { postBench } from './post.ts';
import type { Pair } from './post.ts';
import type { Bench } from './figure.ts';

const GATE = '/api/v1/execute-gate';
const BIND = '/api/v1/bind-payment';
const POLICY = { rules: [{ id: 'payments', effect: 'allow', action_prefixes: ['payment.'] }] };
const ACT = JSON.stringify({
  action_type: 'payment.release',
  agent_id: 'agent:bench',
  amount_atomic: 42_000_000,
  currency: 'USDC',
  reversibility: 'irreversible',
});
const P99 = { p99: { at_least: 100, aim: 60 } };
const LIMITS = {
  gate: { ...P99, at_least: 0.25, aim: 0.33 },
  bind: { ...P99, at_least: 0.18, aim: 0.25 },
};

let payments = 0;

/** Every payment is another one: a bind that is repeated appends nothing. */
function payment(decision: object = {}): string {
  payments += 1;
  const payment_hash = payments.toString(16).padStart(64, '0');
  const act = { action_type: 'payment.settle', agent_id: 'agent:bench' };
  return JSON.stringify({ payment_hash, ...act, ...decision });
}

async function posted({ service, headers }: Pair, path: string, body: string): Promise<Response> {
  const answer = await fetch(service.url + path, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`${path} refuses: ${await answer.text()}`);
  return answer;
}

async function putPolicy(pair: Pair): Promise<void> {
  await posted(pair, `${GATE}/policy`, JSON.stringify(POLICY));
}

/** POST execute-gate. */
export const gate = postBench(
  'gate',
  {
    ...{ ...LIMITS.gate, name: 'gate.http', what: 'POST execute-gate with a durable PERMIT' },
    ...{ path: GATE, body: ACT },
  },
  putPolicy,
);

let decision: { readonly entry_id: string } | undefined;

const named = postBench(
  'bind',
  {
    ...{ ...LIMITS.bind, name: 'bind.http', what: 'POST bind-payment that names its decision' },
    ...{ path: BIND, body: () => payment(decision) },
  },
  async (pair) => {
    await putPolicy(pair);
    const answer = await posted(pair, GATE, ACT);
    const { decision_entry_id } = (await answer.json()) as { decision_entry_id: string };
    decision = { entry_id: decision_entry_id };
  },
);

const unnamed = postBench('bind', {
  ...{ ...LIMITS.bind, name: 'bind.http_unnamed', what: 'POST bind-payment, two durable entries' },
  ...{ path: BIND, body: payment },
});

/** POST bind-payment. */
export const bind: Bench = {
  name: 'bind',
  run: async (options) => [...(await named.run(options)), ...(await unnamed.run(options))],
};
