// What a log has said so far, and whether the next entry may stand after it. log/FORMAT.md §1 to §4.
// Checks first and changes nothing until all have passed, so that a refused entry leaves no trace.

import type { Suite } from '../crypto/suite.ts';
import { toHex } from '../encoding/bytes.ts';
import type { JsonObject } from '../encoding/json-types.ts';
import { checkBuiltin, isBuiltin } from '../rules/builtin.ts';
import { applySurfaces, checkSurfaces } from '../rules/surfaces.ts';
import type { EntryParts } from '../verify/entry.ts';
import { Chains } from './chains.ts';
import type { CheckedLink, HeadMap } from './chains.ts';
import { HeadTable } from './heads.ts';
import { ReceiptKeys } from './keys.ts';
import type { KeyInForce, KeysDump } from './keys.ts';
import {
  checkPhase,
  checkPredecessor,
  checkSuccessor,
  nextPhase,
  originParts,
} from '../rules/life.ts';
import type { Phase, Predecessor } from '../rules/life.ts';
import { checkMembers } from './members.ts';
import type { Common } from './members.ts';
import { Surfaces } from './surfaces.ts';
import type { SurfaceDump } from './surfaces.ts';
import { EntryTypes } from './types.ts';
import type { Declaration, TypesDump } from './types.ts';
import { RuleBroken, under } from '../rules/violation.ts';
import type { Rule } from '../rules/violation.ts';

/** Place and time of a map head. */
export interface MapHead {
  readonly index: number;
  readonly issued_at_ms: number;
}

/** The last entry, as far as the next one is compared with it. */
export interface Last {
  readonly text: string;
  readonly type: string;
  readonly entry_id: string;
  readonly issued_at_ms: number;
}

/** What entry 0 says of the log before. */
export interface Opening {
  readonly issued_at_ms: number;
  readonly predecessor: JsonObject | null;
}

/** What log.closed.v1 says of the log after. */
export interface Closing {
  readonly index: number;
  readonly successor: string | null;
}

/** An entry that may stand at its place; only its signature is still to be checked, with this key. */
export interface Accepted {
  readonly common: Common;
  readonly links: readonly CheckedLink[];
  readonly signer: KeyInForce;
}

/** `dump` and `restore` speak of this, beside the heads. */
interface Dump {
  readonly phase: Phase;
  readonly last: Last | null;
  readonly map_head: MapHead | null;
  readonly keys: KeysDump;
  readonly types: TypesDump;
  /** Older dumps do not have these two. */
  readonly opening?: Opening | null;
  readonly closing?: Closing | null;
  /** With the index of the registration, which older dumps do not have. */
  readonly tenants: readonly (string | readonly [string, number])[];
  readonly surfaces: SurfaceDump;
}

/** The state of one log as of its last entry. */
export class LogState {
  readonly origin: string;
  readonly keys: ReceiptKeys;
  readonly types = new EntryTypes();
  readonly #suite: Suite;
  readonly #sandbox: boolean;
  readonly #predecessor: Predecessor | null;
  /** tenant_ref → index of its registration; null out of an older dump. */
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

  /** Null while the log takes entries. */
  get closing(): Closing | null {
    return this.#closing;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Whether the entry may stand at this index, but for its signature; throws RuleBroken. */
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

  /** Moves on to an entry that was checked. */
  apply(
    { statement, leafHash, text }: EntryParts,
    { common, links }: Accepted,
    index: number,
  ): void {
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
    this.#last = { text, type, entry_id, issued_at_ms };
  }

  /** Everything but the heads, as JSON. */
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

  /** Takes what `dump` and `Chains.dump` gave; the head map is empty. */
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

  /** The key in force, for entry 0 that of its own jwk; kid must name it. */
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

  /** What the type asks for, and the links that the members ask for. */
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

  /** covered is the entry's own index by the shape of the type; the rest is of the log. */
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

/** What the next entry is compared with. */
interface TimeState {
  readonly last: { readonly entry_id: string; readonly issued_at_ms: number } | null;
  readonly mapHead: { readonly index: number; readonly issued_at_ms: number } | null;
}

/**
 * log/FORMAT.md §2.1: entry_id strictly increases; issued_at_ms never decreases and is strictly greater than that of the last
 * map head, so that no entry can fall into a window that a map head has closed.
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
  // One spelling of one length: the order of the text is that of the bits.
  if (last !== null && entry_id <= last.entry_id) {
    throw new RuleBroken(
      'entry_id_order',
      'entry_id is not greater than that of the entry before',
      [index - 1],
    );
  }
}
