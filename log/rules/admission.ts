// What a draft may bring beside what its type's schema says. log/FORMAT.md §2: no fractions, no free text in
// clear. Checked before an entry takes its place, so that the log never writes what its replay refuses.

import type { Json, JsonObject } from '../encoding/json-types.ts';
import { LogError } from '../errors.ts';
import { checkClearText, isIdentifier, type ClearText } from './clear-text.ts';
import { RuleBroken } from './violation.ts';
import type { Draft } from '../types.ts';

/** Deepest nesting of an entry, the statement itself counted. */
const MAX_DEPTH = 16;

/** The own members of a declared type: plain JSON of integers, and nothing in clear that its schema does not name. */
export function checkOwnMembers(members: JsonObject, clearText: ClearText): void {
  checkPlain(members);
  asInvalid(() => {
    checkClearText(members, clearText);
  });
}

/** JSON that an entry can hold: safe integers only, and no deeper than any reader goes. */
export function checkPlain(value: Json, depth = 1): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (Number.isSafeInteger(value)) return;
      throw invalid('a number of an entry is a safe integer');
    case 'object':
      if (value === null) return;
      if (depth > MAX_DEPTH) {
        throw invalid(`an entry is nested deeper than ${String(MAX_DEPTH)}`);
      }
      for (const child of Object.values<Json>(value)) checkPlain(child, depth + 1);
      return;
    default:
      throw invalid('a member of an entry is JSON');
  }
}

/** Names of commitments are public. */
export function checkCommitmentName(name: string): void {
  if (!isIdentifier(name)) throw invalid('a commitment is named by free text');
}

/** A catalog key and integers. */
export function checkToll({
  id,
  micro_usd,
  cleared_micro_usd = 0,
}: NonNullable<Draft['toll']>): void {
  if (!isIdentifier(id)) throw invalid('a toll is named by free text');
  if (!Number.isSafeInteger(micro_usd) || !Number.isSafeInteger(cleared_micro_usd)) {
    throw invalid('a toll is an integer of micro-USD');
  }
}

/** Runs a check of the replay; what it finds broken refuses the draft. */
export function asInvalid(check: () => void): void {
  try {
    check();
  } catch (error) {
    if (error instanceof RuleBroken) throw invalid(error.message, { cause: error });
    throw error;
  }
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('entry_invalid', message, options);
}
