// The built-in entry types: exactly which members each has, and their shapes. log/FORMAT.md §1, §2, §4.
// Pure and without state: rules that depend on earlier entries are in surfaces.ts, life.ts and declarations.ts.
// Browser-safe.

import { publicKeyOfJwk } from '../crypto/thumbprint.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { isLogError, LogError } from '../errors.ts';
import * as grammar from '../map/grammar.ts';
import { isBuiltin } from '../map/grammar.ts';
import type { BuiltinType, Grammar } from '../map/grammar.ts';
import { checkDeclaration } from './declaration.ts';

export { BUILTIN_TYPES, isBuiltin } from '../map/grammar.ts';
export type { BuiltinType } from '../map/grammar.ts';

/** The constants of format 1, as entry 0 states them. */
export const FORMAT = {
  format: 1,
  max_lag_ms: 86_400_000,
  skew_ms: 60_000,
  idle_ms: 600_000,
  max_merge_delay_ms: 60_000,
} as const;

/** Throws if the value is not allowed for the member. */
type Shape = (value: Json | undefined, statement: JsonObject) => void;

/** The members of a type; a name that ends in `?` may be missing. */
type Members = Readonly<Record<string, Shape>>;

const ORIGIN = /^[^\s+\p{Cc}]{1,1024}\/log\/(?:live|sandbox)\/[1-9][0-9]{0,15}$/u;

/** Members that the core sets in every entry. */
const PLACED = ['type', 'origin', 'entry_id', 'index', 'issued_at_ms', 'kid', 'sandbox', 'links'];

/** Members that an entry of a tenant may have in addition. Built-in types have no commitments. */
const OF_A_TENANT = [
  'tenant_ref',
  'event_at_ms',
  'toll',
  'toll_micro_usd',
  'cleared_micro_usd',
  'submitter',
];

const isOrigin: Shape = (value) => {
  if (typeof value !== 'string' || !ORIGIN.test(value)) throw invalid('origin is malformed');
};
const isHash = matches(grammar.hashHex);
const isJwk: Shape = (value) => {
  exactMembers(objectOf(value), ['kty', 'crv', 'x']);
  publicKeyOfJwk(value);
};
const isTime = integer(0);

const TYPES: Readonly<Record<BuiltinType, Members>> = {
  'log.open.v1': {
    format: constant(FORMAT.format),
    jwk: isJwk,
    max_lag_ms: constant(FORMAT.max_lag_ms),
    skew_ms: constant(FORMAT.skew_ms),
    idle_ms: constant(FORMAT.idle_ms),
    max_merge_delay_ms: constant(FORMAT.max_merge_delay_ms),
    predecessor: (value, statement) => {
      if (value === null) return;
      const predecessor = objectOf(value);
      exactMembers(predecessor, ['origin', 'size', 'root']);
      isOrigin(predecessor.origin, statement);
      integer(1)(predecessor.size, statement);
      isHash(predecessor.root, statement);
    },
  },
  'log.closed.v1': {
    successor: (value, statement) => {
      if (value !== null) isOrigin(value, statement);
    },
  },
  'log.entry_type.v1': {
    name: matches(grammar.typeName),
    schema: (value) => void objectOf(value),
    keys: (_value, statement) => {
      checkDeclaration(statement);
    },
  },
  'log.map_head.v1': {
    covered: (value, statement) => {
      if (value !== statement.index) throw invalid('covered is not the index of the entry');
    },
    map_root: isHash,
    prev_map_head: (value, statement) => {
      if (value === null) return;
      integer(0)(value, statement);
      if (Number(value) >= Number(statement.index)) {
        throw invalid('prev_map_head is not before the entry');
      }
    },
  },
  'log.key.v1': { key: isJwk, status: oneOf('active', 'retired', 'revoked') },
  'log.tenant.v1': { tenant_ref: matches(grammar.tenantRef), key_sha256: isHash },
  'astl.entity.v1': {
    entity: matches(grammar.entity),
    action: (value, statement) => {
      oneOf('claim', 'transfer', 'release')(value, statement);
      if ((value === 'transfer') !== Object.hasOwn(statement, 'to_tenant_ref')) {
        throw invalid('to_tenant_ref is required for transfer and not allowed otherwise');
      }
    },
    'to_tenant_ref?': matches(grammar.tenantRef),
  },
  'astl.manifest.v1': {
    entity: matches(grammar.entity),
    surfaces: (value) => {
      checkSurfaceList(value);
    },
    surface_manifest_hash: isHash,
    valid_from_ms: isTime,
    'valid_until_ms?': isTime,
    'heartbeat_interval_ms?': (value, statement) => {
      integer(1)(value, statement);
      const gap = statement.min_detectable_gap_ms;
      if (gap !== undefined && (typeof gap !== 'number' || 2 * Number(value) > gap)) {
        throw invalid('heartbeat_interval_ms is more than half of min_detectable_gap_ms');
      }
    },
    'min_detectable_gap_ms?': (value, statement) => {
      integer(2)(value, statement);
      if (!Object.hasOwn(statement, 'heartbeat_interval_ms')) {
        throw invalid('min_detectable_gap_ms requires heartbeat_interval_ms');
      }
    },
  },
  'astl.heartbeat.v1': {
    entity: matches(grammar.entity),
    surface: matches(grammar.surface),
    interval_ms: integer(1),
    run_since_ms: isTime,
    'acts_total?': integer(0),
  },
};

