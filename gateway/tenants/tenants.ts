// Tenants and their API keys: authenticates keys, and issues, rotates and revokes them. gateway/API.md §3;
// log/FORMAT.md §4 (tenant_ref, tenant key, session_ref).

import { hash, randomBytes } from 'node:crypto';
import { sessionRef, Turns } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import type { Caller, Kind, Role } from '../../plugins/contract/index.ts';
import { judge, keyHash, kindOfKey, newKeyId, newKeyText } from './api-key.ts';
import type { KeyRecord, KeyRefusal } from './api-key.ts';
import type { GatewayStore, TenantInLog, TenantRecord } from './store.ts';

/** The tenant of requests without a key. */
export const PUBLIC = 'public';
/** The tenant of the keys that a first start issues. */
export const FIRST = 'first';
/** The tenant of the demonstrations. Its name does not match `NAME`, so no key can be issued for it. */
const VISITORS = 'public.demo';

/** Whether a tenant is shared: its disclosures are not stored, and its callers are distinguished by IP address. */
export const isShared = (tenant: string): boolean => tenant === PUBLIC || tenant === VISITORS;

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** An administrator's order for a new key. */
export interface KeyOrder {
  readonly tenant: string;
  readonly kind: Kind;
  readonly role?: Role;
  readonly scopes?: readonly string[];
  readonly expires_at_ms?: number | undefined;
}

/** A new key. Its text is never stored, so it is shown only here. */
export interface IssuedKey extends Omit<KeyRecord, 'sha256' | 'form'> {
  readonly key: string;
}

const BRAND = Symbol.for('actlog.AdminError');

/** A request of an administrator that cannot be performed. The message says why. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  readonly [BRAND] = true;
}

/** Whether a thrown value is an AdminError. */
export const isAdminError = (thrown: unknown): thrown is AdminError =>
  thrown instanceof Error && BRAND in thrown;

/** Tenants and keys, in memory and in the gateway's database. */
export class Tenants {
  readonly #store: GatewayStore;
  readonly #now: () => number;
  /** Serialises changes of keys, so that a rotation cannot undo a revocation that came meanwhile. */
  readonly #turns = new Turns();
  /** Registrations by log and tenant: a promise while one is in progress, true when it is done. */
  readonly #registered = new Map<string, Promise<void> | true>();
  #visitors: Promise<TenantRecord> | null = null;
  /** When each key was last accepted by this process. */
  readonly #used = new Map<string, number>();

  private constructor(store: GatewayStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** Loads tenants and keys from an open database. Creates the tenant `public` if it is missing. */
  static async load(store: GatewayStore, now: () => number): Promise<Tenants> {
    const tenants = new Tenants(store, now);
    await tenants.#tenant(PUBLIC);
    await tenants.#splitOperators();
    return tenants;
  }

  /**
   * Upgrades the keys of earlier releases. There, `operator` keys of the first tenant administered the service, so they
   * and their successors get the role `service`. Keys of other tenants stay `operator` of their tenant.
   */
  async #splitOperators(): Promise<void> {
    const { keys } = this.#store;
    const before = [...keys.values()].filter(
      ({ tenant, role, form }) => tenant === FIRST && role === 'operator' && form === undefined,
    );
    if (before.length === 0) return;
    await this.#store.putKeys(before.map((key) => ({ ...key, role: 'service', form: 2 })));
  }

  /** Whether no key was ever issued. */
  get empty(): boolean {
    return this.#store.keys.size === 0;
  }

