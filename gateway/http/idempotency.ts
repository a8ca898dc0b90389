// Idempotency-Key on routes that append: one claim in flight for a key, a replay from the record, the record
// itself in the entries' own batch. gateway/API.md §5.

import type { Log } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Json } from '../../plugins/contract/index.ts';
import { answerStored } from './answer.ts';
import { filledPath } from './dispatch.ts';
import { claimOf, idempotencyKey, recordOf } from './idempotency-store.ts';
import type { IdempotencyClaim, IdempotencyRecord } from './idempotency-store.ts';
import type { Next, RequestContext } from './request.ts';

/** Claims the key for the request, or answers from its record. */
export function idempotency() {
  const inFlight = new Set<string>();
  return async (ctx: RequestContext, next: Next): Promise<void> => {
    const { state } = ctx;
    const { line } = state;
    const header = line === null ? ctx.req.headers['idempotency-key'] : line.idempotency_key;
    if (state.matched?.route.idempotent !== true || header === undefined) {
      await next();
      return;
    }
    const key = idempotencyKey(String(header));
    const claim = claimOf(
      state.caller,
      filledPath(state.matched, state.params),
      key,
      state.body as Json,
    );
    if (inFlight.has(claim.name)) {
      throw new ApiError('idempotency_key_in_use', 'the first request with this key is in flight');
    }
    const found = find(ctx, claim);
    if (found !== null) {
      await replay(ctx, claim, found.log, found.record);
      return;
    }
    inFlight.add(claim.name);
    try {
      state.claim = claim;
      await next();
    } finally {
      inFlight.delete(claim.name);
    }
  };
}

function find(
  ctx: RequestContext,
  claim: IdempotencyClaim,
): { log: Log; record: IdempotencyRecord } | null {
  const { gateway, caller } = ctx.state;
  // Records of the last day may be in the predecessor of a successor log.
  for (const log of gateway.served[caller.kind].toReversed()) {
    const record = recordOf(log, claim, gateway.now(), gateway.config.IDEMPOTENCY_TTL_MS);
    if (record !== null) return { log, record };
  }
  return null;
}

async function replay(
  ctx: RequestContext,
  claim: IdempotencyClaim,
  log: Log,
  record: IdempotencyRecord,
): Promise<void> {
  if (record.fingerprint !== claim.fingerprint) {
    const message = 'this Idempotency-Key was used with another body';
    throw new ApiError('idempotency_key_reused', message, { param: 'Idempotency-Key' });
  }
  ctx.set('Idempotent-Replayed', 'true');
  await answerStored(ctx, log, record.indexes, record.kept);
}
