// What may stand in clear: nothing that a caller wrote in free text. log/FORMAT.md §2; gateway/API.md §1.2.

import type { Json, JsonObject } from '../encoding/json-types.ts';
import { checkKey, isReservedMember } from '../map/key.ts';
import { RuleBroken } from './violation.ts';

/** What a type's schema lets stand in clear. */
export interface ClearText {
  /** Members that the schema names, at any depth. */
  readonly members: ReadonlySet<string>;
  /** Strings that it enumerates (`enum`, `const`), at any depth. */
  readonly enumerated: ReadonlySet<string>;
}

const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$/u;
const DECIMAL = /^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,18})?$/u;

/** True for a string that may stand in clear where a schema names its member. */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text);
}

/** Collects from a JSON Schema what it names and enumerates; where in the schema does not matter. */
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
 * Checks the own members of a statement of a declared type. Numbers, booleans and null pass; a string
 * is a reserved member, a decimal, enumerated, or an identifier in a member that the schema names; a
 * member's name is named by the schema or an identifier itself. `related` is what a
 * broken rule names as earlier entries: the declaration of the type.
 */
export function checkClearText(
  own: JsonObject,
  rules: ClearText,
  related: readonly number[] = [],
): void {
  for (const name of Object.keys(own)) {
    const value = own[name] ?? null;
    // Its grammar is checked with the links.
    if (isReservedMember(name) && typeof value === 'string') continue;
    // The chain that the entry speaks about, by the grammar of its key: a payment hash may hold + and /,
    // and one session_ref in 32 begins with - or _.
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
