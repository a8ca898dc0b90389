// POST /consent/grants, POST /consent/withdrawals, and GET /consent/grants/{entry_id}/status.

import {
  ApiError,
  entryNamed,
  firstOf,
  LookupDocument,
  Millis,
  namedStatement,
  receiptOf,
  route,
  toBase64,
} from 'actlog/plugin';
import type { Kind, LogView, PluginHost, Route, RowReader } from 'actlog/plugin';
import { Type } from 'typebox';
import {
  consentErrors,
  GRANT,
  GrantMembers,
  grantRow,
  grantType,
  WITHDRAWAL,
  WithdrawalMembers,
  withdrawalType,
  withdrawnRow,
} from './entries.ts';
import type { Granted } from './entries.ts';
import { STATUS, WITHDRAWN } from './verify.ts';

const { grant_id: GrantId } = WithdrawalMembers.properties;
const both: readonly Kind[] = ['live', 'sandbox'];

export const grantRoute = (host: PluginHost): Route =>
  route({
    method: 'POST',
    path: '/consent/grants',
    tag: 'consent',
    summary: 'Log a consent',
    description: 'The person is not in the entry, which commits to it.',
    access: 'key',
    idempotent: true,
    body: Type.Object({
      ...GrantMembers.properties,
      subject: Type.String({
        minLength: 1,
        maxLength: host.limits.string_chars,
        description: 'The person who consents.',
      }),
    }),
    responses: { 200: { description: 'The receipt.', schema: receiptOf(grantType) } },
    example: { purpose: 'marketing.email', subject: 'person-7' },
    handle(ctx) {
      const { subject, ...members } = ctx.state.body;
      const toll = host.toll('consent_grant');
      return ctx.state.append([{ type: GRANT, members, private: { subject }, toll }]);
    },
    respond: (entries) => firstOf(entries).receipt,
  });

export const withdrawalRoute = (host: PluginHost): Route =>
  route({
    method: 'POST',
    path: '/consent/withdrawals',
    tag: 'consent',
    summary: 'Log the withdrawal of a consent',
    access: 'key',
    idempotent: true,
    body: Type.Object({
      grant_id: GrantId,
      reason: Type.Optional(Type.String({ maxLength: host.limits.string_chars })),
    }),
    responses: { 200: { description: 'The receipt.', schema: receiptOf(withdrawalType) } },
    errors: ['resource_missing', 'tenant_forbidden', consentErrors.consent_withdrawn],
    handle(ctx) {
      const { body, caller } = ctx.state;
      const { grant_id, reason } = body;
      const draft = {
        type: WITHDRAWAL,
        members: { grant_id },
        ...(reason === undefined ? {} : { private: { reason } }),
      };
      // Checked when the sequencer places the entry, so that one of two concurrent requests is refused.
      return ctx.state.append([draft], {
        check: ({ rows }) => checkWithdrawable(rows, grant_id, caller.tenant_ref),
      });
    },
    respond: (entries) => firstOf(entries).receipt,
  });

function checkWithdrawable(rows: RowReader, grant_id: string, tenant_ref: string): void {
  const param = 'grant_id';
  const granted = rows.get(grantRow(grant_id)) as Granted | undefined;
  if (granted === undefined) throw new ApiError('resource_missing', 'no such grant', { param });
  if (granted.tenant_ref !== tenant_ref) {
    throw new ApiError('tenant_forbidden', 'the grant is of another tenant', { param });
  }
  if (rows.get(withdrawnRow(grant_id)) !== undefined) {
    throw new ApiError(consentErrors.consent_withdrawn, 'the grant is withdrawn', { param });
  }
}

const Status = Type.Object({
  schema: Type.Literal(STATUS),
  origin: Type.String(),
  grant_id: GrantId,
  state: Type.Union([Type.Literal('in_force'), Type.Literal('withdrawn')]),
  as_of_ms: { ...Millis, description: 'The document is about the log up to this time.' },
  grant: Type.Object({
    index: Type.Integer(),
    entry: Type.String(),
    path: Type.Array(Type.String()),
  }),
  withdrawals: LookupDocument,
});

export const statusRoute = (host: PluginHost): Route =>
  route({
    method: 'GET',
    path: '/consent/grants/{entry_id}/status',
    tag: 'consent',
    summary: 'Whether a consent is in force, with the proof',
    description: 'Offline, `actlog verify` checks the answer with the verifier of this plugin.',
    access: 'read',
    params: Type.Object({ entry_id: GrantId }),
    responses: { 200: { description: 'The status document.', schema: Status } },
    errors: ['resource_missing', 'log_unavailable'],
    async handle(ctx) {
      const { log, index } = entryNamed(host, both, ctx.state.params.entry_id);
      ctx.set('Cache-Control', 'no-store');
      ctx.body = await statusOf(log, index);
    },
  });

async function statusOf(log: LogView, index: number): Promise<object> {
  const {
    type,
    entry_id,
    issued_at_ms: from_ms,
  } = namedStatement(log, index) as unknown as {
    readonly type: string;
    readonly entry_id: string;
    readonly issued_at_ms: number;
  };
  if (type !== GRANT) {
    throw new ApiError('resource_missing', 'the entry is no grant', { param: 'entry_id' });
  }
  // This checkpoint covers every acknowledged withdrawal.
  const { map_head_ms: to_ms } = await log.covering(log.size());
  const withdrawals = await log.lookup({ key: [WITHDRAWN, entry_id], from_ms, to_ms });
  const size = (withdrawals['map_head'] as unknown as { readonly index: number }).index + 1;
  return {
    schema: STATUS,
    origin: log.origin,
    grant_id: entry_id,
    state: withdrawals['verdict'] === 'PRESENT' ? 'withdrawn' : 'in_force',
    as_of_ms: to_ms,
    grant: { index, entry: log.entry(index), path: log.inclusion(index, size).map(toBase64) },
    withdrawals,
  };
}
