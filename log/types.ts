// The shapes that cross the door of the core: what a caller appends, what it gets back, what it can ask.

import type { JsonObject, Json } from './encoding/json-types.ts';

/** Nothing crosses between them; where something is looked for in both, the live log comes first. */
export const LOG_KINDS = ['live', 'sandbox'] as const;

/** One of the two kinds of log. */
export type Kind = (typeof LOG_KINDS)[number];

/** A chain key: kind and members, for example `["surface", entity, surface]` (log/FORMAT.md §3). */
export type ChainKey = readonly string[];

/** A link of an entry to the entry before it on one chain; both prevs are null exactly when seq is 0. */
export interface Link {
  readonly key: ChainKey;
  readonly seq: number;
  readonly prev_index: number | null;
  readonly prev_ms: number | null;
}

/** The head of a chain: how many entries it has and which is the last (log/FORMAT.md §3). */
export interface Head {
  readonly count: number;
  readonly last_index: number;
  readonly last_ms: number;
  readonly last_leaf_hash: Uint8Array;
}

/** The point of the sequence at which a draft becomes a statement. */
export interface SequencePoint {
  readonly index: number;
  readonly entry_id: string;
  readonly issued_at_ms: number;
  /** The entries of the same group that stand before this one. */
  readonly group: readonly Sequenced[];
  readonly rows: RowReader;
  readonly surfaces: SurfaceReader;
}

/** One entry that a caller wants appended. */
export interface Draft {
  readonly type: string;
  /** 22 base64url characters of a registered tenant; absent only for entries of the log itself. */
  readonly tenant_ref?: string;
  /** The type's own members, reserved ones among them (entity, session_ref, …). */
  readonly members: JsonObject | ((at: SequencePoint) => JsonObject);
  /** Values that the entry only commits to, by member name; returned as disclosures. */
  readonly private?: Readonly<Record<string, Json>>;
  readonly event_at_ms?: number;
  readonly toll?: {
    readonly id: string;
    readonly micro_usd: number;
    readonly cleared_micro_usd?: number;
  };
}

/** What opens a commitment: 16 random bytes in hex and the value. */
export interface Disclosure {
  readonly salt: string;
  readonly value: Json;
}

/** An entry with its place, before it is durable: the signature and the leaf hash come later. */
export interface Sequenced {
  readonly index: number;
  readonly entry_id: string;
  readonly issued_at_ms: number;
  readonly type: string;
  /** The statement, without its signature. */
  readonly statement: JsonObject;
  readonly links: readonly Link[];
}

/** A durable entry. */
export interface Appended extends Sequenced {
  /** Base64 of the 64-byte Ed25519 signature. */
  readonly signature: string;
  /** The exact text of the entry: JCS of the statement with its signature. */
  readonly text: string;
  /** RFC 6962 leaf hash of the text, 32 bytes. */
  readonly leaf_hash: Uint8Array;
  readonly disclosures: Readonly<Record<string, Disclosure>>;
}

/** A row that is no function of the log (an idempotency record, a sealed disclosure); same batch as the entries. */
export interface AttachedRow {
  readonly key: string;
  readonly value: Uint8Array | null;
}

/** The same, while its value is being made: the group's round waits for it, and fails with it. */
export interface PendingRow {
  readonly key: string;
  readonly value: AttachedRow['value'] | Promise<Uint8Array>;
}

/** How a group is appended. */
export interface AppendOptions {
  /** Runs at the sequence point, before the group takes its place; throws to refuse the whole group. */
  readonly check?: (at: { rows: RowReader; surfaces: SurfaceReader; now_ms: number }) => void;
  /**
   * Rows to commit with the entries. Runs once the group has its place and before anything is signed;
   * throws to refuse the whole group.
   */
  readonly attach?: (
    entries: readonly Sequenced[],
    disclosures: readonly Readonly<Record<string, Disclosure>>[],
  ) => readonly PendingRow[];
}

/** A published tree head. */
export interface Published {
  readonly size: number;
  readonly root: Uint8Array;
  /** The signed note with every cosignature that came. */
  readonly note: string;
  /** Time of the map head that is its last entry. */
  readonly map_head_ms: number;
  readonly published_at_ms: number;
  /** How many witnesses of the policy cosigned. */
  readonly cosignatures: number;
}

/** An entry with the proof that it stands in a tree: log/FORMAT.md §6, *opened*. */
export interface Opened {
  readonly index: number;
  readonly entry: string;
  readonly path: readonly string[];
}

/** One entry of a chain: its index and log time. */
export interface ChainRow {
  readonly ms: number;
  readonly index: number;
}

/** A receipt key of the log, from its own entries. Indexes are of the declaring entries; times of those entries. */
export interface ReceiptKey {
  readonly kid: string;
  readonly jwk: { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string };
  readonly status: 'active' | 'retired' | 'revoked';
  readonly since_index: number;
  readonly since_ms: number;
  /** Where it stopped signing, retired or revoked. */
  readonly ended_index?: number;
  readonly ended_ms?: number;
  /** From this index on nothing of the key counts; an older entry needs its inclusion proof. */
  readonly revoked_index?: number;
  readonly revoked_ms?: number;
}

