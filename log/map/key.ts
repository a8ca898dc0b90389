// Chain keys: which chains an entry is on, and the key of a chain in the head map (log/FORMAT.md §3). The checks accept
// untrusted input, such as the question of a document or an entry that a monitor reads. Browser-safe.

import { portable } from '../crypto/portable.ts';
import type { Suite } from '../crypto/suite.ts';
import { thumbprint } from '../crypto/thumbprint.ts';
import { lp } from '../encoding/bytes.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import type { ChainKey } from '../types.ts';
import * as grammar from './grammar.ts';
import type { Grammar } from './grammar.ts';

/** The most links an entry may have. */
export const MAX_LINKS = 8;

/** The most bytes of one member of a key: its length is a u16. */
const MAX_MEMBER_BYTES = 65_535;

const CHAIN_KEY_TAG = Uint8Array.of(5);

/** The chain kinds of the core, each with the grammar of its members in order. */
export const KINDS: ReadonlyMap<string, readonly Grammar[]> = new Map([
  ['entity', [grammar.entity]],
  ['surface', [grammar.entity, grammar.surface]],
  ['session', [grammar.sessionRef]],
  ['payment', [grammar.paymentHash]],
  ['action', [grammar.actionRef]],
  ['trigger', [grammar.uuidV7]],
  ['manifest', [grammar.entity]],
  ['heartbeat', [grammar.entity, grammar.surface]],
  ['claim', [grammar.entity]],
  ['key', [grammar.kid]],
  ['type', [grammar.typeName]],
]);

/** The reserved members: they put an entry of any type on a chain. */
const RESERVED: ReadonlyMap<string, Grammar> = new Map([
  ['entity', grammar.entity],
  ['surface', grammar.surface],
  ['session_ref', grammar.sessionRef],
  ['payment_hash', grammar.paymentHash],
  ['action_ref', grammar.actionRef],
  ['trigger_id', grammar.uuidV7],
]);

/** Whether a member is reserved, such as `entity`, `surface` and `session_ref`. */
export function isReservedMember(name: string): boolean {
  return RESERVED.has(name);
}

/**
 * Checks a chain key from a caller: a kind of the core with members of its grammars, or a declared kind with strings.
 *
 * @param declaredKinds the declared kinds, each with its number of members, without the kind itself
 * @throws LogError `key_invalid`
 */
export function checkKey(key: unknown, declaredKinds?: ReadonlyMap<string, number>): ChainKey {
  if (!Array.isArray(key) || key.length === 0 || !key.every((part) => typeof part === 'string')) {
    throw invalid('chain key is not an array of strings');
  }
  const [kind = '', ...members] = key;
  const rules = KINDS.get(kind);
  const wanted = rules?.length ?? declaredKinds?.get(kind);
  if (wanted === undefined) throw invalid('chain kind is unknown');
  if (members.length !== wanted) {
    throw invalid(
      `chain key of kind ${kind} has ${String(members.length)} members, not ${String(wanted)}`,
    );
  }
  for (const [i, member] of members.entries()) {
    const rule = rules?.[i];
    if (rule !== undefined && !rule.test(member)) {
      throw invalid(`member ${String(i + 1)} of chain key ${kind} is not ${rule.rule}`);
    }
    if (!member.isWellFormed() || member.length > MAX_MEMBER_BYTES) {
      throw invalid(
        `member ${String(i + 1)} of chain key ${kind} is not a text of at most 65535 bytes`,
      );
    }
  }
  return [kind, ...members];
}

/** Whether the core defines this chain kind. Entry types declare all other kinds. */
export const isChainKind = (kind: string): boolean => KINDS.has(kind);

/** H(05, lp(origin) ‖ lp(key[0]) ‖ lp(key[1]) ‖ …): the key of a chain in the head map, 32 bytes. */
export function skey(suite: Suite, origin: string, key: ChainKey): Uint8Array {
  return suite.sha256(lp(CHAIN_KEY_TAG, origin, ...key));
}

/**
 * Checks that the reserved members of a statement have their grammars, and that `surface` comes with `entity`.
 *
 * @throws LogError `key_invalid`
 */
