// GET /r/{entry_id}/tlog-proof: the portable proof of a receipt as a file, for verifiers of others. C2SP tlog-proof.

import { Type } from 'typebox';
import { ApiError, EntryOrHash, kindsOf, LogOfEntry, route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { entryNamed, placeOf, tlogProofOf } from './receipt-answer.ts';

/** The route. */
export function proofDownloadRoute(gateway: Gateway): Route {
  return route({
    method: 'GET',
    path: '/r/{entry_id}/tlog-proof',
    tag: 'Receipts',
    summary: 'The portable proof of a receipt, to download',
    description:
      'C2SP tlog-proof@v1 of the newest checkpoint over the entry; `actlog verify` takes it with `--receipt`.',
    access: 'read',
    params: Type.Object({ entry_id: EntryOrHash }),
    query: Type.Object({
      log: LogOfEntry,
    }),
    responses: { 200: { description: 'The proof.', type: 'text/plain; charset=utf-8' } },
    errors: ['resource_missing', 'log_unavailable'],
    async handle(ctx) {
      const { params, query, caller } = ctx.state;
      const { log, index } = entryNamed(gateway, kindsOf(query.log, caller), params.entry_id);
      const place = await placeOf(log, index);
      if (place === null) {
        throw new ApiError('log_unavailable', 'the log is not publishing at the moment');
      }
      ctx.set('Cache-Control', 'no-store');
      ctx.set('Content-Disposition', `attachment; filename="${String(index)}.tlog-proof"`);
      ctx.set('Content-Type', 'text/plain; charset=utf-8');
      ctx.body = tlogProofOf(index, place);
    },
  });
}
