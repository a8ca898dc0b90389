// What of a closed log's gate goes over into its successor: the policy of every tenant, the acts that wait for a human,
// and the permits that were good and unused when the log ended. A policy goes over as an entry of its own type, so
// that a decision names the policy in force by an entry of its own log. The newest decision of a session does not go
// over: a session is one of its own log. Permits that were used or too old are refused by what the closed log says.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import {
  carriedKind,
  carriedType,
  eachRow,
  endedMs,
  EntryId,
  Hex32,
  Millis,
} from '../contract/index.ts';
import type { Carry, EntryType, JsonObject, LogView, RestsOn } from '../contract/index.ts';
import { POLICY } from './entries.ts';
import { policyAt } from './policies.ts';
import {
  actRow,
  holdRow,
  isUsable,
  newestPermitRow,
  openHolds,
  permitRow,
  policyRow,
} from './rows.ts';
import type { ActRow, HoldRow, PermitRow, PolicyRow } from './rows.ts';

/** Longer than any permit is good; their ids sort by time, so that older ones need not be read. */
const OLDEST_PERMIT_MS = 86_400_000;
const PAGE = 1000;

/** `<log number>:<SHA-256 of the inputs>`; see `inputsOf`. */
const INPUTS = '^([1-9][0-9]{0,15}):([0-9a-f]{64})$';
const Inputs = Type.String({ pattern: INPUTS });

const Hold = Type.Object(
  { hold_id: EntryId, action_ref: Hex32, inputs: Type.Optional(Inputs) },
  { additionalProperties: false },
);
const Act = Type.Object(
  { action_ref: Hex32, permit_id: Type.Optional(EntryId), inputs: Inputs },
  { additionalProperties: false },
);
const Permit = Type.Object(
  { permit_id: EntryId, action_ref: Hex32, issued_at_ms: Millis, expires_at_ms: Millis },
  { additionalProperties: false },
);

const placed = ({ index, log_number }: RestsOn) => ({ index, log_number });

const carriedRows = carriedType('gate', {
  // The entry before it in its group is the policy; its own projection writes the rows.
  policy: carriedKind(Type.Object({ policy_sha256: Hex32 }, { additionalProperties: false })),
  hold: carriedKind(Hold, ({ value, tenant_ref, rests_on }, rows) => {
    const { hold_id, action_ref, inputs = null } = value;
    const row = { tenant_ref, ...placed(rests_on), action_ref, inputs, ended_by: null };
    rows.put(`gate/${holdRow(hold_id)}`, { ...row, state: 'held' });
    rows.put(`gate/${openHolds(tenant_ref)}${hold_id}`, placed(rests_on));
  }),
  act: carriedKind(Act, ({ value, tenant_ref, rests_on }, rows) => {
    const { action_ref, permit_id = null, inputs } = value;
    const row = { ...placed(rests_on), permit_id, inputs };
    rows.put(`gate/${actRow(tenant_ref, action_ref)}`, row);
  }),
  permit: carriedKind(Permit, ({ value, tenant_ref, rests_on }, rows) => {
    const { permit_id, ...permit } = value;
    const row = { ...placed(rests_on), tenant_ref, ...permit, used_by: null };
    rows.put(`gate/${permitRow(permit_id)}`, row);
    const newest = newestPermitRow(tenant_ref, permit.action_ref);
    rows.put(`gate/${newest}`, { ...placed(rests_on), permit_id, inputs: null });
  }),
});

/** `gate.carried.v1`. */
export const carried: EntryType = { ...carriedRows, row_form: 3 }; // as the decisions have it

/** The `carry` of the gate. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  const policies = policyRow('');
  for await (const [row, found] of eachRow(closed, policies)) {
    const { index, version, sha256 } = found as unknown as PolicyRow;
    const tenant_ref = row.slice(policies.length);
    const policy = policyAt(closed, index) as unknown as JsonObject;
    const members = { ...policy, policy_version: version, policy_sha256: sha256 };
    const drafts = [{ type: POLICY, tenant_ref, members }];
    yield { what: 'policy', row, tenant_ref, value: { policy_sha256: sha256 }, index, drafts };
  }
  const open = openHolds('').slice(0, -1);
  for await (const [name] of eachRow(closed, open)) {
    const hold_id = name.slice(-36);
    const row = holdRow(hold_id);
    const hold = closed.row(row) as unknown as HoldRow;
    const { tenant_ref, index, log_number, action_ref } = hold;
    const inputs = hold.inputs === null ? {} : { inputs: digest(closed, hold.inputs) };
    const value = { hold_id, action_ref, ...inputs };
    yield { what: 'hold', row, tenant_ref, value, index, log_number };
  }
  for await (const item of permits(closed)) yield item;
  const acts = actRow('', '').slice(0, -1);
  for await (const [row, found] of eachRow(closed, acts)) {
    const act = found as unknown as ActRow;
    const { index, log_number, permit_id } = act;
    // A refusal holds for the time of a permit, and only in its own log.
    if (act.inputs === null || act.refused_ms !== undefined) continue;
    if (permit_id !== null && !isUsableIn(closed, permit_id, permitAt(closed, permit_id))) continue;
    const [tenant_ref = '', action_ref = ''] = row.slice(acts.length).split('/');
    const granted = permit_id === null ? {} : { permit_id };
    const value = { action_ref, ...granted, inputs: digest(closed, act.inputs) };
    yield { what: 'act', row, tenant_ref, value, index, log_number };
  }
}

const permitAt = (log: LogView, permit_id: string): PermitRow =>
  log.row(permitRow(permit_id)) as unknown as PermitRow;

const isUsableIn = (log: LogView, permit_id: string, permit: PermitRow): boolean =>
  isUsable((row) => log.row(row), permit_id, permit, endedMs(log));

/** The newest first, down to those that are too old whatever the catalog said of them. */
async function* permits(closed: LogView): AsyncGenerator<Carry> {
  const prefix = permitRow('');
  const ended_ms = endedMs(closed);
  for (let after: string | undefined; ;) {
    const options = { limit: PAGE, reverse: true, ...(after === undefined ? {} : { after }) };
    const rows = await closed.rows(prefix, options);
    for (const [row, found] of rows) {
      const permit = found as unknown as PermitRow;
      const { tenant_ref, index, log_number, action_ref, issued_at_ms, expires_at_ms } = permit;
      if (issued_at_ms + OLDEST_PERMIT_MS < ended_ms) return;
      const permit_id = row.slice(prefix.length);
      if (!isUsableIn(closed, permit_id, permit)) continue;
      const value = { permit_id, action_ref, issued_at_ms, expires_at_ms };
      yield { what: 'permit', row, tenant_ref, value, index, log_number };
    }
    after = rows.at(-1)?.[0];
    if (rows.length < PAGE) return;
  }
}

/** The inputs of a held act as they go over; what was carried before stays as it is. */
const digest = ({ number }: LogView, inputs: string): string =>
  new RegExp(INPUTS).test(inputs) ? inputs : `${String(number)}:${sha256(inputs)}`;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Whether an act that is asked about has the inputs of one that was held; `sessionRefIn` names its session in an
 * earlier log.
 */
export function hasInputs(
  held: string,
  inputsWith: (session_ref: string | null) => string | null,
  session_ref: string | undefined,
  sessionRefIn: (log_number: number) => string | null,
): boolean {
  const [, number, hash] = new RegExp(INPUTS).exec(held) ?? [];
  if (number === undefined) return held === inputsWith(session_ref ?? null);
  const inputs = inputsWith(sessionRefIn(Number(number)));
  return inputs !== null && sha256(inputs) === hash;
}
