// The gateway's database: API keys (hashed), tenants, subscriptions and counts. It is small. All rows are read at the
// start, and compared with the acknowledged state (synced-level.ts).

import { LogError } from '../../log/index.ts';
import type { Register, SharedRows } from '../../log/index.ts';
import type { Kind } from '../../plugins/contract/index.ts';
import type { KeyRecord } from './api-key.ts';
import { acceptLevel, inspectLevel } from './level-care.ts';
import type { Inspected } from './level-care.ts';
import type { LevelPlace, LevelRow } from './level-rows.ts';
import { SyncedLevel } from './synced-level.ts';

/** A tenant in one kind of log. */
export interface TenantInLog {
  /** 22 base64url characters. */
  readonly tenant_ref: string;
  /** The tenant key, 32 bytes in hex. It is secret (log/FORMAT.md §4). */
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
  /** If given, only events of this trigger, which may belong to another tenant. */
  readonly trigger_id?: string;
  /** The address and the optional secret, encrypted by gateway/webhooks/secret-box.ts. */
  readonly sealed: string;
  readonly created_at_ms: number;
  readonly disabled_at_ms?: number;
  /** `gone` or `unreachable`. */
  readonly disabled_reason?: string;
}

/** The open database. The maps show the rows on disk. */
export interface GatewayStore {
  /** Whether reading a row failed since the start. */
  readonly damaged: () => boolean;
  /** Whether another node of a cluster writes it. Every change is then refused with `not_leader`. */
  readonly follows: boolean;
  /** By the SHA-256 of the key. */
  readonly keys: ReadonlyMap<string, KeyRecord>;
  /** By name. */
  readonly tenants: ReadonlyMap<string, TenantRecord>;
  /** Counts by name, as they are on disk. */
  readonly counts: ReadonlyMap<string, number>;
  /** By id. */
  readonly subscriptions: ReadonlyMap<string, SubscriptionRecord>;
  /** On a node that follows, calls a function with the id of each subscription that the leader has changed. */
  followSubscriptions(changed: (id: string) => void): void;
  /** Names of the key files that were in use (gateway/host/key-files.ts). */
  readonly keyFiles: ReadonlySet<string>;
  /** The rows of this and the following methods are on disk when their promise resolves. */
  putKeys(records: readonly KeyRecord[]): Promise<void>;
  putTenant(record: TenantRecord): Promise<void>;
  putCounts(counts: readonly (readonly [name: string, count: number])[]): Promise<void>;
  putSubscription(record: SubscriptionRecord): Promise<void>;
  deleteSubscription(id: string): Promise<void>;
  putKeyFiles(names: readonly string[]): Promise<void>;
  /** Writes a copy to a folder that is empty or missing. */
  copyTo(folder: string): Promise<void>;
  close(): Promise<void>;
}

const COUNT = 'count/';
const SUBSCRIPTION = 'subscription/';
const KEY_FILE = 'key-file/';

const row = (key: string, value: unknown): LevelRow => ({
  key,
  value: Buffer.from(JSON.stringify(value)),
});

/** The database, as the register names it. */
export const gatewayPlace = (register: Register): LevelPlace => ({
  name: 'gateway',
  register,
  counts: COUNT,
  anew: '"actlog keys first --new-keys" makes new keys and abandons the earlier tenants',
});

/** Makes the register accept an older copy that was restored, or an empty database. */
export const acceptGatewayStore = (folder: string, register: Register): Promise<void> =>
  acceptLevel(folder, gatewayPlace(register));

/** Makes the register accept an empty database, so that first keys can be issued. `out_of_range` if it has rows. */
export const acceptEmptyStore = (folder: string, register: Register): Promise<void> =>
  acceptLevel(folder, gatewayPlace(register), { empty: true });

/** Inspects a database that no process has open; null if there is none. */
export const inspectGatewayStore = (
  folder: string,
  register: Register,
): Promise<Inspected | null> => inspectLevel(folder, gatewayPlace(register));

