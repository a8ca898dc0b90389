// Which strings an entry may hold in clear. Free text that a caller wrote is never among them. log/FORMAT.md §2;
// gateway/API.md §1.2.

import type { Json, JsonObject } from '../encoding/json.ts';
import { checkKey, isReservedMember } from '../map/key.ts';
import { RuleBroken } from './violation.ts';

/** What a type's schema allows in clear. */
export interface ClearText {
  /** Members that the schema names, at any depth. */
  readonly members: ReadonlySet<string>;
  /** Strings that the schema enumerates (`enum`, `const`), at any depth. */
  readonly enumerated: ReadonlySet<string>;
}

const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$/u;
const DECIMAL = /^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,18})?$/u;

/** True for a string that is allowed in clear in a member that the schema names. */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text);
}

/** Collects the member names and the enumerated strings of a JSON Schema, from any place in it. */
export function clearTextOf(schema: JsonObject): ClearText {
  const members = new Set<string>();
  const enumerated = new Set<string>();
  const strings = (value: Json): void => {
    if (typeof value === 'string') enumerated.add(value);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(strings);
  };
  const walk = (value: Json): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, child] of Object.entries<Json>(value as JsonObject)) {
      if (name === 'enum' || name === 'const') strings(child);
      if (name === 'properties' && typeof child === 'object' && child !== null) {
        for (const member of Object.keys(child)) members.add(member);
      }
      walk(child);
    }
  };
  walk(schema);
  return { members, enumerated };
}

/**
 * Checks the own members of a statement of a declared type. Numbers, booleans and null are allowed. A string must be a
 * reserved member, a decimal, enumerated by the schema, or an identifier in a member that the schema names. The name of
 * a member must be in the schema or be an identifier.
 *
 * @param related index of the type's declaration, which proves the violation together with the entry
 * @throws RuleBroken `clear_text`
 */
export function checkClearText(
  own: JsonObject,
  rules: ClearText,
  related: readonly number[] = [],
): void {
  for (const name of Object.keys(own)) {
    const value = own[name] ?? null;
    // The grammar of this member is checked together with the links.
    if (isReservedMember(name) && typeof value === 'string') continue;
    // `subject_key` is the key of a chain. Its members have the grammars of the kind, which are wider than identifiers:
    // a payment hash may have + and /, and one session_ref in 32 begins with - or _.
    if (name === 'subject_key' && namesChain(value)) continue;
    check(name, value, rules, related);
  }
}

function namesChain(value: Json): boolean {
  try {
    checkKey(value);
    return true;
  } catch {
    return false;
  }
}

function check(member: string, value: Json, rules: ClearText, related: readonly number[]): void {
  if (!rules.members.has(member) && !isIdentifier(member)) {
    throw new RuleBroken('clear_text', 'a member name is free text', related);
  }
  if (typeof value === 'string') {
    const named = rules.members.has(member) && isIdentifier(value);
    if (!named && !rules.enumerated.has(value) && !DECIMAL.test(value)) {
      const detail = 'a string is neither named by the schema nor enumerated';
      throw new RuleBroken('clear_text', detail, related);
    }
  } else if (Array.isArray(value)) {
    for (const element of value as readonly Json[]) check(member, element, rules, related);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, child] of Object.entries(value as JsonObject))
      check(name, child, rules, related);
  }
}
