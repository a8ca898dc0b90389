// What tenants ask of the simulated gateway, and what they hold it to.

import { createHash } from 'node:crypto';
import type { JsonObject } from '../../log/index.ts';
import { checkAbsence } from './gateway-oracle.ts';
import { GatewayClients, NAMES } from './gateway-clients.ts';
import type { GatewayStep } from './gateway-plan.ts';
import type { Serving } from './gateway-process.ts';
import type { Answer } from './gateway-requests.ts';
import { Broken, START_MS } from './world/world.ts';

/** A permit that a tenant was given. */
interface Permit {
  readonly permit_id: string;
  readonly tenant: number;
  readonly act: number;
  readonly preimage: JsonObject;
  readonly use_secret: JsonObject | undefined;
  /** Requests that may have used it up, and the one that was told that it has. */
  readonly tried: Set<number>;
  used: number | null;
}

/** What an answer says of it. */
type Given = Pick<Permit, 'permit_id' | 'use_secret'>;

interface Hold {
  readonly hold_id: string;
  readonly tenant: number;
  readonly act: number;
  ended: boolean;
}

const POLICIES: readonly JsonObject[] = [
  {
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
      { id: 'exports', effect: 'deny', action_prefixes: ['data.'] },
    ],
  },
  { rules: [{ id: 'all', effect: 'hold', action_prefixes: ['payment.'] }] },
  {
    rules: [{ id: 'all', effect: 'allow', action_prefixes: ['payment.'] }],
    receipt_required: [{ action_type: 'payment.refund' }],
  },
  { rules: [{ id: 'none', effect: 'deny', action_prefixes: ['payment.'] }] },
];

const ACTS = ['payment.release', 'payment.quote', 'payment.refund', 'data.export'] as const;

/** What is asked of the gate as act `n`. Every other one has a time of its own, so that it can be asked about again. */
const actOf = (n: number): JsonObject => ({
  action_type: ACTS[n % ACTS.length] ?? '',
  agent_id: 'agent:simulated',
  scope: 'simulation',
  amount_atomic: n % 2 === 0 ? 70 : 700,
  currency: 'USDC',
  session_id: `act-${String(n)}`,
  ...(n % 3 === 2 ? {} : { timestamp_ms: START_MS - 1000 * (n + 1) }),
});

/** The members of an act that its action_ref covers. */
function preimageOf({
  action_type = null,
  agent_id = null,
  scope = null,
  timestamp_ms = null,
}: JsonObject): JsonObject {
  return { action_type, agent_id, scope, timestamp_ms };
}

/** The codes for an entity that its tenant has not claimed yet. */
const UNCLAIMED = ['tenant_forbidden', 'parameter_invalid'];

/** The address that a tenant subscribes. */
export const hookOf = (tenant: number): string => `https://hook.example/tenant/${String(tenant)}`;

/** A time that names a request in the entries that it makes: long ago, so that no clock overtakes it. */
export const markOf = (n: number): number => START_MS - 4 * 3_600_000 - n;

export class GatewayTenants extends GatewayClients {
  readonly #permits: Permit[] = [];
  readonly #holds: Hold[] = [];
  /** Tenants that have subscribed to results that nobody could read. */
  protected readonly subscribed = new Set<number>();
  /** What receivers must be told: of which entry, at which address. */
  protected readonly told: { readonly entry_id: string; readonly address: string }[] = [];
  /** The visits of each partner's links: those that were sent, and those whose answer says that they are counted. */
  protected readonly partners = new Map<string, { acknowledged: number; sent: number }>();