/** What the core knows of its own health. */
export interface LogHealth {
  readonly writable: boolean;
  /** Why not, in words for the operator. */
  readonly reason?: string;
  /** The key that is lost, so that the log is only read. */
  readonly lost_key: 'checkpoint' | 'receipt' | null;
  /** Whether the log ended with `log.closed.v1` or has a successor. */
  readonly closed: boolean;
  readonly size: number;
  readonly published_size: number;
  readonly published_at_ms: number;
  /** Entries acknowledged and not yet under a published checkpoint. */
  readonly waiting: number;
  readonly oldest_waiting_ms: number | null;
  readonly clock_offset_ms: number;
  /** Why entries get no time, as what the clock does; null when it is trusted. */
  readonly clock_doubt: string | null;
  readonly keys_in_map: number;
  /** Plugins whose `watch` or `project` failed within the last hour: the entries in question were refused. */
  readonly failed_plugins: readonly string[];
  /** Whether a row or a block of the database did not read since the log was opened. */
  readonly damaged: boolean;
}

/** Plugin rows as of the entry before, also inside a batch. Keys are `<plugin>/<rest>`. */
export interface RowReader {
  get(key: string): Json | undefined;
}

/** What `project` writes; only rows of the plugin that declared the type. */
export interface RowWriter extends RowReader {
  put(key: string, value: Json): void;
  del(key: string): void;
}

/** How a plugin follows the entries of all tenants, whatever their type: for meters and limits. */
export interface Watch {
  /**
   * Pure: writes the plugin's own rows in the entry's own batch, after the `project` of the entry's type,
   * so that a replay rebuilds them. Watches run in the order of the names of their types.
   */
  readonly project: (entry: Sequenced, rows: RowWriter) => void;
  /**
   * Refuses a group by throwing, at the sequence point of each of its entries. Only for entries that are
   * appended now: what stands in the log is never asked again.
   */
  readonly admit?: (entry: Sequenced, rows: RowReader) => void;
}

/** An entry type of a plugin: its declaration in the log and how it changes the plugin's rows. */
export interface EntryType {
  /** `<plugin>.<word>.v<N>`. */
  readonly name: string;
  /** JSON Schema 2020-12 of the members beside the common ones. */
  readonly schema: JsonObject;
  /** Extra chain templates `[kind, member, …]`; kind is `<plugin>.<word>`. */
  readonly keys: readonly (readonly string[])[];
  /** Pure: writes the plugin's rows in the entry's own batch, so that a replay rebuilds them. */
  readonly project?: (entry: Sequenced, rows: RowWriter) => void;
  /**
   * The form of the rows that `project` and `watch` write; 1 unless given. A release that writes other rows for the
   * same entries raises it: a database with rows of the form before does not open until `actlog reindex` has
   * rebuilt them.
   */
  readonly row_form?: number;
  /**
   * Follows every entry of a tenant behind this type's declaration, built-in ones too. One type of a
   * plugin has it, in one version: another would see each entry again.
   */
  readonly watch?: Watch;
}

/** A manifest as it stands in its entry: sorted surfaces, milliseconds of log time (log/FORMAT.md §4). */
export interface Manifest {
  readonly index: number;
  readonly issued_at_ms: number;
  readonly tenant_ref: string;
  readonly entity: string;
  readonly surfaces: readonly string[];
  readonly surface_manifest_hash: string;
  readonly valid_from_ms: number;
  readonly valid_until_ms?: number;
  readonly heartbeat_interval_ms?: number;
  readonly min_detectable_gap_ms?: number;
}

/** The newest heartbeat of an entity on a surface. */
export interface Heartbeat {
  readonly index: number;
  readonly issued_at_ms: number;
  readonly interval_ms: number;
  readonly run_since_ms: number;
}

/** The core's state about attempt surfaces, as of the entry before. */
export interface SurfaceReader {
  /** tenant_ref of the owner, or null when nobody has claimed the entity. */
  owner(entity: string): string | null;
  /** The newest manifest of the entity, in force or not, or null. */
  manifest(entity: string): Manifest | null;
  heartbeat(entity: string, surface: string): Heartbeat | null;
}

