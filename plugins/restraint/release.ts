// POST /api/v1/spoliation-seal/release: the operator states in the log that the duty to preserve has ended; and whether a
// seal forbids to destroy what belongs to an entry. FRCP 37(e); gateway/API.md §1.2, §7.9.
//
// The seal stays as it was; only its hold ends.

import { Type } from 'typebox';
import { ApiError, receiptOf, route, statementAt } from '../contract/index.ts';
import type { JsonObject, Kind, LogView, PluginHost, Route } from '../contract/index.ts';
import {
  holdRow,
  holdsOf,
  RELEASE,
  releasedHold,
  releaseType,
  restraintErrors,
  SEAL,
} from './entries.ts';
import type { Hold } from './entries.ts';

const PAGE = 1000;

/**
 * The hold that covers an entry of this statement, of any log of the kind; null when none does. Systems that a
 * seal names never narrow it: what may be of them is kept.
 */
export async function holdOver(
  host: PluginHost,
  kind: Kind,
  statement: JsonObject,
): Promise<Hold | null> {
  const { tenant_ref } = statement;
  if (typeof tenant_ref !== 'string') return null;
  const prefix = holdsOf(tenant_ref);
  for (const log of host.logs(kind)) {
    for (let after: string | undefined; ;) {
      const options = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const rows = await log.rows(prefix, options);
      const found = rows
        .map(([, row]) => row as unknown as Hold)
        .filter((hold) => covers(hold, statement))
        .find(({ entry_id }) => !releasedSince(host, log, tenant_ref, entry_id));
      if (found !== undefined) return found;
      after = rows.at(-1)?.[0];
      if (rows.length < PAGE || after === undefined) break;
    }
  }
  return null;
}

/** Whether a log after the one of a seal ends its hold: its own log says so by having no row of it. */
const releasedSince = (
  host: Pick<PluginHost, 'logs'>,
  { kind, number }: LogView,
  tenant_ref: string,
  seal_id: string,
): boolean =>
  host
    .logs(kind)
    .some((log) => log.number > number && log.row(releasedHold(tenant_ref, seal_id)) !== undefined);

/** Whether a hold of its tenant covers an entry. */
function covers({ sessions, from_ms, to_ms }: Hold, statement: JsonObject): boolean {
  const { session_ref } = statement;
  const issued_at_ms = statement['issued_at_ms'] as number;
  if (issued_at_ms < (from_ms ?? 0) || issued_at_ms > (to_ms ?? Infinity)) return false;
  return sessions === null || (typeof session_ref === 'string' && sessions.includes(session_ref));
}

const ReleaseAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    seal_id: Type.String({ format: 'uuid' }),
    retention_hold: Type.Literal(false),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(releaseType),
  },
  { $id: 'SpoliationSealReleased' },
);

/** The route of the release. */
export function releaseRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/spoliation-seal/release',
    tag: 'restraint',
    summary: 'End the hold of a spoliation seal',
    description:
      'For an operator key of the tenant that sealed. What the seal says stays in the log; what it held may be ' +
      'destroyed from then on, unless another seal holds it. The reason is committed to. The example needs the ' +
      'seal_id of an answer of POST /api/v1/spoliation-seal.',
    access: { roles: ['operator'] },
    idempotent: true,
    body: Type.Object(
      {
        seal_id: Type.String({ minLength: 1, maxLength: host.limits.string_chars }),
        reason: Type.String({ minLength: 1, maxLength: host.limits.message_bytes }),
      },
      { $id: 'SpoliationSealRelease' },
    ),
    responses: { 200: { description: 'The hold has ended.', schema: ReleaseAnswer } },
    errors: ['resource_missing', 'tenant_forbidden', restraintErrors.hold_resolved],
    example: {
      seal_id: '01900000-0000-7000-8000-000000000000',
      reason: 'the matter was settled',
    },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { log, index, statement } = sealAt(host, caller.kind, body.seal_id);
      const { tenant_ref } = caller;
      if (statement['tenant_ref'] !== tenant_ref) {
        throw new ApiError('tenant_forbidden', 'the seal is of another tenant', {
          param: 'seal_id',
        });
      }
      const seal_id = statement['entry_id'] as string;
      const isNewest = log.number === host.log(caller.kind).number;
      const row = holdRow(tenant_ref, index);
      await ctx.state.append(
        [
          {
            type: RELEASE,
            members: { seal_id, seal_index: index },
            private: { reason: body.reason },
          },
        ],
        {
          check({ rows }) {
            const held = isNewest
              ? rows.get(row) !== undefined
              : log.row(row.slice('restraint/'.length)) !== undefined &&
                !releasedSince(host, log, tenant_ref, seal_id) &&
                rows.get(`restraint/${releasedHold(tenant_ref, seal_id)}`) === undefined;
            if (held) return;
            throw new ApiError(
              restraintErrors.hold_resolved,
              'the hold of this seal was released before',
            );
          },
        },
      );
    },
    respond([entry]) {
      if (entry === undefined) throw new Error('a release has one entry');
      const { statement, receipt } = entry;
      return {
        ok: true,
        seal_id: statement['seal_id'],
        retention_hold: false,
        verify_url: receipt.verify_url,
        receipt,
      };
    },
  });
}

/** The seal, in any log of the kind: a duty to preserve can end after its log was closed. */
function sealAt(
  host: PluginHost,
  kind: Kind,
  seal_id: string,
): { log: LogView; index: number; statement: JsonObject } {
  for (const log of host.logs(kind).toReversed()) {
    const index = log.indexOfEntry(seal_id);
    const statement = index === null ? null : statementAt(log, index);
    if (index !== null && statement?.['type'] === SEAL) return { log, index, statement };
  }
  throw new ApiError('resource_missing', 'the log has no such seal', { param: 'seal_id' });
}
