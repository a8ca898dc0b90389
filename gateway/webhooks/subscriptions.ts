// The webhook subscriptions of tenants: all of them in memory, and in the gateway's database with their addresses and
// secrets encrypted. gateway/API.md §11.

import { randomBytes } from 'node:crypto';
import { Turns } from '../../log/index.ts';
import type { JsonObject, Kind } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Caller } from '../../plugins/contract/index.ts';
import { base62 } from '../tenants/base62.ts';
import type { GatewayStore, SubscriptionRecord } from '../tenants/store.ts';
import type { SecretBox } from './secret-box.ts';

/** The event type of a published checkpoint. It belongs to no entry type. */
export const CHECKPOINT_PUBLISHED = 'checkpoint.published';

/** Maximum number of subscriptions of a tenant in one log kind. It bounds the messages that one event causes. */
export const MAX_SUBSCRIPTIONS = 20;
const SECRET_BYTES = 32;

/** A tenant's request for a subscription. */
export interface SubscriptionOrder {
  readonly url: string;
  readonly types: readonly string[];
  readonly trigger_id?: string;
  /** Whether messages are also signed with a shared secret. */
  readonly secret?: boolean;
}

/** A subscription with its address and secret decrypted. */
export interface Subscription extends Omit<SubscriptionRecord, 'sealed'> {
  readonly url: string;
  /** `whsec_` and 32 bytes in base64. */
  readonly secret?: string;
}

/** All subscriptions. A disabled one stays until its tenant deletes it. */
export class Subscriptions {
  readonly #store: GatewayStore;
  readonly #box: SecretBox;
  readonly #now: () => number;
  /** Serialises changes, so that two requests cannot both pass the check of the limit. */
  readonly #turns = new Turns();
  readonly #opened = new Map<string, Subscription>();
  /** By log kind and tenant, and by log kind and trigger. */
  readonly #byTopic = new Map<string, Set<Subscription>>();

  constructor(store: GatewayStore, box: SecretBox, now: () => number) {
    this.#store = store;
    this.#box = box;
    this.#now = now;
    for (const record of store.subscriptions.values()) this.#add(record);
    store.followSubscriptions((id) => {
      const [known, record] = [this.#opened.get(id), store.subscriptions.get(id)];
      if (known !== undefined) this.#remove(known);
      if (record !== undefined) this.#add(record);
    });
  }

  get(id: string): Subscription | undefined {
    return this.#opened.get(id);
  }

  /** The subscriptions of a tenant in one log kind, oldest first. */
  of({ tenant, kind }: Pick<Caller, 'tenant' | 'kind'>): readonly Subscription[] {
    return this.#all(tenantTopic(kind, tenant), (one) => one.tenant === tenant).sort(
      (a, b) => a.created_at_ms - b.created_at_ms || (a.id < b.id ? -1 : 1),
    );
  }

  /** The enabled subscriptions to checkpoints. */
  ofCheckpoints(kind: Kind): readonly Subscription[] {
    return [...this.#opened.values()].filter(
      (one) => one.kind === kind && isEnabled(one) && one.types.includes(CHECKPOINT_PUBLISHED),
    );
  }

  /** The enabled subscriptions to an event: the tenant's own, and any tenant's to the trigger that it is about. */
  matching(kind: Kind, tenant: string, type: string, statement: JsonObject): Subscription[] {
    const wants = (one: Subscription): boolean => isEnabled(one) && one.types.includes(type);
    const { trigger_id } = statement;
    const own = this.#all(tenantTopic(kind, tenant), wants).filter(
      (one) => one.trigger_id === undefined,
    );
    if (typeof trigger_id !== 'string') return own;
    return [...own, ...this.#all(triggerTopic(kind, trigger_id), wants)];
  }

  /**
   * Creates a subscription. Its secret is shown only in this answer. The same order without a secret returns the
   * subscription that exists.
   *
   * @throws ApiError `parameter_invalid` if the tenant has too many subscriptions
   */
  add(caller: Caller, order: SubscriptionOrder): Promise<Subscription> {
    return this.#turns.run(() => this.#create(caller, order));
  }

  async #create(caller: Caller, order: SubscriptionOrder): Promise<Subscription> {
    const existing = this.of(caller);
    const same = existing.find((one) => order.secret !== true && isSame(one, order));
    if (same !== undefined) return same;
    if (existing.length >= MAX_SUBSCRIPTIONS) {
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

  /** Deletes a subscription of this tenant. Returns false if the tenant has none with that id. */
  delete(caller: Pick<Caller, 'tenant' | 'kind'>, id: string): Promise<boolean> {
    return this.#turns.run(async () => {
      const one = this.#opened.get(id);
      if (one?.tenant !== caller.tenant || one.kind !== caller.kind) return false;
      await this.#store.deleteSubscription(id);
      this.#remove(one);
      return true;
    });
  }

  /** Disables a subscription, so that it gets no messages. */
  disable(id: string, disabled_reason: string): Promise<void> {
    return this.#change(id, isEnabled, (record) => {
      return { ...record, disabled_at_ms: this.#now(), disabled_reason };
    });
  }

  /** Enables a disabled subscription. */
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
    // If the key file was lost, the subscription is listed without its address and gets no messages.
    const text = this.#box.open(record.id, sealed) ?? '{"url":""}';
    const one = { ...rest, ...(JSON.parse(text) as { url: string; secret?: string }) };
    this.#opened.set(one.id, one);
    for (const topic of topicsOf(one)) {
      const members = this.#byTopic.get(topic) ?? new Set();
      this.#byTopic.set(topic, members.add(one));
    }
    return one;
  }

  #remove(one: Subscription): void {
    this.#opened.delete(one.id);
    for (const topic of topicsOf(one)) {
      const members = this.#byTopic.get(topic);
      members?.delete(one);
      if (members?.size === 0) this.#byTopic.delete(topic);
    }
  }
}

const isSame = (one: Subscription, { url, types, trigger_id }: SubscriptionOrder): boolean =>
  isEnabled(one) &&
  one.secret === undefined &&
  one.url === url &&
  one.trigger_id === trigger_id &&
  [...new Set(types)].sort().join() === [...one.types].sort().join();

/** Whether a subscription gets messages. */
export const isEnabled = (one: Subscription): boolean =>
  one.disabled_at_ms === undefined && one.url !== '';

const tenantTopic = (kind: Kind, tenant: string): string => `${kind} tenant ${tenant}`;
const triggerTopic = (kind: Kind, trigger_id: string): string => `${kind} trigger ${trigger_id}`;

const topicsOf = ({ kind, tenant, trigger_id }: Subscription): string[] => [
  tenantTopic(kind, tenant),
  ...(trigger_id === undefined ? [] : [triggerTopic(kind, trigger_id)]),
];
