// Destroys the texts behind an entry: first the newest log says so, then the key goes. The sealed text may stand in an
// older log of the same kind, so that both are looked for in all of them. A crash between the two steps leaves a row
// that the next start finishes. gateway/API.md §1.2.

import { LOG_KINDS, LogError } from '../../log/index.ts';
import type { AttachedRow, JsonObject, Kind } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Caller, Erasure } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { ERASED, ERASURE, erasureOf, erasureRow } from './erasure.ts';

/** Attached rows of erasures whose key may still be there. */
export const PENDING = 'erasing/';
const PAGE = 1000;
const ATTEMPTS = 10;

/** At the sequence point something stood that did not before: look again. */
class Overtaken extends Error {}

/**
 * Destroys what an entry of the caller committed to, and answers with the erasure, the same one each time.
 * `retention_hold` under a spoliation hold, also under one that comes at the same moment.
 */
export async function erase(
  gateway: Gateway,
  caller: Caller,
  statement: JsonObject,
): Promise<Erasure> {
  const entry_id = statement['entry_id'] as string;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const known = erasureOf(gateway.served[caller.kind], entry_id);
    if (known !== null) {
      await finish(gateway, caller.kind, entry_id);
      return known;
    }
    try {
      await append(gateway, caller, statement);
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
  }
  throw new LogError('log_busy', 'holds come faster than an erasure can look at them');
}

async function append(
  gateway: Gateway,
  { kind, tenant, tenant_ref }: Caller,
  statement: JsonObject,
): Promise<void> {
  const log = gateway.logs[kind];
  const entry_id = statement['entry_id'] as string;
  const { retention } = gateway.plugged();
  const marks = retention.map((one) => one.holdMark(tenant_ref));
  const before = marks.map((mark) => log.row(mark));
  for (const one of retention) {
    const hold = await one.holdOver(kind, statement);
    if (hold === null) continue;
    const message = `the spoliation seal ${hold.entry_id} holds what this entry committed to`;
    throw new ApiError('retention_hold', message, { param: 'entry_id' });
  }
  const registered = gateway.tenants.register(tenant, log);
  if (registered !== true) await registered;
  const names = Object.keys((statement['commitments'] ?? {}) as JsonObject);
  const members = { subject_entry_id: entry_id, subject_commitments: names };
  const pending: AttachedRow = { key: PENDING + entry_id, value: Buffer.alloc(0) };
  await log.append([{ type: ERASURE, tenant_ref, members }], {
    check({ rows }) {
      const held = marks.some((mark, at) => rows.get(mark) !== before[at]);
      const overtaken = held || rows.get(erasureRow(entry_id)) !== undefined;
      if (overtaken) throw new Overtaken('another entry came first');
    },
    attach: () => [pending],
  });
}

/**
 * Destroys the key, then deletes the pending rows. A pending row whose sealed text none of the served logs has stays:
 * a later start may serve the log that has it.
 */
async function finish(gateway: Gateway, kind: Kind, entry_id: string): Promise<boolean> {
  const logs = gateway.served[kind];
  const pending = logs.filter((log) => log.attached(PENDING + entry_id) !== undefined);
  if (pending.length === 0) return true;
  if (!(await gateway.disclosures.destroy(logs, entry_id))) return false;
  for (const log of pending) await log.putAttached([{ key: PENDING + entry_id, value: null }]);
  return true;
}

/**
 * At a start: finishes the erasures that a crash has interrupted, and those that the log says although the key is
 * still stored: an earlier release did not destroy the keys of entries of a closed log, and a copy of the key database
 * that was put back has keys that were destroyed since.
 */
export async function finishErasures(gateway: Gateway): Promise<void> {
  for (const kind of LOG_KINDS) {
    const logs = gateway.served[kind];
    const lost: string[] = [];
    for (const log of logs) {
      for await (const entry_id of idsUnder(PENDING, (options) =>
        log.attachedRows(PENDING, options),
      ))
        if (!(await finish(gateway, kind, entry_id))) lost.push(entry_id);
    }
    let finished = 0;
    for (const log of logs) {
      for await (const entry_id of idsUnder(ERASED, (options) => log.rows(ERASED, options))) {
        if (!gateway.disclosures.hasKey(logs, entry_id)) continue;
        await gateway.disclosures.destroy(logs, entry_id);
        finished += 1;
      }
    }
    tell(gateway, kind, { finished, lost });
  }
}

function tell(
  { logger }: Gateway,
  kind: Kind,
  { finished, lost }: { readonly finished: number; readonly lost: readonly string[] },
): void {
  if (finished > 0) {
    const told = 'keys of erased disclosures were still stored, and are destroyed now';
    logger.warn({ log: kind, finished }, told);
  }
  if (lost.length > 0) {
    const told =
      'erasures are not finished: their sealed text is in a log that is not served, so that it is not known which ' +
      'keys to destroy. They are finished once that log is served again';
    logger.warn({ log: kind, entry_ids: lost.slice(0, PAGE), count: lost.length }, told);
  }
}

/** What stands after a prefix in the keys of rows, in order, page by page. */
async function* idsUnder(
  prefix: string,
  read: (options: {
    limit: number;
    after?: string;
  }) => Promise<readonly (readonly [string, unknown])[]>,
): AsyncGenerator<string> {
  for (let after: string | undefined; ;) {
    const rows = await read({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const [key] of rows) yield key.slice(prefix.length);
    after = rows.at(-1)?.[0];
    if (rows.length < PAGE || after === undefined) return;
  }
}
