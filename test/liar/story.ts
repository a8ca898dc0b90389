// Writes a log by the rules of log/FORMAT.md, entry by entry, with the deviations that a test requests.

import { jcs, keyOf, lp, noteOf, sha256, signed, tagged, u64, vkeyOf } from './bytes.ts';
import type { Key, Members, Value } from './bytes.ts';
import { leafHash, mapHash, treeHash } from './tree.ts';

/** Deviations of an entry from the rules. */
export interface Bend {
  readonly after_ms?: number;
  /** Changes the statement, with its links, before it is signed; undefined removes a member. */
  readonly set?: Members;
  /** Changes the links. */
  readonly links?: (links: readonly Link[]) => unknown;
  /** Signs instead of the key in force; `kid` remains that of the key in force unless `set` changes it. */
  readonly signer?: Key;
  /** Changes the text after it was signed. */
  readonly text?: (text: string) => string;
  /** Changes the bytes. */
  readonly bytes?: (bytes: Buffer) => Buffer;
  /** Changes the signature before it is written. */
  readonly signature?: (signature: Buffer) => Value | undefined;
}

export interface Link {
  readonly key: readonly string[];
  readonly seq: number;
  readonly prev_index: number | null;
  readonly prev_ms: number | null;
}

interface Head {
  readonly count: number;
  readonly last_index: number;
  readonly last_ms: number;
  readonly leaf: Buffer;
}

export const START_MS = 1_790_000_000_000;
export const TENANT = 'AAAAAAAAAAAAAAAAAAAAAA';
export const OTHER = 'BBBBBBBBBBBBBBBBBBBBBB';
export const ENTITY = 'acme';
export const TYPE = 'demo.act.v1';

/** Seeds of keys; live and sandbox have different ones. */
export const SEEDS = {
  live: { receipt: 0x11, checkpoint: 0x12 },
  sandbox: { receipt: 0x21, checkpoint: 0x22 },
} as const;

export const SCHEMA: Members = {
  type: 'object',
  properties: {
    outcome: { enum: ['PERMIT', 'DENY'] },
    case_id: { type: 'string' },
    amount: { type: 'integer' },
    detail: { type: 'object', properties: { code: { type: 'string' } } },
    subject_key: { type: 'array' },
  },
  required: ['outcome'],
};

/** An act that breaks no rule after `usual`. */
export const ACT: Members = {
  tenant_ref: TENANT,
  entity: ENTITY,
  surface: 'policy_bind',
  outcome: 'PERMIT',
};

export class Story {
  readonly origin: string;
  readonly kind: 'live' | 'sandbox';
  readonly number: number;
  readonly entries: Buffer[] = [];
  readonly leaves: Buffer[] = [];
  readonly checkpointKey: Key;
  key: Key;
  ms: number;
  readonly #heads = new Map<string, { readonly key: readonly string[]; readonly head: Head }>();
  readonly #templates = new Map<string, readonly (readonly string[])[]>();
  #mapHead: number | null = null;

  constructor(
    place: {
      readonly kind?: 'live' | 'sandbox';
      readonly number?: number;
      readonly start_ms?: number;
      readonly receipt?: number;
      readonly checkpoint?: number;
    } = {},
  ) {
    const { kind = 'live', number = 1, start_ms = START_MS } = place;
    this.kind = kind;
    this.number = number;
    this.origin = `liar.example/log/${kind}/${String(number)}`;
    this.ms = start_ms - 1000;
    // A successor has its own keys.
    const own = 0x40 * (number - 1);
    this.key = keyOf(place.receipt ?? SEEDS[kind].receipt + own);
    this.checkpointKey = keyOf(place.checkpoint ?? SEEDS[kind].checkpoint + own);
  }

  get size(): number {
    return this.entries.length;
  }

  get vkey(): string {
    return vkeyOf(this.origin, this.checkpointKey);
  }

