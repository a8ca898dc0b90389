// Writes logs for tests: correct by default, and broken exactly as a test requests. For tests only: it signs
// anything. The head map is the recursive definition of log/FORMAT.md §4.

import { native } from '../../log/crypto/native.ts';
import { toBase64, toBase64Url, toHex, utf8 } from '../../log/encoding/bytes.ts';
import { canonical } from '../../log/encoding/canonical.ts';
import type { Json, JsonObject } from '../../log/encoding/json.ts';
import { vhash } from '../../log/map/head.ts';
import { chainKeys, skey } from '../../log/map/key.ts';
import { leafHash } from '../../log/merkle/hash.ts';
import { signCosignature } from '../../log/note/note.ts';
import { formatCheckpoint, signCheckpoint } from '../../log/note/checkpoint.ts';
import { manifestHash } from '../../log/rules/surfaces.ts';
import type { ChainKey, Head } from '../../log/types.ts';
import { mapHash, mapLeaf, mapPath, pathOf, treeHash } from './definitions.ts';
import { seedKey } from './seed-key.ts';
import type { SeedKey } from './seed-key.ts';

export { seedKey } from './seed-key.ts';

/** The changes that a test makes; undefined removes a member. */
export interface Bend {
  /** Changes the complete statement, with links, before it is signed. */
  readonly statement?: Readonly<Record<string, Json | undefined>>;
  /** Changes the signed text. */
  readonly text?: (text: string) => string;
  /** Signs instead of the key in force. */
  readonly key?: SeedKey;
}

/** The time of the first entry in the vectors. */
export const START_MS = 1_790_000_000_000;
export const RECEIPT_KEY = seedKey(0x42);
export const CHECKPOINT_KEY = seedKey(0x43);
export const TENANT = 'dGVuYW50LWV4YW1wbGUtMQ';
export const ENTITY = 'did:example:acme';

/** A log that is written entry by entry, one second apart, and signed with the receipt key of the vectors. */
export class Forge {
  readonly origin: string;
  readonly texts: string[] = [];
  readonly leaves: Uint8Array[] = [];
  key: SeedKey = RECEIPT_KEY;
  ms = START_MS - 1000;
  readonly #heads = new Map<string, { skey: Uint8Array; head: Head }>();
  readonly #templates = new Map<string, readonly (readonly string[])[]>();
  #mapHead: number | null = null;

  constructor(origin = 'log.example/log/live/1') {
    this.origin = origin;
  }

  get size(): number {
    return this.texts.length;
  }

