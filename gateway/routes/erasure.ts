// DELETE /api/v1/disclosures/{entry_id}: erases the disclosures of an entry. The entry stays, and a new entry records the
// erasure. gateway/API.md §1.2.

import { Type } from 'typebox';
import { readEntry } from '../../log/index.ts';
import {
  ApiError,
  described,
  EntryOrHash,
  receiptOf,
  route,
} from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { erase } from '../tenants/erase.ts';
import { findEntry } from './receipt-answer.ts';
import { erasureType } from '../tenants/erasure.ts';

const Erasure = Type.Object(
  {
    ok: Type.Literal(true),
    entry_id: Type.String({
      format: 'uuid',
      description: 'The entry whose disclosures were erased.',
    }),
    erased: Type.Array(Type.String(), { description: 'The names of its commitments.' }),
    erasure_entry_id: Type.String({ format: 'uuid' }),
    erased_at_ms: Type.Integer({ minimum: 0 }),
    verify_url: Type.String({ format: 'uri' }),
    receipt: described(receiptOf(erasureType), 'Of the erasure.'),
  },
  { $id: 'DisclosuresErased' },
);

/** The route that erases. */
export function erasureRoutes(gateway: Gateway): readonly Route[] {
  return [
    route({
      method: 'DELETE',
      path: '/api/v1/disclosures/{entry_id}',
      tag: 'Receipts',
      summary: 'Erase the disclosures of an entry',
      description:
        'Destroys the key of the salts and values that the service keeps for the tenant. The entry and every ' +
        'proof stay valid, but the service can no longer open the commitments. A repeated call gives the same ' +
        'answer. Under a spoliation hold the call is refused.',
      access: 'key',
      params: Type.Object({ entry_id: EntryOrHash }),
      responses: { 200: { description: 'Erased.', schema: Erasure } },
      errors: ['resource_missing', 'tenant_forbidden', 'retention_hold', 'log_busy'],
      async handle(ctx) {
        const { params, caller } = ctx.state;
        const param = 'entry_id';
        const found = findEntry(gateway, [caller.kind], params.entry_id.toLowerCase());
        const text = found?.log.entry(found.index) ?? null;
        if (found === null || text === null) {
          throw new ApiError('resource_missing', 'the log has no such entry', { param });
        }
        const { statement } = readEntry(text);
        if (statement['tenant_ref'] !== caller.tenant_ref) {
          throw new ApiError('tenant_forbidden', 'the entry belongs to another tenant', { param });
        }
        const entry_id = statement['entry_id'] as string;
        if (!gateway.disclosures.kept(gateway.served[caller.kind], entry_id)) {
          throw new ApiError('resource_missing', 'nothing is kept for this entry', { param });
        }
        const erasure = await erase(gateway, caller, statement);
        const place = findEntry(gateway, [caller.kind], erasure.entry_id);
        const receipt = place === null ? null : gateway.receipt(place.log, place.index);
        if (receipt === null) throw new Error(`the erasure ${erasure.entry_id} has no receipt`);
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {
          ok: true,
          entry_id,
          erased: receipt['subject_commitments'],
          erasure_entry_id: erasure.entry_id,
          erased_at_ms: erasure.issued_at_ms,
          verify_url: receipt['verify_url'],
          receipt,
        };
      },
    }),
  ];
}
