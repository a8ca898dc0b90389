// The append of a route: registers the tenant, appends the group with its idempotency record and sealed disclosures,
// and answers. The answer is sent when the log's batch is durable; the keys of the disclosures are durable before the
// group is placed.

import { isLogError } from '../../log/index.ts';
import type { Appended, AttachedRow, Draft } from '../../log/index.ts';
import type { GroupOptions, Json, LogView } from '../../plugins/contract/index.ts';
import { answer, answerStored } from './answer.ts';
import type { Gateway } from '../gateway.ts';
import { recordRows } from './idempotency-store.ts';
import { RequestState } from './request.ts';
import type { RequestContext } from './request.ts';
import { holdFor } from './send-buffers.ts';
import { isShared } from '../tenants/tenants.ts';

/** The state of a request of a gateway: what it appends is answered on its context. */
export class AppendingRequest extends RequestState {
  readonly #ctx: RequestContext;

  constructor(gateway: Gateway, ctx: RequestContext) {
    super(gateway);
    this.#ctx = ctx;
  }

  append(drafts: readonly Draft[], options: GroupOptions = {}): Promise<void> {
    return appendAndAnswer(this.#ctx, drafts, options);
  }

  answerWith(indexes: readonly number[], log?: Pick<LogView, 'number'>): Promise<void> {
    return answerWith(this.#ctx, indexes, log?.number);
  }

  holds(bytes: () => number): void {
    holdFor(this.#ctx.res, bytes);
  }
}

/** Appends a request's group and answers it; see `RouteState.append`. */
async function appendAndAnswer(
  ctx: RequestContext,
  drafts: readonly Draft[],
  { keep, ...options }: GroupOptions,
): Promise<void> {
  const { state } = ctx;
  if (!state.may_append)
    throw new Error('a request without a key that asks the live log appends nothing');
  if (state.appended) throw new Error('a request appends one group');
  state.appended = true;
  const { gateway, caller } = state;
  const log = gateway.logs[caller.kind];
  const registered = gateway.tenants.register(caller.tenant, log);
  if (registered !== true) await registered;
  const { tenant_ref } = caller;
  const group = drafts.map((draft) => ({ tenant_ref, ...draft }));
  const withPrivate = isShared(caller.tenant)
    ? 0
    : drafts.filter((draft) => draft.private !== undefined).length;
  const keys = withPrivate === 0 ? null : await gateway.disclosures.reserve(withPrivate);

  const notices = gateway.webhooks.notices(log, caller.tenant);
  const kept = state.claim === null ? undefined : keep?.later();
  let entries: readonly Appended[];
  let acknowledged = false;
  const started = performance.now();
  try {
    entries = await log.append(group, {
      attach: (placed, disclosures) => {
        const rows: AttachedRow[] = [];
        if (keys !== null) {
          placed.forEach(({ entry_id }, i) => {
            const opened = disclosures[i];
            if (opened === undefined || Object.keys(opened).length === 0) return;
            rows.push(keys.seal(entry_id, opened));
          });
        }
        const indexes = placed.map(({ index }) => index);
        return [...rows, ...notices.rows(placed, disclosures), ...recordOf(ctx, indexes, kept)];
      },
      ...options,
    });
    acknowledged = true;
    gateway.metrics.append(log.kind, (performance.now() - started) / 1000);
  } catch (error) {
    // A refused group leaves nothing, so the handler may append another. After a failed write it is unknown whether the
    // group was written, and a second append could duplicate it.
    state.appended = isLogError(error) && error.code === 'log_unavailable';
    throw error;
  } finally {
    notices.settled(acknowledged);
    keys?.release();
  }
  await answer(
    ctx,
    log,
    entries,
    entries.map(({ disclosures }) => disclosures),
    keep?.now,
  );
}

/**
 * Answers with entries that exist already. The request's Idempotency-Key refers to them from now on, in their own log.
 */
async function answerWith(
  ctx: RequestContext,
  indexes: readonly number[],
  number?: number,
): Promise<void> {
  const { gateway, caller } = ctx.state;
  const served = gateway.served[caller.kind];
  const log =
    number === undefined
      ? gateway.logs[caller.kind]
      : served.find((candidate) => candidate.number === number);
  if (log === undefined) throw new Error(`log ${String(number)} is not served`);
  const record = recordOf(ctx, indexes);
  if (record.length > 0) await log.putAttached(record);
  await answerStored(ctx, log, indexes);
}

/** The rows by which the request's Idempotency-Key finds its answer; none without a key. */
function recordOf(
  { state: { claim, gateway } }: RequestContext,
  indexes: readonly number[],
  kept?: Json,
): AttachedRow[] {
  if (claim === null) return [];
  const done_at_ms = gateway.now();
  const record = { indexes, done_at_ms, ...(kept === undefined ? {} : { kept }) };
  return recordRows(claim, record, gateway.config.IDEMPOTENCY_TTL_MS);
}
