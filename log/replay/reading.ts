// The text of an entry, and the origin of a log that nobody named. log/FORMAT.md §1, §2.

import { isUtf8 } from 'node:buffer';
import type { Suite } from '../crypto/suite.ts';
import type { JsonObject } from '../encoding/json-types.ts';
import type { LogErrorCode } from '../errors.ts';
import { readEntry } from '../verify/entry.ts';
import type { EntryParts } from '../verify/entry.ts';
import { originParts } from '../rules/life.ts';
import { RuleBroken, under, Violation } from '../rules/violation.ts';
import type { Rule } from '../rules/violation.ts';

const RULE_OF: Partial<Record<LogErrorCode, Rule>> = {
  entry_too_large: 'entry_size',
  json_invalid: 'entry_json',
  encoding_invalid: 'signature_form',
  entry_invalid: 'entry_canonical',
};

/**
 * The bytes as text; the same text gives the same bytes again.
 *
 * @throws Violation `entry_json` when they are not UTF-8: decoding would hide what was hashed
 */
export function textOfEntry(bytes: Uint8Array, index: number): string {
  if (!isUtf8(bytes)) {
    throw new Violation({ rule: 'entry_json', detail: 'entry is not UTF-8' }, index, []);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Takes an entry apart, or says which rule of its text it breaks. */
export function readText(suite: Suite, text: string): EntryParts {
  return under(
    ({ code }) => RULE_OF[code] ?? 'entry_json',
    () => readEntry(suite, text),
  );
}

/** The origin that entry 0 gives itself, when the caller expects none in particular. */
export function originOf({ origin }: JsonObject): string {
  if (typeof origin !== 'string' || originParts(origin) === null) {
    throw new RuleBroken('origin', 'origin is malformed');
  }
  return origin;
}