/** One open log. All reads answer from what is durable; proofs from what is published. */
export interface Log {
  readonly kind: Kind;
  readonly number: number;
  readonly origin: string;
  /** Verifier key of the checkpoint key (C2SP signed-note). */
  readonly vkey: string;
  receiptKeys(): readonly ReceiptKey[];
  /** Declares what is not declared yet; a declared type with another schema is `type_conflict`. */
  declare(types: readonly EntryType[]): Promise<void>;
  /** Appends `log.tenant.v1` unless the tenant is registered already. */
  registerTenant(tenant_ref: string, key_sha256: string): Promise<void>;
  /** Resolves when the group is durable; rejects with what `check` threw or a LogError. */
  append(drafts: readonly Draft[], options?: AppendOptions): Promise<readonly Appended[]>;
  size(): number;
  published(): Published;
  /** Asks for a checkpoint that covers `size` and waits for it. */
  whenPublished(size: number, signal?: AbortSignal): Promise<Published>;
  /** Calls back after each published checkpoint; returns how to stop. */
  onPublished(listener: (published: Published) => void): () => void;
  /** The text of an entry; null beyond the acknowledged size. */
  entry(index: number): string | null;
  indexOfEntry(entry_id: string): number | null;
  indexOfHash(leaf_hash: Uint8Array): number | null;
  leafHash(index: number): Uint8Array;
  /** The newest published note of exactly this size, if it was kept; every published size is. */
  checkpointAt(size: number): string | null;
  /** Hash tile of the published tree, `width` hashes (256 = full); null when no published size implies it. */
  tile(level: number, n: number, width: number): Uint8Array | null;
  /** Entry bundle of the published tree; null as above. */
  bundle(n: number, width: number): Promise<Uint8Array | null>;
  /** Path of an entry under a published size. */
  inclusion(index: number, size: number): readonly Uint8Array[];
  consistency(from: number, to: number): readonly Uint8Array[];
  /** Root of the first `size` entries (RFC 6962); `out_of_range` beyond the acknowledged size. */
  rootAt(size: number): Uint8Array;
  /** A document of log/FORMAT.md §6 without `declared` and `coverage`, from the newest checkpoint. */
  lookup(
    question: { key: ChainKey; from_ms: number; to_ms: number },
    page?: { after?: number; limit?: number },
  ): Promise<JsonObject>;
  /** What a lookup proves, without the proof: the published entries of a chain in a window, oldest first. */
  chain(
    question: { key: ChainKey; from_ms: number; to_ms: number },
    page?: { after?: number; limit?: number },
  ): Promise<readonly ChainRow[]>;
  /** A whole document of log/FORMAT.md §6, with the manifests and the heartbeat that the verdict rests on. */
  absence(question: {
    readonly key: ChainKey;
    readonly from_ms: number;
    readonly to_ms: number;
  }): Promise<JsonObject>;
  /** Plugin rows, newest durable state. */
  row(key: string): Json | undefined;
  rows(
    prefix: string,
    options?: { limit?: number; after?: string; reverse?: boolean },
  ): Promise<readonly (readonly [string, Json])[]>;
  /** Whether a tenant was ever registered in this log (`log.tenant.v1`). */
  hasTenants(): Promise<boolean>;
  attached(key: string): Uint8Array | undefined;
  attachedRows(
    prefix: string,
    options?: { limit?: number; after?: string },
  ): Promise<readonly (readonly [string, Uint8Array])[]>;
  /**
   * Writes attached rows that belong to no entry (for example to delete an expired record); with `sync: false` a
   * machine that dies may forget them.
   */
  putAttached(rows: readonly AttachedRow[], options?: { sync?: boolean }): Promise<void>;
  surfaces(): SurfaceReader;
  /** Index of the newest manifest with this surface_manifest_hash; null when there is none. */
  manifestOfHash(surface_manifest_hash: string): number | null;
  /** Indexes of the manifests after an index, oldest first, at most 100 unless `limit` says so. */
  manifests(range?: {
    readonly after?: number;
    readonly limit?: number;
  }): Promise<readonly number[]>;
  /** All owned entities after a name, with the tenant_ref of the owner of each, in the order of their names. */
  owners(range?: {
    readonly limit?: number;
    readonly after?: string;
  }): Promise<readonly (readonly [entity: string, tenant_ref: string])[]>;
  /** Index of the entry that registered a tenant; null where none did. */
  tenantEntry(tenant_ref: string): number | null;
  /** The entities that a tenant owns, in the order of their names; only those behind `after` where it is given. */
  entitiesOf(tenant_ref: string, limit?: number, after?: string): Promise<readonly string[]>;
  health(): LogHealth;
  readonly operator: LogOperator;
  /** Stops taking entries, finishes those under way, publishes, saves the map, closes the store. */
  close(): Promise<void>;
}

/** What only the operator does. */
export interface LogOperator {
  /** Makes a receipt key, declares it, retires the one in force; answers with the new kid. */
  rotateKey(): Promise<string>;
  /** Declares a receipt key revoked; when it is the one in force a new one is declared before. */
  revokeKey(kid: string): Promise<void>;
  /** Vouches for the wall clock after it jumped. */
  confirmClock(): void;
  /** Writes a consistent copy of the database to a new folder while the log goes on. */
  backup(folder: string): Promise<{ size: number }>;
  /**
   * Appends `log.closed.v1` and its map head; nothing follows. The signal ends the wait for their
   * checkpoint with `log_unavailable`, and undoes nothing.
   */
  closeForGood(successor: string | null, signal?: AbortSignal): Promise<Published>;
}
