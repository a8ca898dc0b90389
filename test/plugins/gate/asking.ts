// A running gateway with a policy, and the acts that the tests of the gate use.

import type { Kind, Log } from '../../../log/index.ts';
import type { AnyPlugin, Json } from '../../../plugins/contract/index.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import type { ContractOptions } from '../../../tools/plugin-test/index.ts';
import { replayed } from '../astl/surfaces.ts';

/** Allows payments up to 100, holds those up to 1000, denies those above; denies exports, allows reads. */
export const POLICY = {
  rules: [
    {
      id: 'small',
      effect: 'allow',
      action_prefixes: ['payment.'],
      amount: { currency: 'USDC', at_most: 100 },
    },
    {
      id: 'large',
      effect: 'hold',
      action_prefixes: ['payment.'],
      amount: { currency: 'USDC', over: 100 },
    },
    {
      id: 'huge',
      effect: 'deny',
      action_prefixes: ['payment.'],
      amount: { currency: 'USDC', over: 1000 },
    },
    { id: 'no-exports', effect: 'deny', action_types: ['data.export'] },
    { id: 'reads', effect: 'allow', action_types: ['data.read', 'secret.read'] },
  ],
  receipt_required: [{ action_type: 'secret.read' }],
};

/** Paths of the gate. */
export const GATE = '/api/v1/execute-gate';

/** An act that POLICY permits; the outcome depends on `amount_atomic`. */
export const PAY = {
  action_type: 'payment.release',
  agent_id: 'agent:zebra-payer',
  amount_atomic: 50,
  currency: 'USDC',
};

/** A gateway with functions that send requests to the gate. */
export interface Asking {
  readonly running: Running;
  /** A key of another tenant in the sandbox, role carrier. */
  readonly other: string;
  /** A key of the first tenant in the sandbox without the role operator. */
  readonly agent: string;
  ask(
    body: object,
    key?: string | null,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  post(path: string, body: object, key?: string | null): Promise<Answer>;
  /** Asks for a permit, and returns the body of the answer. */
  permit(body?: object): Promise<Answer['json']>;
  log(kind?: Kind): Log;
  /** Replays both logs completely, and stops the gateway. */
  close(): Promise<void>;
}

/** Starts a gateway; POLICY is in force in the sandbox for the first tenant. */
export async function serveGate(
  env: Readonly<Record<string, string>> = {},
  plugins: readonly AnyPlugin[] = [],
): Promise<Asking> {
  const running = await run(env, { plugins });
  const { tenants, logs } = running.gateway;
  const [first] = tenants.list();
  const other = await tenants.issue({ tenant: 'rival', kind: 'sandbox' });
  const agent = await tenants.issue({ tenant: first?.tenant ?? '', kind: 'sandbox' });
  const keyed = (key: string | null) => (key === null ? {} : { key });
  const ask: Asking['ask'] = (body, key = agent.key, headers = {}) =>
    running.post(GATE, body, { ...keyed(key), headers });
  await running.post(`${GATE}/policy`, POLICY, { key: running.sandbox });
  return {
    running,
    other: other.key,
    agent: agent.key,
    ask,
    post: (path, body, key = running.sandbox) => running.post(path, body, keyed(key)),
    permit: async (body = {}) => (await ask({ ...PAY, ...body })).json,
    log: (kind = 'sandbox') => logs[kind],
    async close() {
      try {
        for (const kind of ['live', 'sandbox'] as const) replayed(logs[kind]);
      } finally {
        await running.close();
      }
    },
  };
}

/** For the contract suite: bodies that an example cannot state, by path. */
export const GATE_BODIES: NonNullable<ContractOptions['bodies']> = {
  [`${GATE}/permits/use`]: (running) => permitted(running),
  async [`${GATE}/permits/result`](running) {
    const use = await permitted(running);
    ok(await running.post(`${GATE}/permits/use`, use, { key: running.sandbox }));
    const { receipt, use_secret } = use;
    return { receipt, use_secret, status: 'completed', result_sha256: '00'.repeat(32) };
  },
};

/** Gets a permit for an act in the sandbox, and returns the request that uses it. */
async function permitted(running: Running): Promise<Record<string, Json>> {
  const { sandbox: key } = running;
  await running.post(`${GATE}/policy`, POLICY, { key });
  const { json } = await running.post(GATE, PAY, { key });
  return {
    ...json.preimage,
    receipt: json.decision_entry_id,
    use_secret: json.permit.use_secret,
  };
}
