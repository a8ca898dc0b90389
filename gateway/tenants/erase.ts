// Erases the disclosures of an entry: appends an erasure entry to the newest log, then destroys the key. The sealed text
// may be in an older log of the same kind, so all served logs are searched. A crash between the two steps leaves a
// pending row, and the next start destroys the key. gateway/API.md §1.2.

import { LOG_KINDS, LogError } from '../../log/index.ts';
import type { AttachedRow, JsonObject, Kind } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Caller, Erasure } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { ERASED, ERASURE, erasureOf, erasureRow } from './erasure.ts';

/** Prefix of the pending rows: erasures whose key may still exist. */
export const PENDING = 'erasing/';
const PAGE = 1000;
const ATTEMPTS = 10;

/** A hold or an erasure was sequenced between the check and the append, so the check is repeated. */
class Overtaken extends Error {}

/**
 * Erases the disclosures of an entry of the caller. A repeated call returns the same erasure.
 *
 * @throws ApiError `retention_hold` under a spoliation hold, even if the hold comes at the same moment
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
  throw new LogError('log_busy', 'holds are appended faster than the erasure can check them');
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
 * Destroys the key, then deletes the pending rows. Returns false if no served log has the sealed text. The pending row
 * stays then, because a later start may serve the log that has it.
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
 * Runs at a start. Finishes erasures that a crash interrupted, and those that are in the log although the key still
 * exists. The latter happens when an older copy of the key database was restored, and after an earlier release, which
 * did not destroy keys of entries in a closed log.
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
        if (!(await gateway.disclosures.hasKey(logs, entry_id))) continue;
        await gateway.disclosures.destroy(logs, entry_id);
        finished += 1;
      }
    }
    report(gateway, kind, { finished, lost });
  }
}

function report(
  { logger }: Gateway,
  kind: Kind,
  { finished, lost }: { readonly finished: number; readonly lost: readonly string[] },
): void {
  if (finished > 0) {
    const message = 'keys of erased disclosures still existed and were destroyed now';
    logger.warn({ log: kind, finished }, message);
  }
  if (lost.length > 0) {
    const message =
      'erasures are not finished: their sealed texts, which name the keys to destroy, are in a log that is not ' +
      'served. They are finished when that log is served again';
    logger.warn({ log: kind, entry_ids: lost.slice(0, PAGE), count: lost.length }, message);
  }
}

/** The keys of all rows with a prefix, without the prefix, in order. Reads them page by page. */
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
