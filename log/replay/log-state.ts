// The state of a replayed log, and the rules that its next entry must keep. log/FORMAT.md §1 to §4.
//
// `check` changes nothing, and `apply` runs only after every check has passed. A rejected entry therefore leaves the
// state as it was.

import type { Suite } from '../crypto/suite.ts';
import { toHex } from '../encoding/bytes.ts';
import type { JsonObject } from '../encoding/json.ts';
import { checkBuiltin, isBuiltin } from '../rules/builtin.ts';
import { applySurfaces, checkSurfaces } from '../rules/surfaces.ts';
import type { EntryParts } from '../verify/entry.ts';
import { Chains, HeadTable } from './chains.ts';
import type { CheckedLink, HeadMap } from './chains.ts';
import { ReceiptKeys } from './keys.ts';
import type { KeyInForce, KeysDump } from './keys.ts';
import { originParts } from '../map/grammar.ts';
import { checkPhase, checkPredecessor, checkSuccessor, nextPhase } from '../rules/life.ts';
import type { Phase, Predecessor } from '../rules/life.ts';
import { checkMembers } from './members.ts';
import type { Common } from './members.ts';
import { EntryTypes } from './types.ts';
import type { Declaration, TypesDump } from './types.ts';
import { RuleBroken, under } from '../rules/violation.ts';
import type { Rule } from '../rules/violation.ts';
import type { Heartbeat, Manifest } from '../types.ts';
import type { SurfaceState } from '../rules/surfaces.ts';

/** Index and time of a `log.map_head.v1` entry. */
export interface MapHead {
  readonly index: number;
  readonly issued_at_ms: number;
}

/** The members of the last entry that the next one is compared with. */
export interface Last {
  readonly type: string;
  readonly entry_id: string;
  readonly issued_at_ms: number;
}

/** Time of entry 0, and the predecessor that it names. */
export interface Opening {
  readonly issued_at_ms: number;
  readonly predecessor: JsonObject | null;
}

/** Index of `log.closed.v1`, and the successor that it names. */
export interface Closing {
  readonly index: number;
  readonly successor: string | null;
}

/** An entry that passed every check but that of its signature, which `signer` must have made. */
export interface Accepted {
  readonly common: Common;
  readonly links: readonly CheckedLink[];
  readonly signer: KeyInForce;
}

/** The state as JSON, without the heads: what `dump` returns and `restore` reads. */
interface Dump {
  readonly phase: Phase;
  readonly last: Last | null;
  readonly map_head: MapHead | null;
  readonly keys: KeysDump;
  readonly types: TypesDump;
  /** Absent in dumps of older versions, as is `closing`. */
  readonly opening?: Opening | null;
  readonly closing?: Closing | null;
  /** tenant_ref and the index of its registration; dumps of older versions have the tenant_ref only. */
  readonly tenants: readonly (string | readonly [string, number])[];
  readonly surfaces: SurfaceDump;
}

/** The state of one log after its last replayed entry. */
export class LogState {
  readonly origin: string;
  readonly keys: ReceiptKeys;
  readonly types = new EntryTypes();
  readonly #suite: Suite;
  readonly #sandbox: boolean;
  readonly #predecessor: Predecessor | null;
  /** tenant_ref → index of its registration; null if it came from the dump of an older version. */
  readonly #tenants = new Map<string, number | null>();
  readonly #surfaces = new Surfaces();
  #chains: Chains;
  #phase: Phase = 'empty';
  #opening: Opening | null = null;
  #closing: Closing | null = null;
  #last: Last | null = null;
  #mapHead: MapHead | null = null;

  constructor(suite: Suite, origin: string, map: HeadMap, predecessor: Predecessor | null) {
    this.origin = origin;
    this.keys = new ReceiptKeys(suite);
    this.#suite = suite;
    this.#sandbox = originParts(origin)?.kind === 'sandbox';
    this.#predecessor = predecessor;
    this.#chains = new Chains(suite, origin, map);
  }

  get chains(): Chains {
    return this.#chains;
  }

  get last(): Last | null {
    return this.#last;
  }

  get mapHead(): MapHead | null {
    return this.#mapHead;
  }

  /** Null before entry 0, and after `restore` of a dump of an older version. */
  get opening(): Opening | null {
    return this.#opening;
  }