  /** Returns the record of a presented key, or the code with which it is refused. */
  authenticate(text: string): KeyRecord | KeyRefusal {
    if (kindOfKey(text) === null) return 'api_key_invalid';
    const sha256 = keyHash(text);
    const record = this.#store.keys.get(sha256);
    if (record === undefined) return 'api_key_invalid';
    const refused = judge(record, sha256, this.#now());
    if (refused !== null) return refused;
    this.#used.set(record.key_id, this.#now());
    return record;
  }

  /** When a key was last accepted, in milliseconds; null if not since this process started. */
  lastUse(key_id: string): number | null {
    return this.#used.get(key_id) ?? null;
  }

  /** The caller of a key that was accepted. `log` is the log that takes the entries of its kind. */
  caller(record: KeyRecord, log: Log, ip: string): Caller {
    return new KnownCaller(record, this.inLog(record.tenant, record.kind), log.origin, ip);
  }

  /** The caller without a key. */
  anonymous(log: Log, ip: string): Caller {
    const nobody = { tenant: PUBLIC, kind: log.kind, role: null, scopes: [], key_id: null };
    return new KnownCaller(nobody, this.inLog(PUBLIC, log.kind), log.origin, ip);
  }

  /** The caller of a demonstration: an operator of the demonstration tenant, which is created on first use. */
  async visitor(log: Log, ip: string): Promise<Caller> {
    // Concurrent first visits share one creation, because each record would be a different tenant.
    this.#visitors ??= this.#tenant(VISITORS).catch((error: unknown) => {
      this.#visitors = null;
      throw error;
    });
    await this.#visitors;
    const role = 'operator' as const;
    const visitor = { tenant: VISITORS, kind: log.kind, role, scopes: [], key_id: 'demo' };
    return new KnownCaller(visitor, this.inLog(VISITORS, log.kind), log.origin, ip);
  }

  /** The reference and the key of a tenant in a kind of log. The tenant must exist. */
  inLog(tenant: string, kind: Kind): TenantInLog {
    const record = this.#store.tenants.get(tenant);
    if (record === undefined) throw new Error(`tenant ${tenant} is not stored`);
    return record[kind];
  }

  /** Registers the tenant in the log, which must happen before its first entry. Returns true if it is done. */
  register(tenant: string, log: Log): Promise<void> | true {
    const name = `${log.origin} ${tenant}`;
    const known = this.#registered.get(name);
    if (known !== undefined) return known;
    const { tenant_ref, tenant_key } = this.inLog(tenant, log.kind);
    const key_sha256 = hash('sha256', Buffer.from(tenant_key, 'hex'), 'hex');
    const registration = log.registerTenant(tenant_ref, key_sha256).then(
      () => void this.#registered.set(name, true),
      (error: unknown) => {
        this.#registered.delete(name);
        throw error;
      },
    );
    this.#registered.set(name, registration);
    return registration;
  }

  /** Issues a key. Creates its tenant if it does not exist. */
  async issue(order: KeyOrder): Promise<IssuedKey> {
    const [only] = await this.issueAll([order]);
    if (only === undefined) throw new Error('one order makes one key');
    return only;
  }

  /** Issues several keys: all of them, or none if the write fails. */
  issueAll(orders: readonly KeyOrder[]): Promise<readonly IssuedKey[]> {
    return this.#turns.run(async () => {
      for (const { tenant } of orders) {
        if (!NAME.test(tenant) || tenant === PUBLIC) {
          throw new AdminError(`tenant must match ${NAME.source} and not be ${PUBLIC}`);
        }
        await this.#tenant(tenant);
      }
      const made = orders.map((order) => this.#newKey(order));
      await this.#store.putKeys(made.map(({ record }) => record));
      return made.map(({ key, record }) => issued(key, record));
    });
  }

  /** Issues the keys of a first start: one for each kind of log. */
  issueFirst(): Promise<readonly IssuedKey[]> {
    const order = { tenant: FIRST, role: 'service' } as const;
    return this.issueAll([
      { ...order, kind: 'sandbox' },
      { ...order, kind: 'live' },
    ]);
  }

  /**
   * Issues the successor of a key. The old key stays valid for `grace_ms`, so that callers can change over. At most two
   * keys of a line of rotations are valid: the predecessor of the old key is revoked, and a key that already has a
   * valid successor is not rotated. The successor does not inherit the expiry of the old key: it is valid until
   * `expires_at_ms`, or until it is revoked.
   */
  rotate(key_id: string, grace_ms: number, expires_at_ms?: number): Promise<IssuedKey> {
    return this.#turns.run(() => this.#rotate(key_id, grace_ms, expires_at_ms));
  }

  async #rotate(key_id: string, grace_ms: number, expires_at_ms?: number): Promise<IssuedKey> {
    const old = this.#find(key_id);
    const now = this.#now();
    if (judge(old, old.sha256, now) !== null)
      throw new AdminError(`key ${key_id} is not valid any more`);
    const successor = this.list().find(
      (key) => key.rotated_from === key_id && judge(key, key.sha256, now) === null,
    );
    if (successor !== undefined) {
      const advice = 'rotate that one, or revoke it first';
      throw new AdminError(`key ${key_id} was rotated to ${successor.key_id}: ${advice}`);
    }
    const { tenant, kind, role, scopes } = old;
    const { key, record } = this.#newKey({ tenant, kind, role, scopes, expires_at_ms });
    const until = Math.min(old.expires_at_ms ?? Infinity, now + grace_ms);
    const ended = this.list().filter(
      ({ key_id: id, revoked_at_ms }) => id === old.rotated_from && revoked_at_ms === undefined,
    );
    await this.#store.putKeys([
      { ...record, rotated_from: key_id },
      { ...old, expires_at_ms: until },
      ...ended.map((before) => ({ ...before, revoked_at_ms: now })),
    ]);
    return issued(key, { ...record, rotated_from: key_id });
  }

  /** Revokes a key permanently. It is refused from now on. */
  revoke(key_id: string): Promise<KeyRecord> {
    return this.#turns.run(async () => {
      const record = this.#find(key_id);
      const revoked = { ...record, revoked_at_ms: record.revoked_at_ms ?? this.#now() };
      await this.#store.putKeys([revoked]);
      return revoked;
    });
  }

  /** All keys, oldest first. */
  list(): readonly KeyRecord[] {
    return [...this.#store.keys.values()].sort((a, b) => a.created_at_ms - b.created_at_ms);
  }

  /** All tenants, without their secrets. */
  tenants(): readonly { name: string; created_at_ms: number; refs: Record<Kind, string> }[] {
    return [...this.#store.tenants.values()].map(({ name, created_at_ms, live, sandbox }) => ({
      name,
      created_at_ms,
      refs: { live: live.tenant_ref, sandbox: sandbox.tenant_ref },
    }));
  }

  async #tenant(name: string): Promise<TenantRecord> {
    const known = this.#store.tenants.get(name);
    if (known !== undefined) return known;
    const fresh = (): TenantInLog => ({
      tenant_ref: randomBytes(16).toString('base64url'),
      tenant_key: randomBytes(32).toString('hex'),
    });
    const record = { name, created_at_ms: this.#now(), live: fresh(), sandbox: fresh() };
    await this.#store.putTenant(record);
    return record;
  }

  #find(key_id: string): KeyRecord {
    const record = this.list().find((key) => key.key_id === key_id);
    if (record === undefined) throw new AdminError(`there is no key ${key_id}`);
    return record;
  }

  #newKey(order: KeyOrder): { key: string; record: KeyRecord } {
    const key = newKeyText(order.kind);
    const record: KeyRecord = {
      key_id: newKeyId(),
      sha256: keyHash(key),
      tenant: order.tenant,
      kind: order.kind,
      role: order.role ?? 'carrier',
      scopes: order.scopes ?? [],
      created_at_ms: this.#now(),
      form: 2,
      ...(order.expires_at_ms === undefined ? {} : { expires_at_ms: order.expires_at_ms }),
    };
    return { key, record };
  }
}

function issued(key: string, { sha256: _, form: __, ...record }: KeyRecord): IssuedKey {
  return { ...record, key };
}

type Identity = Pick<Caller, 'tenant' | 'kind' | 'role' | 'scopes' | 'key_id'>;

class KnownCaller implements Caller {
  readonly tenant: string;
  readonly tenant_ref: string;
  readonly kind: Kind;
  readonly sandbox: boolean;
  readonly role: Role | null;
  readonly scopes: readonly string[];
  readonly key_id: string | null;
  readonly ip: string;
  readonly #tenant_key: string;
  readonly #origin: string;

  constructor(identity: Identity, inLog: TenantInLog, origin: string, ip: string) {
    this.tenant = identity.tenant;
    this.tenant_ref = inLog.tenant_ref;
    this.kind = identity.kind;
    this.sandbox = identity.kind === 'sandbox';
    this.role = identity.role;
    this.scopes = identity.scopes;
    this.key_id = identity.key_id;
    this.ip = ip;
    this.#tenant_key = inLog.tenant_key;
    this.#origin = origin;
  }

  sessionRef(session_id: string, origin = this.#origin): string {
    return sessionRef(Buffer.from(this.#tenant_key, 'hex'), origin, session_id);
  }
}
