// The gateway's own database: API keys (hashed), tenants, subscriptions and counts. Small, read whole at start, and
// compared with what was acknowledged (synced-level.ts).

import type { Register } from '../../log/index.ts';
import type { Kind } from '../../plugins/contract/index.ts';
import type { KeyRecord } from './api-key.ts';
import { acceptLevel, inspectLevel } from './level-care.ts';
import type { Inspected } from './level-care.ts';
import type { LevelPlace, LevelRow } from './level-rows.ts';
import { SyncedLevel } from './synced-level.ts';

/** How a tenant stands in one kind of log. */
export interface TenantInLog {
  /** 22 base64url characters. */
  readonly tenant_ref: string;
  /** The tenant key, 32 bytes in hex; a secret (log/FORMAT.md §4). */
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
  /** Whether a row did not read since the start. */
  readonly damaged: () => boolean;
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

const COUNT = 'count/';
const SUBSCRIPTION = 'subscription/';

const row = (key: string, value: unknown): LevelRow => ({
  key,
  value: Buffer.from(JSON.stringify(value)),
});

/** The database in the register. */
export const gatewayPlace = (register: Register): LevelPlace => ({
  name: 'gateway',
  register,
  counts: COUNT,
  anew: '"actlog keys first --new-keys" makes new keys and gives the tenants of before up',
});

/** Accepts an older copy that was put back, or an empty database, in place of what the register knows of. */
export const acceptGatewayStore = (folder: string, register: Register): Promise<void> =>
  acceptLevel(folder, gatewayPlace(register));

/** Accepts a database that has nothing left, so that first keys can be made; `out_of_range` where it has rows. */
export const acceptEmptyStore = (folder: string, register: Register): Promise<void> =>
  acceptLevel(folder, gatewayPlace(register), { empty: true });

/** Looks at a database that no process has open; null where there is none. */
export const inspectGatewayStore = (
  folder: string,
  register: Register,
): Promise<Inspected | null> => inspectLevel(folder, gatewayPlace(register));

/**
 * Opens the database in a folder, which is made when missing and never heard of.
 *
 * @throws LogError `log_locked`, `store_corrupt`, `log_rolled_back`: see `SyncedLevel.open`
 */
export async function openGatewayStore(folder: string, register: Register): Promise<GatewayStore> {
  const keys = new Map<string, KeyRecord>();
  const tenants = new Map<string, TenantRecord>();
  const counts = new Map<string, number>();
  const subscriptions = new Map<string, SubscriptionRecord>();
  const load = (rows: readonly LevelRow[]): void => {
    for (const map of [keys, tenants, counts, subscriptions]) map.clear();
    for (const { key, value } of rows) {
      const record: unknown = JSON.parse(Buffer.from(value).toString());
      if (key.startsWith('key/')) keys.set((record as KeyRecord).sha256, record as KeyRecord);
      else if (key.startsWith('tenant/')) {
        tenants.set((record as TenantRecord).name, record as TenantRecord);
      } else if (key.startsWith(COUNT)) counts.set(key.slice(COUNT.length), record as number);
      else if (key.startsWith(SUBSCRIPTION)) {
        subscriptions.set((record as SubscriptionRecord).id, record as SubscriptionRecord);
      }
    }
  };
  const db = await SyncedLevel.open(folder, { ...gatewayPlace(register), load });
  return {
    keys,
    tenants,
    counts,
    subscriptions,
    damaged: () => db.damaged,
    async putKeys(records) {
      await db.put(records.map((record) => row(`key/${record.sha256}`, record)));
      for (const record of records) keys.set(record.sha256, record);
    },
    async putTenant(record) {
      await db.put([row(`tenant/${record.name}`, record)]);
      tenants.set(record.name, record);
    },
    async putCounts(entries) {
      await db.putCounts(entries);
      for (const [name, count] of entries) counts.set(name, count);
    },
    async putSubscription(record) {
      await db.put([row(SUBSCRIPTION + record.id, record)]);
      subscriptions.set(record.id, record);
    },
    async deleteSubscription(id) {
      await db.delete([SUBSCRIPTION + id]);
      subscriptions.delete(id);
    },
    copyTo: (target) => db.copyTo(target),
    close: () => db.close(),
  };
}