/** The writes of a database of rows. All rows of a call are durable when its promise resolves, or none. */
interface Rows {
  put(rows: readonly LevelRow[]): Promise<void>;
  delete(keys: readonly string[]): Promise<void>;
  putCounts(counts: readonly (readonly [name: string, count: number])[]): Promise<void>;
  copyTo(folder: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the database in a folder. Creates it if it is missing and the register does not know it.
 *
 * @throws LogError `log_locked`, `store_corrupt`, `log_rolled_back`: see `SyncedLevel.open`
 */
export async function openGatewayStore(folder: string, register: Register): Promise<GatewayStore> {
  const held = new HeldRows();
  const load = (rows: readonly LevelRow[]): void => {
    held.clear();
    for (const { key, value } of rows) held.take(key, value);
  };
  const db = await SyncedLevel.open(folder, { ...gatewayPlace(register), load });
  return storeOver(held, db, { damaged: () => db.damaged, follows: false });
}

/** Opens the rows of a node of a cluster. On a node that follows, the maps change as the leader changes the rows. */
export async function openSharedStore(
  shared: SharedRows,
  changed: (key: string) => void,
): Promise<GatewayStore> {
  const held = new HeldRows();
  for (const { key, value } of await shared.all()) held.take(key, value);
  if (!shared.leads) {
    shared.follow((rows) => {
      for (const { key, value } of rows) {
        held.take(key, value);
        changed(key);
      }
    });
  }
  const rows: Rows = {
    put: (put) => shared.put(put),
    delete: (keys) => shared.put(keys.map((key) => ({ key, value: null }))),
    putCounts: (counts) =>
      shared.put(
        counts.map(([name, count]) => ({ key: COUNT + name, value: Buffer.from(String(count)) })),
      ),
    copyTo: () => {
      const advice = 'PostgreSQL has the rows of the gateway: back that up';
      return Promise.reject(
        new LogError('out_of_range', `a node of a cluster has no backup: ${advice}`),
      );
    },
    close: async () => shared.follow(null),
  };
  return storeOver(held, rows, { damaged: () => shared.damaged, follows: !shared.leads });
}

/** The rows by kind. */
class HeldRows {
  readonly keys = new Map<string, KeyRecord>();
  readonly tenants = new Map<string, TenantRecord>();
  readonly counts = new Map<string, number>();
  readonly subscriptions = new Map<string, SubscriptionRecord>();
  readonly keyFiles = new Set<string>();
  /** Called with the id of a subscription whose row was taken. */
  changed: (id: string) => void = () => undefined;

  clear(): void {
    const { keys, tenants, counts, subscriptions, keyFiles } = this;
    for (const held of [keys, tenants, counts, subscriptions, keyFiles]) held.clear();
  }

  /** Only subscriptions are ever deleted. */
  take(key: string, value: Uint8Array | null): void {
    if (value === null) {
      const id = key.slice(SUBSCRIPTION.length);
      this.subscriptions.delete(id);
      this.changed(id);
      return;
    }
    const record: unknown = JSON.parse(Buffer.from(value).toString());
    if (key.startsWith('key/')) this.keys.set((record as KeyRecord).sha256, record as KeyRecord);
    else if (key.startsWith('tenant/')) {
      this.tenants.set((record as TenantRecord).name, record as TenantRecord);
    } else if (key.startsWith(COUNT)) this.counts.set(key.slice(COUNT.length), record as number);
    else if (key.startsWith(SUBSCRIPTION)) {
      const subscription = record as SubscriptionRecord;
      this.subscriptions.set(subscription.id, subscription);
      this.changed(subscription.id);
    } else if (key.startsWith(KEY_FILE)) this.keyFiles.add(key.slice(KEY_FILE.length));
  }
}

function storeOver(
  held: HeldRows,
  db: Rows,
  state: Pick<GatewayStore, 'damaged' | 'follows'>,
): GatewayStore {
  const { keys, tenants, counts, subscriptions, keyFiles } = held;
  return {
    keys,
    tenants,
    counts,
    subscriptions,
    keyFiles,
    ...state,
    followSubscriptions(changed) {
      held.changed = changed;
    },
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
    async putKeyFiles(names) {
      await db.put(names.map((name) => row(KEY_FILE + name, true)));
      for (const name of names) keyFiles.add(name);
    },
    copyTo: (target) => db.copyTo(target),
    close: () => db.close(),
  };
}
