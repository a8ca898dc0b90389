// Checks the members that the core sets in every entry, each member on its own (log/FORMAT.md §2.1). Rules that compare
// an entry with earlier ones are in log-state.ts, keys.ts and chains.ts.

import type { Json, JsonObject } from '../encoding/json.ts';
import { isJsonObject } from '../encoding/json.ts';
import * as grammar from '../map/grammar.ts';
import { FORBIDDEN_MEMBERS } from '../rules/declaration.ts';
import { FORMAT } from '../rules/builtin.ts';
import { isIdentifier } from '../rules/clear-text.ts';
import { RuleBroken } from '../rules/violation.ts';
import type { Rule } from '../rules/violation.ts';

/** The values that `origin`, `sandbox` and `index` of the entry must have. */
export interface Place {
  readonly origin: string;
  readonly sandbox: boolean;
  readonly index: number;
}

/** The checked members that later checks use. */
export interface Common {
  readonly type: string;
  readonly entry_id: string;
  readonly issued_at_ms: number;
  readonly kid: string;
  readonly tenant_ref: string | null;
}

/** UUIDv7 has 48 bits for the time. */
const MAX_TIME = 2 ** 48 - 1;
const SUBMITTER_TEXT = /^[A-Za-z0-9+/=:._-]{1,1024}$/u;

/**
 * Checks the members of the table in log/FORMAT.md §2.1.
 *
 * @throws RuleBroken of the first member that breaks its rule
 */
export function checkMembers(statement: JsonObject, place: Place): Common {
  for (const name of FORBIDDEN_MEMBERS) {
    if (Object.hasOwn(statement, name))
      broken('member_forbidden', `statement has a member ${name}`);
  }
  const { type, origin, sandbox, index, entry_id, issued_at_ms, kid, tenant_ref } = statement;
  if (!isText(type, grammar.typeName)) return broken('type_form', 'type is malformed');
  if (origin !== place.origin) broken('origin', `origin is not ${place.origin}`);
  if (sandbox !== place.sandbox) broken('sandbox', 'sandbox is not that of the log');
  if (index !== place.index) broken('index', `index is not ${String(place.index)}`);
  if (!isInteger(issued_at_ms) || issued_at_ms < 0 || issued_at_ms > MAX_TIME) {
    return broken('issued_at_ms', 'issued_at_ms is not an integer of 48 bits');
  }
  if (!isText(entry_id, grammar.uuidV7)) return broken('entry_id', 'entry_id is not a UUIDv7');
  if (timeOf(entry_id) !== issued_at_ms) broken('entry_id', 'entry_id has another time');
  if (!isText(kid, grammar.kid)) return broken('kid', 'kid is malformed');
  if (tenant_ref !== undefined && !isText(tenant_ref, grammar.tenantRef)) {
    return broken('tenant_ref', 'tenant_ref is malformed');
  }
  checkCommitments(statement.commitments);
  checkEventTime(statement.event_at_ms, issued_at_ms);
  checkToll(statement);
  checkSubmitter(statement.submitter);
  return { type, entry_id, issued_at_ms, kid, tenant_ref: tenant_ref ?? null };
}

/** The time of a UUIDv7: its first 48 bits, in milliseconds. */
function timeOf(uuid: string): number {
  return parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** The names of commitments are public, so they must be identifiers. An empty object is not allowed. */
function checkCommitments(commitments: Json | undefined): void {
  if (commitments === undefined) return;
  if (!isJsonObject(commitments)) return broken('commitments', 'commitments is not an object');
  const entries = Object.entries(commitments);
  if (entries.length === 0) broken('commitments', 'commitments is empty');
  for (const [name, commitment] of entries) {
    if (!isIdentifier(name) || !isText(commitment, grammar.hashHex)) {
      broken('commitments', 'a commitment is not a name and 64 hex digits');
    }
  }
}

function checkEventTime(event_at_ms: Json | undefined, issued_at_ms: number): void {
  if (event_at_ms === undefined) return;
  const { max_lag_ms, skew_ms } = FORMAT;
  if (!isInteger(event_at_ms)) return broken('event_at_ms', 'event_at_ms is not an integer');
  if (event_at_ms < issued_at_ms - max_lag_ms || event_at_ms > issued_at_ms + skew_ms) {
    broken('event_at_ms', 'event_at_ms is outside max_lag_ms and skew_ms of issued_at_ms');
  }
}

function checkToll(statement: JsonObject): void {
  const { toll, toll_micro_usd, cleared_micro_usd } = statement;
  if (toll === undefined && toll_micro_usd === undefined && cleared_micro_usd === undefined) return;
  if (typeof toll !== 'string' || !isIdentifier(toll)) broken('toll', 'toll is not a catalog key');
  if (!isInteger(toll_micro_usd)) broken('toll', 'toll_micro_usd is not an integer');
  if (cleared_micro_usd !== undefined && !isInteger(cleared_micro_usd)) {
    broken('toll', 'cleared_micro_usd is not an integer');
  }
}

function checkSubmitter(submitter: Json | undefined): void {
  if (submitter === undefined) return;
  const members = isJsonObject(submitter) ? Object.entries(submitter) : [];
  const whole =
    members.length === 3 && ['alg', 'key', 'sig'].every((name, i) => members[i]?.[0] === name);
  if (
    !whole ||
    !members.every(([, text]) => typeof text === 'string' && SUBMITTER_TEXT.test(text))
  ) {
    broken('submitter', 'submitter is not {alg, key, sig}');
  }
}

function isText(value: Json | undefined, rule: grammar.Grammar): value is string {
  return typeof value === 'string' && rule.test(value);
}

function isInteger(value: Json | undefined): value is number {
  return Number.isSafeInteger(value);
}

function broken(rule: Rule, detail: string): never {
  throw new RuleBroken(rule, detail);
}