  /** Null until `log.closed.v1`. */
  get closing(): Closing | null {
    return this.#closing;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /**
   * Checks every rule for an entry at this index except its signature.
   *
   * @throws RuleBroken of the first rule that the entry breaks
   */
  check({ statement }: EntryParts, index: number): Accepted {
    const place = { origin: this.origin, sandbox: this.#sandbox, index };
    const common = checkMembers(statement, place);
    checkPhase(this.#phase, common.type, this.#closing?.index ?? null);
    under('builtin_members', () => {
      checkBuiltin(statement);
    });
    checkTimes(common, index, { last: this.#last, mapHead: this.#mapHead });
    const signer = this.#signer(statement, common);
    this.keys.check(statement);
    this.#checkTenant(common);
    const links = this.#checkContent(statement, common.type);
    return { common, links, signer };
  }

  /** Adds an entry that `check` accepted. */
  apply({ statement, leafHash }: EntryParts, { common, links }: Accepted, index: number): void {
    const { type, entry_id, issued_at_ms, tenant_ref } = common;
    this.#chains.apply(links, index, issued_at_ms, leafHash);
    this.keys.apply(statement, index, issued_at_ms);
    if (type === 'log.tenant.v1' && tenant_ref !== null) this.#tenants.set(tenant_ref, index);
    if (type === 'log.entry_type.v1') this.types.add(statement as unknown as Declaration, index);
    applySurfaces(statement, index, this.#surfaces);
    if (type === 'log.map_head.v1') this.#mapHead = { index, issued_at_ms };
    if (type === 'log.open.v1') {
      const predecessor = statement.predecessor as JsonObject | null;
      this.#opening = { issued_at_ms, predecessor };
    }
    if (type === 'log.closed.v1') {
      this.#closing = { index, successor: statement.successor as string | null };
    }
    this.#phase = nextPhase(this.#phase, type);
    this.#last = { type, entry_id, issued_at_ms };
  }

  /** The state as JSON, without the heads, which `chains.dump` returns. */
  dump(): JsonObject {
    const dump: Dump = {
      phase: this.#phase,
      last: this.#last,
      map_head: this.#mapHead,
      keys: this.keys.dump(),
      types: this.types.dump(),
      opening: this.#opening,
      closing: this.#closing,
      tenants: [...this.#tenants].map(([ref, index]) => (index === null ? ref : [ref, index])),
      surfaces: this.#surfaces.dump(),
    };
    return dump as unknown as JsonObject;
  }

  /** Restores what `dump` and `chains.dump` returned. `map` must be empty. */
  restore(json: JsonObject, heads: Uint8Array, map: HeadMap): void {
    const dump = json as unknown as Dump;
    this.#phase = dump.phase;
    this.#last = dump.last;
    this.#mapHead = dump.map_head;
    this.keys.restore(dump.keys);
    this.types.restore(dump.types);
    this.#opening = dump.opening ?? null;
    this.#closing = dump.closing ?? null;
    for (const tenant of dump.tenants) {
      const [tenant_ref, index] = typeof tenant === 'string' ? [tenant, null] : tenant;
      this.#tenants.set(tenant_ref, index);
    }
    this.#surfaces.restore(dump.surfaces);
    this.#chains = new Chains(this.#suite, this.origin, map, HeadTable.load(heads));
  }

  /** The key in force, which `kid` must name. For entry 0 it is the key that the entry declares. */
  #signer(statement: JsonObject, { type, kid }: Common): KeyInForce {
    let keys = this.keys;
    if (type === 'log.open.v1') {
      keys = new ReceiptKeys(this.#suite);
      keys.apply(statement, 0, 0);
    }
    const key = keys.inForce();
    if (key === null) throw new RuleBroken('kid', 'no receipt key is in force');
    if (kid !== key.kid) {
      const detail = `kid is not ${key.kid}, the key in force`;
      throw new RuleBroken('kid', detail, keys === this.keys ? keys.inForceAt() : []);
    }
    return key;
  }

  #checkTenant({ type, tenant_ref }: Common): void {
    if (tenant_ref === null) return;
    const known = this.#tenants.has(tenant_ref);
    if (type === 'log.tenant.v1') {
      if (known) {
        const at = this.#tenants.get(tenant_ref) ?? null;
        const detail = 'tenant_ref is registered already';
        throw new RuleBroken('tenant_declared_twice', detail, at === null ? [] : [at]);
      }
    } else if (!known) {
      throw new RuleBroken('tenant_unknown', 'tenant_ref is not registered before its first entry');
    }
  }

  /** Checks the members by the rules of the entry's type, and returns its links. */
  #checkContent(statement: JsonObject, type: string): readonly CheckedLink[] {
    const declared = !isBuiltin(type);
    const links = this.#chains.check(statement, declared ? this.types.templates(type) : []);
    if (declared) this.types.checkStatement(type, statement);
    under(
      ({ code }) => (code === 'entry_invalid' ? surfaceRule(type) : ownerRule(type)),
      () => {
        checkSurfaces(statement, this.#surfaces.reader);
      },
      () => this.#surfaces.related(statement),
    );
    switch (type) {
      case 'log.open.v1':
        checkPredecessor(statement, this.origin, this.#predecessor);
        break;
      case 'log.closed.v1':
        checkSuccessor(statement, this.origin);
        break;
      case 'log.entry_type.v1':
        this.types.checkDeclaration(statement as unknown as Declaration);
        break;
      case 'log.map_head.v1':
        this.#checkMapHead(statement);
        break;
    }
    return links;
  }

  /** Compares a map head with the entries before it. That `covered` is its own index is a rule of its type. */
  #checkMapHead(statement: JsonObject): void {
    const before = this.#mapHead?.index ?? null;
    if (statement.prev_map_head !== before) {
      const detail = `prev_map_head is not ${String(before)}`;
      throw new RuleBroken('prev_map_head', detail, before === null ? [] : [before]);
    }
    const root = toHex(this.#chains.mapRoot());
    if (statement.map_root !== root) {
      throw new RuleBroken('map_root', `map root of the entries is ${root}`);
    }
  }
}

function surfaceRule(type: string): Rule {
  return type === 'astl.heartbeat.v1' ? 'heartbeat' : 'manifest';
}

function ownerRule(type: string): Rule {
  return type === 'astl.entity.v1' ? 'entity_claim' : 'entity_owner';
}

/** The state that the time and the id of the next entry are compared with. */
interface TimeState {
  readonly last: { readonly entry_id: string; readonly issued_at_ms: number } | null;
  readonly mapHead: { readonly index: number; readonly issued_at_ms: number } | null;
}

/**
 * log/FORMAT.md §2.1: `entry_id` strictly increases. `issued_at_ms` never decreases, and is greater than that of the
 * last map head, so that no entry is added to a window that a map head has closed.
 */
function checkTimes(common: Common, index: number, { last, mapHead }: TimeState): void {
  const { entry_id, issued_at_ms } = common;
  if (last !== null && issued_at_ms < last.issued_at_ms) {
    throw new RuleBroken('time_order', 'issued_at_ms is before that of the entry before', [
      index - 1,
    ]);
  }
  if (mapHead !== null && issued_at_ms <= mapHead.issued_at_ms) {
    throw new RuleBroken('time_after_map_head', 'issued_at_ms is not after the last map head', [
      mapHead.index,
    ]);
  }
  // UUIDs of one length in lower case have the same order as text and as numbers.
  if (last !== null && entry_id <= last.entry_id) {
    throw new RuleBroken(
      'entry_id_order',
      'entry_id is not greater than that of the entry before',
      [index - 1],
    );
  }
}

// The replay's own copy of claims, manifests and heartbeat runs, for the rules of log/rules/surfaces.ts. It is kept in
// memory and does not use the writer's rows. log/FORMAT.md §4.

/** The state as JSON, for `restore`. */
export interface SurfaceDump {
  /** Entity, owner, and the index of the entry that made it the owner; dumps of older versions have no index. */
  readonly owners: readonly (readonly [string, string, number?])[];
  readonly manifests: readonly Manifest[];
  readonly heartbeats: readonly (readonly [string, Heartbeat])[];
}

/** One map key for an entity and a surface. Their grammars allow no space, so the key is unambiguous. */
const both = (entity: string, surface: string): string => `${entity} ${surface}`;

/** The state of all entities after the last replayed entry. */
export class Surfaces implements SurfaceState {
  readonly #owners = new Map<
    string,
    { readonly tenant_ref: string; readonly index: number | null }
  >();
  readonly #manifests = new Map<string, Manifest>();
  readonly #heartbeats = new Map<string, Heartbeat>();

  readonly reader = {
    owner: (entity: string) => this.#owners.get(entity)?.tenant_ref ?? null,
    manifest: (entity: string) => this.#manifests.get(entity) ?? null,
    heartbeat: (entity: string, surface: string) =>
      this.#heartbeats.get(both(entity, surface)) ?? null,
  };

  setOwner(entity: string, tenant_ref: string | null, index: number): void {
    if (tenant_ref === null) this.#owners.delete(entity);
    else this.#owners.set(entity, { tenant_ref, index });
  }

  /** The entries that prove why a statement is rejected: the one that set the owner, and the last heartbeat. */
  related({ type, entity, surface }: JsonObject): readonly number[] {
    if (typeof entity !== 'string') return [];
    const owner = this.#owners.get(entity)?.index ?? null;
    const beat =
      type === 'astl.heartbeat.v1' && typeof surface === 'string'
        ? this.reader.heartbeat(entity, surface)
        : null;
    return [...(owner === null ? [] : [owner]), ...(beat === null ? [] : [beat.index])];
  }

  setManifest(entity: string, manifest: Manifest): void {
    this.#manifests.set(entity, manifest);
  }

  setHeartbeat(entity: string, surface: string, heartbeat: Heartbeat): void {
    this.#heartbeats.set(both(entity, surface), heartbeat);
  }

  dump(): SurfaceDump {
    return {
      owners: [...this.#owners].map(([entity, { tenant_ref, index }]) =>
        index === null ? [entity, tenant_ref] : [entity, tenant_ref, index],
      ),
      manifests: [...this.#manifests.values()],
      heartbeats: [...this.#heartbeats],
    };
  }

  restore({ owners, manifests, heartbeats }: SurfaceDump): void {
    for (const [entity, tenant_ref, index = null] of owners) {
      this.#owners.set(entity, { tenant_ref, index });
    }
    for (const manifest of manifests) this.#manifests.set(manifest.entity, manifest);
    for (const [key, heartbeat] of heartbeats) this.#heartbeats.set(key, heartbeat);
  }
}
