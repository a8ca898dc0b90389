// What follows from the gate's entries: the policy in force, which permits are unused, which acts are held, and
// the newest decision of a session. Pure functions of the log, so that reindex rebuilds them. gateway/API.md §8.

import type {
  CarriedPlace,
  JsonObject,
  RowReader,
  RowWriter,
  Sequenced,
  Watch,
} from '../contract/index.ts';
import { sessionDecisionRow } from '../pdtr/index.ts';
import type { SessionDecision } from '../pdtr/index.ts';

/** The policy in force of a tenant. */
export interface PolicyRow {
  readonly version: number;
  readonly entry_id: string;
  readonly index: number;
  readonly sha256: string;
}

/** A permit. */
export interface PermitRow extends CarriedPlace {
  readonly tenant_ref: string;
  readonly action_ref: string;
  readonly issued_at_ms: number;
  readonly expires_at_ms: number;
  /** Entry id of its use. */
  readonly used_by: string | null;
}

/** An act that waits for a human, or waited. */
export interface HoldRow extends CarriedPlace {
  readonly tenant_ref: string;
  readonly action_ref: string;
  readonly state: 'held' | 'released' | 'refused';
  /** See `inputsOf`; of a hold that was carried over, its log and the hash of those (carry.ts). */
  readonly inputs: string | null;
  /** Index of the decision that ended it, in the log that has the row. */
  readonly ended_by: number | null;
}

/** The decision that an act has: its hold, the permit or the refusal that came of it, or its newest permit. */
export interface ActRow extends CarriedPlace {
  readonly permit_id: string | null;
  /** See `inputsOf`; null where they cannot be compared. */
  readonly inputs: string | null;
  /** When the hold was refused; absent where it was not. */
  readonly refused_ms?: number;
}

/** Row of a tenant's policy, as the plugin reads it; with `gate/` before it elsewhere. */
export const policyRow = (tenant_ref: string): string => `policy/${tenant_ref}`;
/** Row of one version of a tenant's policy. */
export const versionRow = (tenant_ref: string, version: number): string =>
  `policies/${tenant_ref}/${String(version).padStart(10, '0')}`;
/** Row of a permit, by the entry id of its decision. */
export const permitRow = (permit_id: string): string => `permit/${permit_id}`;
/** Row of a hold, by the entry id of its decision. */
export const holdRow = (hold_id: string): string => `hold/${hold_id}`;
/** Prefix of a tenant's open holds; their names sort by time. */
export const openHolds = (tenant_ref: string): string => `open/${tenant_ref}/`;
/** Row of an act that was held. */
export const actRow = (tenant_ref: string, action_ref: string): string =>
  `act/${tenant_ref}/${action_ref}`;

/** Row of the newest permit for an act, which alone is usable. */
export const newestPermitRow = (tenant_ref: string, action_ref: string): string =>
  `newest/${tenant_ref}/${action_ref}`;

/** Row of the result of a permitted act, by the entry id of the permit; its value is the entry id of the result. */
export const resultRow = (permit_id: string): string => `result/${permit_id}`;

/** Reads a row of the gate, as of some point of one log. */
export type ReadRow = (row: string) => unknown;

/** Whether a permit is the newest for its act, by the rows of the log that has its own. */
export function isNewest(
  read: ReadRow,
  permit_id: string,
  { tenant_ref, action_ref }: PermitRow,
): boolean {
  const newest = read(newestPermitRow(tenant_ref, action_ref)) as ActRow | undefined;
  return newest?.permit_id === permit_id;
}

/** Whether a permit is unused, fresh, and the newest for its act. */
export const isUsable = (
  read: ReadRow,
  permit_id: string,
  permit: PermitRow,
  now_ms: number,
): boolean =>
  permit.used_by === null && now_ms <= permit.expires_at_ms && isNewest(read, permit_id, permit);

/** A row of the gate at a sequence point. */
export const gateRow = (rows: RowReader, row: string): JsonObject | undefined =>
  rows.get(`gate/${row}`) as JsonObject | undefined;

/**
 * What a human saw when they released an act, besides its action_ref; null if part of it is only a
 * commitment, which cannot be compared. A repeated question is about the same act only if the inputs are equal.
 */
