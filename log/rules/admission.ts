// What a draft may contain besides the rules of its type's schema. log/FORMAT.md §2: no fractions, no free text in
// clear. Checked before an entry gets its index, so that the log never writes what its replay would refuse.

import type { Json, JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import { checkClearText, isIdentifier, type ClearText } from './clear-text.ts';
import { isRuleBroken } from './violation.ts';
import type { Draft } from '../types.ts';

/** Deepest nesting of an entry, the statement itself counted. */
const MAX_DEPTH = 16;

/**
 * The own members of a declared type: plain JSON of integers, and no clear text in members that its schema does not
 * name.
 */
export function checkOwnMembers(members: JsonObject, clearText: ClearText): void {
  checkPlain(members);
  asInvalid(() => {
    checkClearText(members, clearText);
  });
}

/** JSON that an entry can hold: safe integers only, and no deeper than readers accept. */
export function checkPlain(value: Json, depth = 1): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (Number.isSafeInteger(value)) return;
      throw invalid('a number in the entry is not a safe integer');
    case 'object':
      if (value === null) return;
      if (depth > MAX_DEPTH) {
        throw invalid(`an entry is nested deeper than ${String(MAX_DEPTH)}`);
      }
      for (const child of Object.values<Json>(value)) checkPlain(child, depth + 1);
      return;
    default:
      throw invalid('a value in the entry is not JSON');
  }
}

/** Checks the name of a commitment, which is public and must not be free text. */
export function checkCommitmentName(name: string): void {
  if (!isIdentifier(name)) throw invalid('the name of a commitment is not an identifier');
}

/** Checks a toll: its catalog key is an identifier, and its amounts are integers. */
export function checkToll({
  id,
  micro_usd,
  cleared_micro_usd = 0,
}: NonNullable<Draft['toll']>): void {
  if (!isIdentifier(id)) throw invalid('the id of a toll is not an identifier');
  if (!Number.isSafeInteger(micro_usd) || !Number.isSafeInteger(cleared_micro_usd)) {
    throw invalid('an amount of a toll is not an integer of micro-USD');
  }
}

/** Runs a check of the replay and refuses the draft with `entry_invalid` if the check finds a broken rule. */
export function asInvalid(check: () => void): void {
  try {
    check();
  } catch (error) {
    if (isRuleBroken(error)) throw invalid(error.message, { cause: error });
    throw error;
  }
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('entry_invalid', message, options);
}
