// The gateway's own database: API keys (hashed), tenants and counts. Small, read whole at start, written synced.

import { readdir } from 'node:fs/promises';
import { LogError } from '../../log/index.ts';
import type { Kind } from '../../plugins/contract.ts';
import type { KeyRecord } from './api-key.ts';
import { SyncedLevel } from './synced-level.ts';

/** How a tenant stands in one kind of log. */
export interface TenantInLog {
  /** 22 base64url characters. */
  readonly tenant_ref: string;
  /** The tenant key, 32 bytes in hex; a secret (formats.md §4). */
  readonly tenant_key: string;
}

/** A tenant as it is stored. */
export interface TenantRecord extends Readonly<Record<Kind, TenantInLog>> {
  readonly name: string;
  readonly created_at_ms: number;
}

/** A subscription to webhooks as it is stored (gateway/webhooks/subscriptions.ts). */
export interface SubscriptionRecord {
  /** `sub_` and 24 base62 characters. */
  readonly id: string;
  readonly tenant: string;
  readonly kind: Kind;
  /** Event types. */
  readonly types: readonly string[];
  /** Only events of this trigger, whoever published it. */
  readonly trigger_id?: string;
  /** The address, and the secret if there is one; base64 of gateway/webhooks/secret-box.ts. */
  readonly sealed: string;
  readonly created_at_ms: number;
  readonly disabled_at_ms?: number;
  /** Why, in a word: `gone` or `unreachable`. */
  readonly disabled_reason?: string;
}

/** Everything that the database holds. */
export interface GatewayStore {
  /** By the SHA-256 of the key. */
  readonly keys: ReadonlyMap<string, KeyRecord>;
  /** By name. */
  readonly tenants: ReadonlyMap<string, TenantRecord>;
  /** Counts by name, as they are on disk. */
  readonly counts: ReadonlyMap<string, number>;
  /** By id. */
  readonly subscriptions: ReadonlyMap<string, SubscriptionRecord>;
  /** Each is on disk when its promise resolves. */
  putKeys(records: readonly KeyRecord[]): Promise<void>;
  putTenant(record: TenantRecord): Promise<void>;
  putCounts(counts: readonly (readonly [name: string, count: number])[]): Promise<void>;
  putSubscription(record: SubscriptionRecord): Promise<void>;
  deleteSubscription(id: string): Promise<void>;
  /** Writes a copy to a folder that is empty or missing. */
  copyTo(folder: string): Promise<void>;
  close(): Promise<void>;
}

type Row = KeyRecord | TenantRecord | SubscriptionRecord | number;

const keyRow = (value: KeyRecord) => ({ key: `key/${value.sha256}`, value });
const tenantRow = (value: TenantRecord) => ({ key: `tenant/${value.name}`, value });
const subscriptionRow = (value: SubscriptionRecord) => ({
  key: `subscription/${value.id}`,
  value,
});
const COUNT = 'count/';
const countRow = ([name, value]: readonly [string, number]) => ({ key: COUNT + name, value });

/** Opens the database in a folder, which is made when missing; `log_locked` when another process holds it. */
export async function openGatewayStore(folder: string): Promise<GatewayStore> {
  const db = await SyncedLevel.open<Row>(folder, 'json');
  const keys = new Map<string, KeyRecord>();
  const tenants = new Map<string, TenantRecord>();
  const counts = new Map<string, number>();
  const subscriptions = new Map<string, SubscriptionRecord>();
  for await (const [key, row] of db.rows()) {
    if (key.startsWith('key/')) keys.set((row as KeyRecord).sha256, row as KeyRecord);
    else if (key.startsWith('tenant/'))
      tenants.set((row as TenantRecord).name, row as TenantRecord);
    else if (key.startsWith(COUNT)) counts.set(key.slice(COUNT.length), row as number);
    else if (key.startsWith('subscription/'))
      subscriptions.set((row as SubscriptionRecord).id, row as SubscriptionRecord);
  }
  return {
    keys,
    tenants,
    counts,
    subscriptions,
    async putKeys(records) {
      await db.put(records.map(keyRow));
      for (const record of records) keys.set(record.sha256, record);
    },
    async putTenant(record) {
      await db.put([tenantRow(record)]);
      tenants.set(record.name, record);
    },
    async putCounts(entries) {
      await db.put(entries.map(countRow));
      for (const [name, count] of entries) counts.set(name, count);
    },
    async putSubscription(record) {
      await db.put([subscriptionRow(record)]);
      subscriptions.set(record.id, record);
    },
    async deleteSubscription(id) {
      await db.delete([`subscription/${id}`]);
      subscriptions.delete(id);
    },
    async copyTo(target) {
      const there = await readdir(target).catch(() => []);
      if (there.length > 0) {
        throw new LogError('out_of_range', `${target} is not empty: a backup needs a new folder`);
      }
      const copy = await SyncedLevel.open<Row>(target, 'json');
      await copy.put([
        ...[...keys.values()].map(keyRow),
        ...[...tenants.values()].map(tenantRow),
        ...[...counts].map(countRow),
        ...[...subscriptions.values()].map(subscriptionRow),
      ]);
      await copy.close();
    },
    close: () => db.close(),
  };
}