export function checkReserved(statement: JsonObject): void {
  for (const [name, rule] of RESERVED) {
    if (!Object.hasOwn(statement, name)) continue;
    stringOf(statement[name], name, rule);
  }
  if (Object.hasOwn(statement, 'surface') && !Object.hasOwn(statement, 'entity')) {
    throw invalid('surface is there without entity');
  }
}

/**
 * The chains of an entry, in the order of its links: those of the table in log/FORMAT.md §3, then those of the
 * templates of its type. A chain that both give is listed once.
 *
 * @throws LogError `key_invalid` if a reserved member breaks its grammar, `links_exceeded` for more than 8 chains
 */
export function chainKeys(
  statement: JsonObject,
  templates: readonly (readonly string[])[],
): ChainKey[] {
  checkReserved(statement);
  const keys = tableKeys(statement);
  for (const template of templates) {
    const key = applied(template, statement);
    if (key !== null && !keys.some((other) => sameKey(other, key))) keys.push(key);
  }
  if (keys.length > MAX_LINKS) {
    throw new LogError(
      'links_exceeded',
      `entry needs ${String(keys.length)} links, the limit is ${String(MAX_LINKS)}`,
    );
  }
  return keys;
}

/** Whether two chain keys are the same key. */
export function sameKey(a: ChainKey, b: ChainKey): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}

/** The chains of the table, in its order. `checkReserved` has accepted the statement. */
function tableKeys(statement: JsonObject): ChainKey[] {
  const { type } = statement;
  if (typeof type !== 'string') throw new LogError('entry_invalid', 'type is not a string');
  const keys: ChainKey[] = [];
  if (!grammar.isBuiltin(type)) {
    add(keys, ENTITY, statement);
    if (Object.hasOwn(statement, 'surface')) add(keys, SURFACE, statement);
  }
  for (const template of EVERY_TYPE) add(keys, template, statement);
  switch (type) {
    case 'astl.manifest.v1':
      keys.push(['manifest', required(statement, 'entity', grammar.entity)]);
      break;
    case 'astl.heartbeat.v1':
      keys.push([
        'heartbeat',
        required(statement, 'entity', grammar.entity),
        required(statement, 'surface', grammar.surface),
      ]);
      break;
    case 'astl.entity.v1':
      keys.push(['claim', required(statement, 'entity', grammar.entity)]);
      break;
    case 'log.key.v1':
      // A JWK in the log has no member `kid`; its thumbprint is the kid. A log has only a few such entries, so the
      // slower portable hash is enough, and callers need not pass a suite.
      keys.push(['key', thumbprint(portable, ownMember(statement, 'key'))]);
      break;
    case 'log.entry_type.v1':
      keys.push(['type', required(statement, 'name', grammar.typeName)]);
      break;
  }
  return keys;
}

const ENTITY = ['entity', 'entity'];
const SURFACE = ['surface', 'entity', 'surface'];
const EVERY_TYPE = [
  ['session', 'session_ref'],
  ['payment', 'payment_hash'],
  ['action', 'action_ref'],
  ['trigger', 'trigger_id'],
];

function add(keys: ChainKey[], template: readonly string[], statement: JsonObject): void {
  const key = applied(template, statement);
  if (key !== null) keys.push(key);
}

/** The chain key that a template gives for a statement; null if a member of the template is missing or not a string. */
function applied(template: readonly string[], statement: JsonObject): ChainKey | null {
  // Most statements lack most members, so the key is allocated only when all members are there.
  for (let i = 1; i < template.length; i += 1) {
    if (typeof ownMember(statement, template[i] ?? '') !== 'string') return null;
  }
  return template.map((name, i) => (i === 0 ? name : (statement[name] as string)));
}

function required(statement: JsonObject, name: string, rule: Grammar): string {
  return stringOf(ownMember(statement, name), name, rule);
}

/** A member of the statement itself, never one of its prototype such as `constructor`. */
function ownMember(statement: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(statement, name) ? statement[name] : undefined;
}

function stringOf(value: Json | undefined, name: string, rule: Grammar): string {
  if (typeof value !== 'string' || !rule.test(value)) throw invalid(`${name} is not ${rule.rule}`);
  return value;
}

function invalid(message: string): LogError {
  return new LogError('key_invalid', message);
}
