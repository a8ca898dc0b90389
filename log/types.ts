// The types of the public interface of the core: drafts that a caller appends, appended entries, and the methods of a
// log.

import type { JsonObject, Json } from './encoding/json.ts';

/** The kinds of log. They share nothing. A search in both reads the live log first. */
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
  /** The earlier entries of the same group. */
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

/**
 * A row that cannot be derived from the log (an idempotency record, a sealed disclosure). It is written in the batch of
 * the entries.
 */
export interface AttachedRow {
  readonly key: string;
  readonly value: Uint8Array | null;
}

/** How a group is appended. */
export interface AppendOptions {
  /** Runs at the sequence point, before the group gets its indexes. It throws to refuse the whole group. */
  readonly check?: (at: { rows: RowReader; surfaces: SurfaceReader; now_ms: number }) => void;
  /**
   * Rows to commit with the entries. Runs after the group got its indexes and before anything is signed. It throws to
   * refuse the whole group.
   */
  readonly attach?: (
    entries: readonly Sequenced[],
    disclosures: readonly Readonly<Record<string, Disclosure>>[],
  ) => readonly AttachedRow[];
}

/** A published tree head. */
export interface Published {
  readonly size: number;
  readonly root: Uint8Array;
  /** The signed note with every cosignature that was received. */
  readonly note: string;
  /** Time of the map head that is its last entry. */
  readonly map_head_ms: number;
  readonly published_at_ms: number;
  /** How many witnesses of the policy cosigned. */
  readonly cosignatures: number;
}

/** An entry with its inclusion proof: log/FORMAT.md §6, *opened*. */
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
  /** The entry that retired or revoked it, after which it signs nothing. */
  readonly ended_index?: number;
  readonly ended_ms?: number;
  /** From this index on, signatures of the key are not accepted. An older entry needs its inclusion proof. */
  readonly revoked_index?: number;
  readonly revoked_ms?: number;
}

/** The health of one log. */
export interface LogHealth {
  readonly writable: boolean;
  /** Why the log is not writable, in words for the operator. */
  readonly reason?: string;
  /** The lost key, because of which the log is read-only. */
  readonly lost_key: 'checkpoint' | 'receipt' | null;
  /** Whether the log ended with `log.closed.v1` or has a successor. */
  readonly closed: boolean;
  readonly size: number;
  readonly published_size: number;
  readonly published_at_ms: number;
  /** Acknowledged entries that no published checkpoint covers yet. */
  readonly waiting: number;
  readonly oldest_waiting_ms: number | null;
  readonly clock_offset_ms: number;
  /** What the clock does, so that entries get no time; null if the clock is trusted. */
  readonly clock_doubt: string | null;
  readonly keys_in_map: number;
  /** Plugins whose `watch` or `project` failed within the last hour: the entries in question were refused. */
  readonly failed_plugins: readonly string[];
  /** Whether a row or a block of the database could not be read since the log was opened. */
  readonly damaged: boolean;
}

/** Plugin rows as of the previous entry, including entries of the same batch. Keys are `<plugin>/<rest>`. */
export interface RowReader {
  get(key: string): Json | undefined;
}

/** The rows that `project` may write: those of the plugin that declared the type. */
export interface RowWriter extends RowReader {
  put(key: string, value: Json): void;
  del(key: string): void;
}

/** How a plugin follows the entries of all tenants, whatever their type: for meters and limits. */
export interface Watch {
  /**
   * Writes the plugin's rows in the batch of the entry, after the `project` of the entry's type. It must be pure, so
   * that a replay rebuilds the same rows. Watches run in the order of the names of their types.
   */
  readonly project: (entry: Sequenced, rows: RowWriter) => void;
  /**
   * Refuses a group by throwing, at the sequence point of each of its entries. It sees only entries that are about to
   * be appended, never those of the log.
   */
  readonly admit?: (entry: Sequenced, rows: RowReader) => void;
}

/** An entry type of a plugin: its declaration in the log and how it changes the plugin's rows. */
export interface EntryType {
  /** `<plugin>.<word>.v<N>`. */
  readonly name: string;
  /** JSON Schema 2020-12 of the type's own members. */
  readonly schema: JsonObject;
  /** Extra chain templates `[kind, member, …]`; kind is `<plugin>.<word>`. */
  readonly keys: readonly (readonly string[])[];
  /** Writes the plugin's rows in the batch of the entry. It must be pure, so that a replay rebuilds the same rows. */
  readonly project?: (entry: Sequenced, rows: RowWriter) => void;
  /**
   * The form of the rows that `project` and `watch` write; 1 unless given. A release that derives other rows from the
   * same entries raises it: a database with rows of an earlier form does not open until `actlog reindex` has rebuilt
   * them.
   */
  readonly row_form?: number;
  /**
   * Sees every entry of a tenant after this type's declaration, of built-in types too. Only one version of one type of
   * a plugin may have it: a second one would see each entry again.
   */
  readonly watch?: Watch;
}

/** A manifest as its entry states it: sorted surfaces, milliseconds of log time (log/FORMAT.md §4). */
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

/** The core's state about attempt surfaces, as of the previous entry. */
export interface SurfaceReader {
  /** tenant_ref of the owner; null if the entity has none. */
  owner(entity: string): string | null;
  /** The newest manifest of the entity, in force or not, or null. */
  manifest(entity: string): Manifest | null;
  heartbeat(entity: string, surface: string): Heartbeat | null;
}