export function inputsOf(statement: JsonObject): string | null {
  const { amount_atomic, currency, reversibility, entity, surface, session_ref } = statement;
  const { commitments = {} } = statement as { readonly commitments?: JsonObject };
  if ('message' in commitments || 'currency' in commitments) return null;
  const inputs = [amount_atomic, currency, reversibility, entity, surface, session_ref];
  return JSON.stringify(inputs.map((input) => input ?? null));
}

/** Member of an entry that says what was decided, by the name of its type without the version. */
const DECIDED: ReadonlyMap<string, string> = new Map([
  ['gate.decision', 'outcome'],
  ['carrier.decision', 'decision'],
  ['classify.result', 'classification'],
]);

/** Follows the decisions of every session: those of this gate, of the carrier gate, and classifications. */
export const followSessions: Watch = {
  project({ entry_id, statement, type }, rows) {
    const { session_ref } = statement;
    const member = DECIDED.get(type.replace(/\.v[0-9]+$/, ''));
    if (typeof session_ref !== 'string' || member === undefined) return;
    const outcome = statement[member] as string;
    const surface = statement['surface'] !== undefined;
    rows.put(sessionDecisionRow(session_ref), {
      ...({ entry_id, type, outcome, surface } satisfies SessionDecision),
    });
  },
};

/** Of the decisions of the gate. */
export function projectDecision(entry: Sequenced, rows: RowWriter): void {
  const { entry_id, index, statement, issued_at_ms } = entry;
  const outcome = statement['outcome'] as string;
  const tenant_ref = statement['tenant_ref'] as string;
  const action_ref = statement['action_ref'] as string;
  const { hold_id, permit_expires_at_ms: expires_at_ms } = statement;
  const put = (row: string, value: object): void => rows.put(`gate/${row}`, value as JsonObject);
  if (outcome === 'PERMIT') {
    const permit = { index, tenant_ref, action_ref, issued_at_ms, expires_at_ms, used_by: null };
    put(permitRow(entry_id), permit);
    const inputs = inputsOf(statement);
    const act = { index, permit_id: entry_id, inputs };
    put(newestPermitRow(tenant_ref, action_ref), act);
    // An act that the policy holds then has this permit as its answer, as after a release.
    if (statement['basis'] === 'trigger') put(actRow(tenant_ref, action_ref), act);
  }
  if (outcome === 'HOLD') {
    const inputs = inputsOf(statement);
    const hold = { tenant_ref, index, action_ref, state: 'held', inputs, ended_by: null };
    put(holdRow(entry_id), hold);
    put(`${openHolds(tenant_ref)}${entry_id}`, { index });
    if (inputs !== null) put(actRow(tenant_ref, action_ref), { index, permit_id: null, inputs });
  }
  if (typeof hold_id !== 'string') return;
  const hold = gateRow(rows, holdRow(hold_id)) as unknown as HoldRow | undefined;
  if (hold === undefined) return;
  const released = outcome === 'PERMIT';
  put(holdRow(hold_id), { ...hold, state: released ? 'released' : 'refused', ended_by: index });
  rows.del(`gate/${openHolds(tenant_ref)}${hold_id}`);
  const { inputs } = hold;
  if (inputs === null) return;
  if (released) put(actRow(tenant_ref, action_ref), { index, permit_id: entry_id, inputs });
  else {
    const refused = { index, permit_id: null, inputs, refused_ms: issued_at_ms };
    put(actRow(tenant_ref, action_ref), refused);
  }
}

/** Of the policies. */
export function projectPolicy({ entry_id, index, statement }: Sequenced, rows: RowWriter): void {
  const tenant_ref = statement['tenant_ref'] as string;
  const version = statement['policy_version'] as number;
  const sha256 = statement['policy_sha256'] as string;
  const row: PolicyRow = { version, entry_id, index, sha256 };
  rows.put(`gate/${policyRow(tenant_ref)}`, { ...row });
  rows.put(`gate/${versionRow(tenant_ref, version)}`, { index });
}

/** Of `gate.permit_use.v1`. */
export function projectUse({ entry_id, statement }: Sequenced, rows: RowWriter): void {
  const row = permitRow(statement['permit_id'] as string);
  const permit = gateRow(rows, row);
  if (permit !== undefined) rows.put(`gate/${row}`, { ...permit, used_by: entry_id });
}