  add(type: string, members: Members = {}, bend: Bend = {}): this {
    this.ms += bend.after_ms ?? 1000;
    const index = this.size;
    const base: Members = {
      type,
      origin: this.origin,
      sandbox: this.kind === 'sandbox',
      entry_id: uuid(this.ms, index),
      index,
      issued_at_ms: this.ms,
      kid: this.key.kid,
      ...members,
    };
    const keys = this.#keysOf(base);
    const links = keys.map((key) => this.#link(key));
    const own = links.length > 0 ? links : undefined;
    const linked: Members = {
      ...base,
      links: (bend.links === undefined ? own : bend.links(links)) as Value | undefined,
    };
    const statement: Members = { ...linked, ...bend.set };
    const raw = signed(bend.signer ?? this.key, jcs(statement));
    const signature = bend.signature === undefined ? raw.toString('base64') : bend.signature(raw);
    const right = jcs({ ...statement, signature });
    const text = Buffer.from(bend.text?.(right) ?? right, 'utf8');
    this.#push(bend.bytes?.(text) ?? text, type, base, keys);
    return this;
  }

  open(members: Members = {}, bend: Bend = {}): this {
    return this.add(
      'log.open.v1',
      {
        format: 1,
        jwk: this.key.jwk,
        max_lag_ms: 86_400_000,
        skew_ms: 60_000,
        idle_ms: 600_000,
        max_merge_delay_ms: 60_000,
        predecessor: null,
        ...members,
      },
      bend,
    );
  }

  tenant(tenant_ref = TENANT, bend: Bend = {}): this {
    return this.add('log.tenant.v1', { tenant_ref, key_sha256: hex(tenant_ref) }, bend);
  }

  declare(
    name = TYPE,
    schema: Value = SCHEMA,
    keys: Value = [['demo.case', 'case_id']],
    bend: Bend = {},
  ): this {
    return this.add('log.entry_type.v1', { name, schema, keys }, bend);
  }

  claim(entity = ENTITY, tenant_ref = TENANT, bend: Bend = {}): this {
    return this.add('astl.entity.v1', { tenant_ref, entity, action: 'claim' }, bend);
  }

  /** A claim, transfer or release with these members. */
  entity(members: Members, bend: Bend = {}): this {
    return this.add('astl.entity.v1', { tenant_ref: TENANT, entity: ENTITY, ...members }, bend);
  }

  manifest(members: Members = {}, bend: Bend = {}): this {
    const manifest: Members = {
      entity: ENTITY,
      surfaces: ['offer_extend', 'policy_bind'],
      valid_from_ms: START_MS,
      ...members,
    };
    const { tenant_ref: _, ...covered } = manifest;
    const surface_manifest_hash = sha256(Buffer.from(jcs(covered))).toString('hex');
    return this.add(
      'astl.manifest.v1',
      { tenant_ref: TENANT, surface_manifest_hash, ...manifest },
      bend,
    );
  }

  /** A heartbeat a second after the entry before, or `after_ms`; by default it begins a run. */
  beat(members: Members = {}, bend: Bend = {}): this {
    const run_since_ms = this.ms + (bend.after_ms ?? 1000);
    const own = { tenant_ref: TENANT, entity: ENTITY, surface: 'policy_bind' };
    return this.add(
      'astl.heartbeat.v1',
      { ...own, interval_ms: 60_000, run_since_ms, ...members },
      bend,
    );
  }

  act(members: Members = {}, bend: Bend = {}): this {
    return this.add(TYPE, { ...ACT, ...members }, bend);
  }

  keyEntry(key: Key, status: string, bend: Bend = {}): this {
    return this.add('log.key.v1', { key: key.jwk, status }, bend);
  }

  rotate(next: Key): this {
    const old = this.key;
    this.keyEntry(next, 'active');
    this.key = next;
    return this.keyEntry(old, 'retired');
  }

  close(successor: string | null): this {
    return this.add('log.closed.v1', { successor }).mapHead();
  }

  mapHead(members: Members = {}, bend: Bend = {}): this {
    return this.add(
      'log.map_head.v1',
      {
        covered: this.size,
        map_root: this.mapRoot().toString('hex'),
        prev_map_head: this.#mapHead,
        ...members,
      },
      bend,
    );
  }

  /** The entries: 0 open, 1 tenant, 2 type, 3 claim, 4 manifest, 5 heartbeat, 6 act, 7 map head. */
  usual(): this {
    return this.open().tenant().declare().claim().manifest().beat().act().mapHead();
  }

  acts(count: number): this {
    for (let i = 0; i < count; i += 1) this.act({ case_id: `case-${String(i)}` });
    return this.mapHead();
  }

  mapRoot(): Buffer {
    return mapHash(
      [...this.#heads.values()].map(({ key, head }) => ({
        skey: tagged(5, lp(this.origin), ...key.map(lp)),
        vhash: tagged(
          4,
          Buffer.concat([
            Buffer.of(1),
            u64(head.count),
            u64(head.last_index),
            u64(head.last_ms),
            head.leaf,
          ]),
        ),
      })),
    );
  }

  root(size = this.size): Buffer {
    return treeHash(this.leaves.slice(0, size));
  }

  /** The signed note of a size; `text` changes the text before it is signed. */
  note(size = this.size, text: (text: string) => string = (same) => same): string {
    const lines = `${this.origin}\n${String(size)}\n${this.root(size).toString('base64')}\n`;
    return noteOf(text(lines), this.origin, this.checkpointKey);
  }

  /** The predecessor that a successor of this log declares. */
  get end(): { readonly origin: string; readonly size: number; readonly root: string } {
    return { origin: this.origin, size: this.size, root: this.root().toString('hex') };
  }

  entryId(index: number): string {
    return (JSON.parse(this.entries[index]?.toString() ?? '') as { entry_id: string }).entry_id;
  }

  /** Another log with the same entries so far and the same keys. */
  fork(): Story {
    const { kind, number } = this;
    const other = new Story({ kind, number });
    other.ms = this.ms;
    other.key = this.key;
    other.entries.push(...this.entries);
    other.leaves.push(...this.leaves);
    for (const [name, head] of this.#heads) other.#heads.set(name, head);
    for (const [type, keys] of this.#templates) other.#templates.set(type, keys);
    other.#mapHead = this.#mapHead;
    return other;
  }

  #link(key: readonly string[]): Link {
    const head = this.#heads.get(JSON.stringify(key))?.head;
    const { count: seq = 0, last_index: prev_index = null, last_ms: prev_ms = null } = head ?? {};
    return { key, seq, prev_index, prev_ms };
  }

  /** The table of log/FORMAT.md §3 in order, then the templates. */
  #keysOf(statement: Members): (readonly string[])[] {
    const { type, entity, surface, key, name } = statement;
    const keys: (readonly string[])[] = [];
    const add = (kind: string, ...members: readonly (Value | undefined)[]): void => {
      if (!members.every((member) => typeof member === 'string')) return;
      const chain = [kind, ...members];
      if (!keys.some((other) => JSON.stringify(other) === JSON.stringify(chain))) keys.push(chain);
    };
    const builtin = typeof type === 'string' && /^(log|astl)\./.test(type);
    if (!builtin) {
      add('entity', entity);
      add('surface', entity, surface);
    }
    add('session', statement['session_ref']);
    add('payment', statement['payment_hash']);
    add('action', statement['action_ref']);
    add('trigger', statement['trigger_id']);
    if (type === 'astl.manifest.v1') add('manifest', entity);
    if (type === 'astl.heartbeat.v1') add('heartbeat', entity, surface);
    if (type === 'astl.entity.v1') add('claim', entity);
    if (type === 'log.key.v1') add('key', thumbprint(key));
    if (type === 'log.entry_type.v1') add('type', name);
    for (const [kind = '', ...members] of this.#templates.get(
      typeof type === 'string' ? type : '',
    ) ?? []) {
      add(kind, ...members.map((member) => statement[member]));
    }
    return keys;
  }

  #push(
    bytes: Buffer,
    type: string,
    statement: Members,
    keys: readonly (readonly string[])[],
  ): void {
    const [index, leaf] = [this.size, leafHash(bytes)];
    this.entries.push(bytes);
    this.leaves.push(leaf);
    for (const key of keys) {
      const name = JSON.stringify(key);
      const count = (this.#heads.get(name)?.head.count ?? 0) + 1;
      const head = { count, last_index: index, last_ms: this.ms, leaf };
      this.#heads.set(name, { key, head });
    }
    if (type === 'log.map_head.v1') this.#mapHead = index;
    const { name, keys: templates } = statement;
    if (typeof name === 'string' && type === 'log.entry_type.v1' && Array.isArray(templates)) {
      this.#templates.set(name, templates as readonly (readonly string[])[]);
    }
  }
}

/** A UUIDv7 of a time, increasing with the index. */
export function uuid(ms: number, index: number, version = '7', variant = '8'): string {
  const time = ms.toString(16).padStart(12, '0');
  const rest = index.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}000-${variant}000-${rest}`;
}

export const hex = (text: string): string => sha256(Buffer.from(text)).toString('hex');

/** 43 base64url characters of 256 bits. */
export const name43 = (text: string): string => sha256(Buffer.from(text)).toString('base64url');

function thumbprint(jwk: Value | undefined): string | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  const { kty, crv, x } = jwk as Members;
  return sha256(Buffer.from(jcs({ kty, crv, x }))).toString('base64url');
}
