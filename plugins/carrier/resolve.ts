// POST /carrier/v1/findings/{entry_id}/resolve: a person at the carrier states that a finding was wrong, or that its
// cause was fixed. The finding stays in the log, but no longer blocks this carrier's checks. gateway/API.md §8.3.

import { Type } from 'typebox';
import {
  ApiError,
  entryName,
  findEntry,
  receiptOf,
  route,
  statementAt,
  firstOf,
} from '../contract/index.ts';
import type {
  Caller,
  JsonObject,
  LogView,
  PluginHost,
  Route,
  Sequenced,
} from '../contract/index.ts';
import { CARRIER_ACT, carrierErrors, OUTCOMES, RESOLUTION, resolutionType } from './entries.ts';
import type { Resolution } from './entries.ts';
import { FINDINGS, isFinding, resolutionOf, seenIn, shelvesAt } from './findings.ts';
import { insuresRow } from './mandates.ts';

const Id = Type.String({ format: 'uuid' });

const Resolved = Type.Object(
  {
    ok: Type.Literal(true),
    finding_id: Id,
    classification: Type.Enum([...FINDINGS]),
    outcome: Type.Enum([...OUTCOMES]),
    entry_id: Id,
    verify_url: Type.String({ format: 'uri' }),
    resolved_at: Type.String({ format: 'date-time' }),
    receipt: receiptOf(resolutionType),
  },
  { $id: 'CarrierFindingResolved' },
);

/** The route by which a carrier resolves a finding. */
export const resolveRoute = (host: PluginHost): Route =>
  route({
    ...CARRIER_ACT,
    path: '/carrier/v1/findings/{entry_id}/resolve',
    summary: 'Resolve a finding that blocks an insured',
    description:
      'A finding can be resolved once by a tenant. The resolution is an entry on the chain of the finding; the reason is ' +
      'a commitment. The finding stays in the log and in the audit of checks, but no longer blocks the checks of the ' +
      'tenant that resolved it. A tenant can resolve findings about its own acts and about the entities that it ' +
      'insures. The example needs the entry id of a finding in the path.',
    params: Type.Object({
      entry_id: Type.String({
        maxLength: host.limits.string_chars,
        description: 'Entry id or entry hash of a CRISIS or VIOLATION.',
      }),
    }),
    body: Type.Object(
      {
        outcome: Type.Enum([...OUTCOMES], {
          description: '`dismissed`: the finding was wrong. `remediated`: its cause was fixed.',
        }),
        reason: Type.String({
          minLength: 1,
          maxLength: host.limits.message_bytes,
          description: 'The entry commits to it.',
        }),
      },
      { $id: 'CarrierResolveRequest' },
    ),
    responses: { 200: { description: 'The resolution.', schema: Resolved } },
    errors: ['role_forbidden', 'resource_missing', carrierErrors.finding_resolved],
    example: { outcome: 'dismissed', reason: 'the sentence was a quotation' },
    async handle(ctx) {
      const { params, body, caller } = ctx.state;
      const { log, index, statement, what } = findingNamed(host, caller, params.entry_id);
      const entry_id = statement['entry_id'] as string;
      const members: Resolution = {
        finding_id: entry_id,
        finding_index: index,
        finding_log_number: log.number,
        classification: what,
        outcome: body.outcome,
      };
      const { kind, tenant_ref } = caller;
      await ctx.state.append([{ type: RESOLUTION, members, private: { reason: body.reason } }], {
        check({ rows }) {
          const shelves = shelvesAt(rows, host.log(kind), host.logs(kind));
          const standing = resolutionOf(shelves, tenant_ref, { entry_id });
          if (standing === null) return;
          throw new ApiError(
            carrierErrors.finding_resolved,
            `entry ${standing.entry_id} resolved the finding`,
            { param: 'entry_id' },
          );
        },
      });
    },
    respond(entries) {
      const { statement, receipt, entry_id, issued_at_ms } = firstOf(entries);
      const { finding_id, classification, outcome } = statement as unknown as Resolution;
      return {
        ok: true,
        finding_id,
        classification,
        outcome,
        entry_id,
        verify_url: receipt.verify_url,
        resolved_at: new Date(issued_at_ms).toISOString(),
        receipt,
      };
    },
  });

/** The finding with this entry id or hash; 404 unless it is about the caller's acts or an entity that it insures. */
function findingNamed(host: PluginHost, caller: Caller, named: string) {
  const name = entryName(named);
  const found = name === null ? null : findEntry(host, [caller.kind], name);
  const statement = found && statementAt(found.log, found.index);
  if (found !== null && statement !== null) {
    const seen = seenIn({ ...(statement as unknown as Sequenced), index: found.index, statement });
    if (seen !== null && isFinding(seen.what) && concerns(host.log(caller.kind), caller, statement))
      return { ...found, statement, what: seen.what };
  }
  throw new ApiError(
    'resource_missing',
    'there is no finding with this id about the tenant or an entity that it insures',
    {
      param: 'entry_id',
    },
  );
}

function concerns(log: LogView, { tenant_ref }: Caller, statement: JsonObject): boolean {
  if (statement['tenant_ref'] === tenant_ref) return true;
  const { entity } = statement;
  return typeof entity === 'string' && log.row(insuresRow(tenant_ref, entity)) !== undefined;
}