/** One open log. Reads return durable entries and rows; proofs are made under published trees. */
export interface Log {
  readonly kind: Kind;
  readonly number: number;
  readonly origin: string;
  /** Verifier key of the checkpoint key (C2SP signed-note). */
  readonly vkey: string;
  /** Verifier key of the ML-DSA-44 key that signs checkpoints as well; null unless the log has one. */
  readonly vkey_ml_dsa: string | null;
  /** Whether this node of a cluster follows: another one appends and publishes. */
  readonly follows: boolean;
  receiptKeys(): readonly ReceiptKey[];
  /** The chain kinds that the log's entry types declare, each with its number of members. */
  chainKinds(): ReadonlyMap<string, number>;
  /**
   * Declares the types that are not declared yet. Rejects with `type_conflict` if a type is declared with another
   * schema.
   */
  declare(types: readonly EntryType[]): Promise<void>;
  /** Appends `log.tenant.v1` unless the tenant is registered already. */
  registerTenant(tenant_ref: string, key_sha256: string): Promise<void>;
  /** Resolves when the group is durable; rejects with the exception of `check` or with a LogError. */
  append(drafts: readonly Draft[], options?: AppendOptions): Promise<readonly Appended[]>;
  size(): number;
  published(): Published;
  /** Requests a checkpoint that covers `size` and waits for it. A log that follows waits, and requests nothing. */
  whenPublished(size: number, signal?: AbortSignal): Promise<Published>;
  /** Calls the listener after each published checkpoint. Returns a function that removes it. */
  onPublished(listener: (published: Published) => void): () => void;
  /** The text of an entry; null beyond the acknowledged size. */
  entry(index: number): string | null;
  indexOfEntry(entry_id: string): number | null;
  indexOfHash(leaf_hash: Uint8Array): number | null;
  leafHash(index: number): Uint8Array;
  /** The newest published note of exactly this size; null if this size was not published. */
  checkpointAt(size: number): string | null;
  /** Hash tile of the published tree, `width` hashes (256 = full); null if the published tree does not contain it. */
  tile(level: number, n: number, width: number): Uint8Array | null;
  /** Entry bundle of the published tree; null if the published tree does not contain it. */
  bundle(n: number, width: number): Promise<Uint8Array | null>;
  /** Inclusion path of an entry in the tree of a published size. */
  inclusion(index: number, size: number): readonly Uint8Array[];
  consistency(from: number, to: number): readonly Uint8Array[];
  /** Root of the first `size` entries (RFC 6962); `out_of_range` beyond the acknowledged size. */
  rootAt(size: number): Uint8Array;
  /** A document of log/FORMAT.md §6 without `declared` and `coverage`, from the newest checkpoint. */
  lookup(
    question: { key: ChainKey; from_ms: number; to_ms: number },
    page?: { after?: number; limit?: number },
  ): Promise<JsonObject>;
  /** The published entries of a chain in a window, oldest first: the answer of `lookup` without the proof. */
  chain(
    question: { key: ChainKey; from_ms: number; to_ms: number },
    page?: { after?: number; limit?: number },
  ): Promise<readonly ChainRow[]>;
  /** A complete document of log/FORMAT.md §6, with the manifests and the heartbeat that its verdict needs. */
  absence(question: {
    readonly key: ChainKey;
    readonly from_ms: number;
    readonly to_ms: number;
  }): Promise<JsonObject>;
  /** A plugin row in the newest durable state. */
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
   * Writes attached rows that belong to no entry (for example to delete an expired record). With `sync: false` a power
   * failure may lose them.
   */
  putAttached(rows: readonly AttachedRow[], options?: { sync?: boolean }): Promise<void>;
  surfaces(): SurfaceReader;
  /** Index of the newest manifest with this surface_manifest_hash; null when there is none. */
  manifestOfHash(surface_manifest_hash: string): number | null;
  /** Indexes of the manifests after an index, oldest first, at most `limit`, which is 100 by default. */
  manifests(range?: {
    readonly after?: number;
    readonly limit?: number;
  }): Promise<readonly number[]>;
  /** All owned entities after a name, with the tenant_ref of the owner of each, in the order of their names. */
  owners(range?: {
    readonly limit?: number;
    readonly after?: string;
  }): Promise<readonly (readonly [entity: string, tenant_ref: string])[]>;
  /** Index of the entry that registered a tenant; null if there is none. */
  tenantEntry(tenant_ref: string): number | null;
  /** The entities that a tenant owns, in the order of their names; with `after`, only names behind it. */
  entitiesOf(tenant_ref: string, limit?: number, after?: string): Promise<readonly string[]>;
  health(): LogHealth;
  readonly operator: LogOperator;
  /** Refuses new entries, waits for those in flight, publishes, saves the map and closes the store. */
  close(): Promise<void>;
}

/** The operations of the operator. */
export interface LogOperator {
  /** Makes a receipt key, declares it and retires the current one. Resolves to the new kid. */
  rotateKey(): Promise<string>;
  /** Declares a receipt key revoked. If it is the current one, a new key is declared first. */
  revokeKey(kid: string): Promise<void>;
  /** Confirms the wall clock after it jumped. */
  confirmClock(): void;
  /** Writes a consistent copy of the database to a new folder while the log continues to take entries. */
  backup(folder: string): Promise<{ size: number }>;
  /**
   * Appends `log.closed.v1` and its map head; nothing follows. An aborted signal rejects the wait for their checkpoint
   * with `log_unavailable`; the entries remain.
   */
  closeForGood(successor: string | null, signal?: AbortSignal): Promise<Published>;
}
