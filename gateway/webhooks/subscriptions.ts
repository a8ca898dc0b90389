// Who is told of what: the subscriptions of tenants, in memory and in the gateway's database, their addresses and
// secrets sealed. gateway/API.md §11.

import { randomBytes } from 'node:crypto';
import { Turns } from '../../log/index.ts';
import type { JsonObject, Kind } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Caller } from '../../plugins/contract/index.ts';
import { base62 } from '../tenants/base62.ts';
import type { GatewayStore, SubscriptionRecord } from '../tenants/store.ts';
import type { SecretBox } from './secret-box.ts';

/** The event of a published checkpoint: of no entry type, for monitors. */
export const CHECKPOINT_PUBLISHED = 'checkpoint.published';

/** More than any tenant needs, and few enough that one event is not many messages. */
export const MAX_SUBSCRIPTIONS = 20;
const SECRET_BYTES = 32;

/** What a tenant asks for. */
export interface SubscriptionOrder {
  readonly url: string;
  readonly types: readonly string[];
  readonly trigger_id?: string;
  /** Whether messages are signed with a shared secret too. */
  readonly secret?: boolean;
}

/** A subscription, opened. */
export interface Subscription extends Omit<SubscriptionRecord, 'sealed'> {
  readonly url: string;
  /** `whsec_` and base64. */
  readonly secret?: string;
}

/** All subscriptions; those that are disabled stay until their tenant deletes them. */
export class Subscriptions {
  readonly #store: GatewayStore;
  readonly #box: SecretBox;
  readonly #now: () => number;
  /** Changes: each finds what the one before it has left. */
  readonly #turns = new Turns();
  readonly #opened = new Map<string, Subscription>();
  /** By kind and tenant, and by kind and trigger. */
  readonly #byTopic = new Map<string, Set<Subscription>>();

  constructor(store: GatewayStore, box: SecretBox, now: () => number) {
    this.#store = store;
    this.#box = box;
    this.#now = now;
    for (const record of store.subscriptions.values()) this.#add(record);
  }

  get(id: string): Subscription | undefined {
    return this.#opened.get(id);
  }