  /** Adds an entry of this type and members, `after_ms` after the previous one. */
  add(type: string, members: JsonObject = {}, bend: Bend & { after_ms?: number } = {}): string {
    this.ms += bend.after_ms ?? 1000;
    const index = this.size;
    const key = bend.key ?? this.key;
    const base: JsonObject = {
      type,
      origin: this.origin,
      sandbox: this.origin.includes('/log/sandbox/'),
      entry_id: uuid(this.ms, index),
      index,
      issued_at_ms: this.ms,
      kid: key.kid,
      ...members,
    };
    const keys = keysOf(base, this.#templates.get(type) ?? []);
    const links = keys.map((chain) => this.#link(chain));
    const statement = without({
      ...base,
      ...(links.length > 0 ? { links } : {}),
      ...bend.statement,
    });
    const signature = toBase64(key.sign(utf8(canonical(statement))));
    const plain = canonical({ ...statement, signature });
    const text = bend.text?.(plain) ?? plain;
    this.#push(text, statement, keys);
    return text;
  }

  /** Adds entry 0. */
  open(members: JsonObject = {}, bend: Bend = {}): this {
    this.add(
      'log.open.v1',
      {
        format: 1,
        jwk: this.key.jwk as unknown as JsonObject,
        max_lag_ms: 86_400_000,
        skew_ms: 60_000,
        idle_ms: 600_000,
        max_merge_delay_ms: 60_000,
        predecessor: null,
        ...members,
      },
      bend,
    );
    return this;
  }

  /** Registers the tenant of the tests. */
  tenant(tenant_ref = TENANT): this {
    this.add('log.tenant.v1', { tenant_ref, key_sha256: '0'.repeat(64) });
    return this;
  }

  declare(name: string, schema: JsonObject, keys: readonly (readonly string[])[] = []): this {
    this.add('log.entry_type.v1', { name, schema, keys });
    return this;
  }

  claim(entity = ENTITY, tenant_ref = TENANT): this {
    this.add('astl.entity.v1', { tenant_ref, entity, action: 'claim' });
    return this;
  }

  manifest(members: JsonObject = {}, bend: Bend = {}): this {
    const manifest = {
      entity: ENTITY,
      surfaces: ['offer_extend', 'policy_bind'],
      valid_from_ms: START_MS,
      ...members,
    };
    const surface_manifest_hash = manifestHash(native, manifest);
    this.add('astl.manifest.v1', { tenant_ref: TENANT, ...manifest, surface_manifest_hash }, bend);
    return this;
  }

  mapHead(bend: Bend & { after_ms?: number } = {}): this {
    this.add(
      'log.map_head.v1',
      { covered: this.size, map_root: toHex(this.mapRoot()), prev_map_head: this.#mapHead },
      bend,
    );
    return this;
  }

  /** Adds entries 0 to 5 of most tests: log.open, a tenant, a declared type, a claimed entity, an act, a map head. */
  usual(): this {
    this.open()
      .tenant()
      .declare('gate.decision.v1', DECISION, [['gate.case', 'case_id']])
      .claim();
    this.add('gate.decision.v1', ACT);
    return this.mapHead();
  }

  /** The root of the head map for the entries so far, by definition. */
  mapRoot(): Uint8Array {
    return mapHash(this.#leaves(), 0);
  }

  /** The root of the log, by the definition of RFC 9162 §2.1.1. */
  root(size = this.size): Uint8Array {
    return treeHash(this.leaves.slice(0, size));
  }

  /** The signed note of the present size, with cosignatures of these keys. */
  note(cosigners: readonly { name: string; key: SeedKey; time_s: number }[] = []): string {
    const checkpoint = { origin: this.origin, size: this.size, root: this.root() };
    const lines = cosigners.map(({ name, key, time_s }) =>
      signCosignature(native, key, name, formatCheckpoint(checkpoint), time_s),
    );
    return signCheckpoint(native, CHECKPOINT_KEY, checkpoint) + lines.join('');
  }

  /** The inclusion path of an entry for the present size, by definition, in base64. */
  path(index: number): string[] {
    return pathOf(this.leaves, index).map(toBase64);
  }

  /** The *opened* form (log/FORMAT.md §6) of an entry for the present size. */
  opened(index: number): JsonObject {
    return { index, entry: this.texts[index]!, path: this.path(index) };
  }

  /** The proof from the present map, by definition: a tail for a chain with entries, otherwise a never. */
  mapProof(key: ChainKey): JsonObject {
    const wanted = skey(native, this.origin, key);
    const { siblings: hashes, leaf } = mapPath(this.#leaves(), wanted);
    const siblings = hashes.map((sibling) => (sibling === null ? '' : toBase64(sibling)));
    const head = this.#heads.get(JSON.stringify(key))?.head;
    if (head !== undefined) {
      const { last_leaf_hash, ...numbers } = head;
      return {
        type: 'tail',
        siblings,
        head: { ...numbers, last_leaf_hash: toBase64(last_leaf_hash) },
      };
    }
    if (leaf === null) return { type: 'never', siblings };
    const foreign = { skey: toBase64(leaf.skey), vhash: toBase64(leaf.vhash) };
    return { type: 'never', siblings, foreign };
  }

  #leaves(): { skey: Uint8Array; vhash: Uint8Array; hash: Uint8Array }[] {
    return [...this.#heads.values()].map((leaf) => {
      const value = vhash(native, leaf.head);
      return { skey: leaf.skey, vhash: value, hash: mapLeaf(leaf.skey, value) };
    });
  }

  #link(key: ChainKey): JsonObject {
    const head = this.#heads.get(JSON.stringify(key))?.head;
    return {
      key,
      seq: head?.count ?? 0,
      prev_index: head?.last_index ?? null,
      prev_ms: head?.last_ms ?? null,
    };
  }

  #push(text: string, statement: JsonObject, keys: readonly ChainKey[]): void {
    const index = this.size;
    const leaf = leafHash(native, utf8(text));
    this.texts.push(text);
    this.leaves.push(leaf);
    for (const key of keys) {
      const count = (this.#heads.get(JSON.stringify(key))?.head.count ?? 0) + 1;
      const head = { count, last_index: index, last_ms: this.ms, last_leaf_hash: leaf };
      this.#heads.set(JSON.stringify(key), { skey: skey(native, this.origin, key), head });
    }
    if (statement.type === 'log.map_head.v1') this.#mapHead = index;
    if (statement.type === 'log.entry_type.v1') {
      this.#templates.set(statement.name as string, statement.keys as unknown as string[][]);
    }
  }
}

/** The schema of the act in most tests. */
export const DECISION: JsonObject = {
  type: 'object',
  properties: {
    outcome: { enum: ['PERMIT', 'DENY', 'on hold'] },
    case_id: { type: 'string' },
    amount: {},
    detail: { type: 'object', properties: { code: {} } },
  },
  required: ['outcome'],
};

/** The members of an act on a surface. */
export const ACT: JsonObject = {
  tenant_ref: TENANT,
  entity: ENTITY,
  surface: 'policy_bind',
  outcome: 'PERMIT',
};

/** A UUIDv7 of a time, increasing with the index. */
export function uuid(ms: number, index: number): string {
  const time = ms.toString(16).padStart(12, '0');
  const rest = index.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${rest}`;
}

/** A session_ref, payment or other name of 43 characters that looks random, computed from a number. */
export function name43(n: number): string {
  return toBase64Url(native.sha256(utf8(String(n))));
}

/** A SHA-256 in hex, computed from a number. */
export function hex64(n: number): string {
  return toHex(native.sha256(utf8(String(n))));
}

function keysOf(statement: JsonObject, templates: readonly (readonly string[])[]): ChainKey[] {
  try {
    return chainKeys(statement, templates);
  } catch {
    return []; // a test that breaks the grammar of a reserved member
  }
}

function without(members: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((member): member is [string, Json] => member[1] !== undefined),
  );
}