/** The members of a manifest that its hash covers, in no particular order. */
export const MANIFEST_MEMBERS: readonly string[] = memberNames('astl.manifest.v1').filter(
  (name) => name !== 'surface_manifest_hash',
);

/**
 * A statement of a built-in type has exactly the members of its type besides the common ones, each of its form. A
 * statement of another type passes, unless the name of its type begins with `log.` or `astl.`.
 *
 * @throws LogError `entry_invalid`, or `key_invalid` for a JWK that is not an Ed25519 key
 */
export function checkBuiltin(statement: JsonObject): void {
  const { type } = statement;
  if (typeof type !== 'string') throw invalid('type is not a string');
  if (!isBuiltin(type)) {
    if (/^(?:log|astl)\./u.test(type))
      throw invalid('format 1 does not define this log. or astl. type');
    return;
  }
  const common = type.startsWith('astl.') ? [...PLACED, ...OF_A_TENANT] : PLACED;
  const members = TYPES[type];
  const own = memberNames(type);
  for (const name of Object.keys(statement)) {
    if (!common.includes(name) && !own.includes(name)) {
      throw invalid(`${type} has no member ${JSON.stringify(name.slice(0, 64))}`);
    }
  }
  if (type.startsWith('astl.')) matches(grammar.tenantRef)(statement.tenant_ref, statement);
  for (const [key, shape] of Object.entries(members)) {
    const name = key.replace('?', '');
    if (!Object.hasOwn(statement, name)) {
      if (key === name) throw invalid(`${type} lacks ${name}`);
      continue;
    }
    try {
      shape(statement[name], statement);
    } catch (error) {
      if (!isLogError(error)) throw error;
      throw new LogError(error.code, `${name} of ${type}: ${error.message}`, { cause: error });
    }
  }
}

/** Sorted by code units and unique, each of the surface grammar. Throws `entry_invalid`. */
function checkSurfaceList(value: Json | undefined): asserts value is readonly string[] {
  if (!Array.isArray(value)) throw invalid('surfaces is not an array');
  let before = '';
  for (const surface of value as readonly Json[]) {
    if (typeof surface !== 'string' || !grammar.surface.test(surface)) {
      throw invalid(`a surface is not ${grammar.surface.rule}`);
    }
    if (surface <= before) throw invalid('surfaces are not sorted and unique');
    before = surface;
  }
}

function memberNames(type: BuiltinType): string[] {
  return Object.keys(TYPES[type]).map((key) => key.replace('?', ''));
}

function matches({ test, rule }: Grammar): Shape {
  return (value) => {
    if (typeof value !== 'string' || !test(value)) throw invalid(`not ${rule}`);
  };
}

function integer(least: number): Shape {
  return (value) => {
    if (!Number.isSafeInteger(value) || Number(value) < least) {
      throw invalid(`not an integer of at least ${String(least)}`);
    }
  };
}

function constant(wanted: number): Shape {
  return (value) => {
    if (value !== wanted) throw invalid(`not ${String(wanted)}`);
  };
}

function oneOf(...values: readonly string[]): Shape {
  return (value) => {
    if (typeof value !== 'string' || !values.includes(value)) {
      throw invalid(`not one of ${values.join(', ')}`);
    }
  };
}

function objectOf(value: Json | undefined): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('not an object');
  }
  return value as JsonObject;
}

function exactMembers(object: JsonObject, names: readonly string[]): void {
  const keys = Object.keys(object);
  if (keys.length !== names.length || !names.every((name) => Object.hasOwn(object, name))) {
    throw invalid(`members are not exactly ${names.join(', ')}`);
  }
}

function invalid(message: string): LogError {
  return new LogError('entry_invalid', message);
}