  /** Those of a tenant's keys of one kind, oldest first. */
  of({ tenant, kind }: Pick<Caller, 'tenant' | 'kind'>): readonly Subscription[] {
    return this.#all(tenantTopic(kind, tenant), (one) => one.tenant === tenant).sort(
      (a, b) => a.created_at_ms - b.created_at_ms,
    );
  }

  /** Those that are told of checkpoints. */
  ofCheckpoints(kind: Kind): readonly Subscription[] {
    return [...this.#opened.values()].filter(
      (one) => one.kind === kind && isEnabled(one) && one.types.includes(CHECKPOINT_PUBLISHED),
    );
  }

  /** Those that are told of an event of a tenant. */
  matching(kind: Kind, tenant: string, type: string, statement: JsonObject): Subscription[] {
    const wants = (one: Subscription): boolean => isEnabled(one) && one.types.includes(type);
    const { trigger_id } = statement;
    const own = this.#all(tenantTopic(kind, tenant), wants).filter(
      (one) => one.trigger_id === undefined,
    );
    if (typeof trigger_id !== 'string') return own;
    return [...own, ...this.#all(triggerTopic(kind, trigger_id), wants)];
  }

  /** Makes a subscription; `secret` stands in the answer and is never shown again. */
  add(caller: Caller, order: SubscriptionOrder): Promise<Subscription> {
    return this.#turns.run(() => this.#make(caller, order));
  }

  async #make(caller: Caller, order: SubscriptionOrder): Promise<Subscription> {
    const there = this.of(caller);
    // Without a secret that was shown once, the same order is the same subscription.
    const same = there.find((one) => order.secret !== true && isSame(one, order));
    if (same !== undefined) return same;
    if (there.length >= MAX_SUBSCRIPTIONS) {
      const limit = `the limit is ${String(MAX_SUBSCRIPTIONS)}: delete one first`;
      throw new ApiError('parameter_invalid', `this tenant has too many subscriptions, ${limit}`);
    }
    const id = `sub_${base62(24)}`;
    const { tenant, kind } = caller;
    const { url, types, trigger_id } = order;
    const secret =
      order.secret === true ? `whsec_${randomBytes(SECRET_BYTES).toString('base64')}` : undefined;
    const record: SubscriptionRecord = {
      id,
      tenant,
      kind,
      types: [...new Set(types)],
      ...(trigger_id === undefined ? {} : { trigger_id }),
      sealed: this.#box.seal(id, JSON.stringify({ url, secret })),
      created_at_ms: this.#now(),
    };
    await this.#store.putSubscription(record);
    return this.#add(record);
  }

  /** Ends a subscription of this tenant; false when there is none of that id. */
  delete(caller: Pick<Caller, 'tenant' | 'kind'>, id: string): Promise<boolean> {
    return this.#turns.run(async () => {
      const one = this.#opened.get(id);
      if (one?.tenant !== caller.tenant || one.kind !== caller.kind) return false;
      await this.#store.deleteSubscription(id);
      this.#remove(one);
      return true;
    });
  }

  /** Stops telling a receiver that is gone for good. */
  disable(id: string, disabled_reason: string): Promise<void> {
    return this.#change(id, isEnabled, (record) => {
      return { ...record, disabled_at_ms: this.#now(), disabled_reason };
    });
  }

  /** Tells a receiver again that was disabled. */
  enable(id: string): Promise<void> {
    const isDisabled = (one: Subscription): boolean => !isEnabled(one);
    return this.#change(
      id,
      isDisabled,
      ({ disabled_at_ms: _, disabled_reason: __, ...enabled }) => {
        return enabled;
      },
    );
  }

  #change(
    id: string,
    wanted: (one: Subscription) => boolean,
    changed: (record: SubscriptionRecord) => SubscriptionRecord,
  ): Promise<void> {
    return this.#turns.run(async () => {
      const record = this.#store.subscriptions.get(id);
      const one = this.#opened.get(id);
      if (record === undefined || one === undefined || !wanted(one)) return;
      const next = changed(record);
      await this.#store.putSubscription(next);
      this.#remove(one);
      this.#add(next);
    });
  }

  #all(topic: string, wanted: (one: Subscription) => boolean): Subscription[] {
    return [...(this.#byTopic.get(topic) ?? [])].filter(wanted);
  }

  #add(record: SubscriptionRecord): Subscription {
    const { sealed, ...rest } = record;
    // Sealed under a key file that is lost: listed without its address, and told of nothing.
    const text = this.#box.open(record.id, sealed) ?? '{"url":""}';
    const one = { ...rest, ...(JSON.parse(text) as { url: string; secret?: string }) };
    this.#opened.set(one.id, one);
    for (const topic of topicsOf(one)) {
      const there = this.#byTopic.get(topic) ?? new Set();
      this.#byTopic.set(topic, there.add(one));
    }
    return one;
  }

  #remove(one: Subscription): void {
    this.#opened.delete(one.id);
    for (const topic of topicsOf(one)) {
      const there = this.#byTopic.get(topic);
      there?.delete(one);
      if (there?.size === 0) this.#byTopic.delete(topic);
    }
  }
}

const isSame = (one: Subscription, { url, types, trigger_id }: SubscriptionOrder): boolean =>
  isEnabled(one) &&
  one.secret === undefined &&
  one.url === url &&
  one.trigger_id === trigger_id &&
  [...new Set(types)].sort().join() === [...one.types].sort().join();

/** Whether messages go to it. */
export const isEnabled = (one: Subscription): boolean =>
  one.disabled_at_ms === undefined && one.url !== '';

const tenantTopic = (kind: Kind, tenant: string): string => `${kind} tenant ${tenant}`;
const triggerTopic = (kind: Kind, trigger_id: string): string => `${kind} trigger ${trigger_id}`;

const topicsOf = ({ kind, tenant, trigger_id }: Subscription): string[] => [
  tenantTopic(kind, tenant),
  ...(trigger_id === undefined ? [] : [triggerTopic(kind, trigger_id)]),
];