  protected request(serving: Serving, step: Extract<GatewayStep, { once: boolean }>): void {
    const { tenant, once, lost } = step;
    const n = this.asked.length;
    const mark = { event_at_ms: markOf(n) };
    const secret = `secret-${String(n)}`;
    const entity = NAMES[tenant] ?? '';
    const post = (path: string, body: JsonObject) => ({ method: 'POST', path, body }) as const;
    const shared = { tenant, once };
    switch (step.do) {
      case 'classify': {
        const message = step.hook ? ' ' : `note ${secret}`;
        const webhook_url = `https://hook.example/entry/${String(n)}`;
        const body = {
          ...{ message, session_id: `s${String(step.session)}`, ...mark },
          ...(step.hook ? { webhook_url } : {}),
          ...(step.surface === null ? {} : { entity, surface: step.surface }),
        };
        const addresses = step.hook ? [webhook_url] : [];
        if (step.hook && this.subscribed.has(tenant)) addresses.push(hookOf(tenant));
        const answered = ({ json }: Answer): void => {
          const entry_id = json['entry_id'] as string;
          this.keepPrivate(entry_id, tenant, 'message', message);
          for (const address of addresses) this.told.push({ entry_id, address });
        };
        const may = step.surface === null ? [] : UNCLAIMED;
        const request = post('/api/v1/classify', body);
        this.ask(serving, { ...shared, request, may, answered }, lost);
        return;
      }
      case 'policy': {
        const policy = POLICIES[step.policy] ?? {};
        this.ask(
          serving,
          { ...shared, request: post('/api/v1/execute-gate/policy', policy) },
          lost,
        );
        return;
      }
      case 'gate':
        this.#gate(serving, step, mark);
        return;
      case 'use':
        // Without a permit, one asks for it first; so it is with a hold.
        if (this.#permits.length > 0) this.#use(serving, step);
        else this.#gate(serving, { ...step, do: 'gate', act: 2, shown: false }, mark);
        return;
      case 'resolve':
        if (this.#holds.length > 0) this.#resolve(serving, step);
        else this.#gate(serving, { ...step, do: 'gate', act: 1, shown: false }, mark);
        return;
      case 'bind': {
        const payment_hash = createHash('sha256').update(String(step.payment)).digest('hex');
        const body = {
          ...{ payment_hash, action_type: 'payment.release', agent_id: 'agent:simulated' },
          ...{ scope: 'simulation', timestamp_ms: START_MS - 1000, seq: step.seq },
          ...{ terminal: step.seq === 1, amount_atomic: 42, currency: 'USDC' },
          ...{ session_id: `act-${String(step.payment)}`, ...mark },
        };
        const may = ['payment_already_bound'];
        this.ask(serving, { ...shared, request: post('/api/v1/bind-payment', body), may }, lost);
        return;
      }
      case 'manifest': {
        const { interval_ms } = step;
        const every = interval_ms === null ? {} : { heartbeat_interval_ms: interval_ms };
        const body = { entity, surfaces: ['bind', 'pay'], ...every };
        this.ask(serving, { ...shared, request: post('/api/v1/astl/publish', body) }, lost);
        return;
      }
      case 'beat': {
        const body = { entity, surface: step.surface, interval_ms: 20 };
        const may = UNCLAIMED;
        this.ask(serving, { ...shared, request: post('/api/v1/astl/heartbeat', body), may }, lost);
        return;
      }
      case 'silence': {
        const body = { session_id: `s${String(step.session)}`, context: secret };
        this.ask(serving, { ...shared, request: post('/silence-receipt', body) }, lost);
        return;
      }
      case 'enroll': {
        const body = { partner: `partner ${String(tenant)}` };
        const answered = ({ json }: Answer): void => {
          const slug = json['slug'] as string;
          if (!this.partners.has(slug)) this.partners.set(slug, { acknowledged: 0, sent: 0 });
        };
        const request = post('/api/v1/relay/enroll', body);
        this.ask(serving, { ...shared, request, answered }, lost);
        return;
      }
      case 'absence': {
        const to_ms = Math.max(1, serving.gateway.logs.live.published().map_head_ms);
        const from_ms = Math.max(0, to_ms - step.length_ms);
        const body = { entity, surface: step.surface, from_ms, to_ms };
        const may = ['window_not_closed'];
        const request = post('/api/v1/absence/witness', body);
        const answered = ({ json }: Answer): void => {
          // The log of the process that answers, which may be a later one.
          if (this.live !== null)
            checkAbsence(this.live, json['witness'] as JsonObject, body, this.world.wall_ms);
        };
        this.ask(serving, { ...shared, request, may, answered }, lost);
        return;
      }
    }
  }

  #gate(
    serving: Serving,
    { tenant, once, lost, act, shown }: Extract<GatewayStep, { do: 'gate' }>,
    mark: JsonObject,
  ): void {
    const permit = shown
      ? this.#permits.findLast((one) => one.tenant === tenant && one.act === act)
      : undefined;
    const receipt =
      permit === undefined
        ? {}
        : {
            ...{ receipt: permit.permit_id, timestamp_ms: permit.preimage['timestamp_ms'] ?? 0 },
            ...(permit.use_secret === undefined ? {} : { use_secret: permit.use_secret }),
          };
    const n = this.asked.length;
    const body = { ...actOf(act), ...mark, ...receipt } as JsonObject;
    const may = ['receipt_required', ...(permit === undefined ? [] : ['permit_used'])];
    permit?.tried.add(n);
    const answered = ({ json }: Answer): void => {
      if (permit !== undefined && json['permit_use_receipt'] !== undefined) spend(permit, n);
      if (json['outcome'] === 'HOLD') {
        const hold_id = json['hold_id'] as string;
        if (!this.#holds.some((one) => one.hold_id === hold_id)) {
          this.#holds.push({ hold_id, tenant, act, ended: false });
        }
      }
      if (json['outcome'] === 'PERMIT') this.#given(json, tenant, act);
    };
    const refused = (code: string): void => {
      if (permit !== undefined) this.#refusedUse(permit, n, code);
    };
    const request = { method: 'POST', path: '/api/v1/execute-gate', body } as const;
    this.ask(serving, { tenant, once, request, may, answered, refused }, lost);
  }

  #given(json: JsonObject, tenant: number, act: number): void {
    const { permit_id, use_secret } = json['permit'] as unknown as Given;
    if (this.#permits.some((one) => one.permit_id === permit_id)) return;
    const preimage = (json['preimage'] ?? {}) as JsonObject;
    this.#permits.push({
      ...{ permit_id, tenant, act, preimage, use_secret, tried: new Set(), used: null },
    });
  }

  #use(serving: Serving, step: Extract<GatewayStep, { do: 'use' }>): void {
    const permit = nth(this.#permits, step.permit);
    if (permit === undefined) return;
    const { once, lost, twice } = step;
    const { tenant, preimage, permit_id, use_secret } = permit;
    for (let times = twice ? 2 : 1; times > 0; times -= 1) {
      const n = this.asked.length;
      permit.tried.add(n);
      const body = {
        ...{ ...preimage, receipt: permit_id },
        ...(use_secret === undefined ? {} : { use_secret }),
      };
      // The gate may have given a newer permit for the act.
      const may = ['permit_used', 'parameter_invalid'];
      const request = { method: 'POST', path: '/api/v1/execute-gate/permits/use', body } as const;
      const answered = (): void => {
        spend(permit, n);
      };
      const refused = (code: string): void => {
        this.#refusedUse(permit, n, code);
      };
      this.ask(serving, { tenant, once, request, may, answered, refused }, lost);
    }
  }

  /** A permit is refused as used only if another request, or an earlier try of this one, may have used it. */
  #refusedUse(permit: Permit, n: number, code: string): void {
    if (code !== 'permit_used') {
      permit.tried.delete(n);
      return;
    }
    const asked = this.asked[n];
    const others = [...permit.tried].some((other) => other !== n);
    if (!others || (asked?.once === false && asked.tries > 1)) {
      throw new Broken('permit lost', `${permit.permit_id} was never used, and is refused as used`);
    }
    permit.tried.delete(n);
  }

  #resolve(serving: Serving, step: Extract<GatewayStep, { do: 'resolve' }>): void {
    const hold = nth(this.#holds, step.hold);
    if (hold === undefined) return;
    const { tenant, hold_id, act } = hold;
    const body = (n: number): JsonObject => ({
      ...{ action: step.release ? 'release' : 'refuse', reason: `secret-${String(n)}` },
    });
    const path = `/api/v1/execute-gate/holds/${hold_id}`;
    const answered = ({ json }: Answer): void => {
      if (hold.ended) throw new Broken('hold ended twice', hold_id);
      hold.ended = true;
      // The one who asked knows the preimage; the answer to the human does not have it.
      if (json['outcome'] === 'PERMIT' && actOf(act)['timestamp_ms'] !== undefined) {
        this.#given({ ...json, preimage: preimageOf(actOf(act)) }, tenant, act);
      }
    };
    const may = ['hold_resolved'];
    for (let times = step.twice ? 2 : 1; times > 0; times -= 1) {
      const request = { method: 'POST', path, body: body(this.asked.length) } as const;
      this.ask(serving, { tenant, once: step.once, request, may, answered }, step.lost);
    }
  }
}

function spend(permit: Permit, n: number): void {
  if (permit.used !== null && permit.used !== n) {
    const both = `${String(permit.used)} and ${String(n)}`;
    throw new Broken('permit used twice', `${permit.permit_id} by the requests ${both}`);
  }
  permit.used = n;
}

/** One of a list, counted round. */
export const nth = <T>(list: readonly T[], n: number): T | undefined =>
  list.length === 0 ? undefined : list[n % list.length];
