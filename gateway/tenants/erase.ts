// Destroys the texts behind an entry: first the log says so, then the key goes. A crash between the two leaves a
// row that the next start finishes. behaviour.md §1.2.

import { LogError } from '../../log/index.ts';
import type { AttachedRow, JsonObject, Kind, Log } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract.ts';
import type { Caller, Erasure } from '../../plugins/contract.ts';
import type { Gateway } from '../gateway.ts';
import { ERASURE, erasureOf, erasureRow } from './erasure.ts';

/** Attached rows of erasures whose key may still be there. */
const PENDING = 'erasing/';
const PAGE = 100;
const ATTEMPTS = 10;

/** What the spoliation seals say. */
export interface Holds {
  holdOver(kind: Kind, statement: JsonObject): Promise<{ readonly entry_id: string } | null>;
  /** Row that every new hold of a tenant changes. */
  holdMark(tenant_ref: string): string;
}

/** At the sequence point something stood that did not before: look again. */
class Overtaken extends Error {}

/**
 * Destroys what an entry of the caller committed to, and answers with the erasure, the same one each time.
 * `retention_hold` under a spoliation hold, also under one that comes at the same moment.
 */
export async function erase(
  gateway: Gateway,
  holds: Holds,
  caller: Caller,
  statement: JsonObject,
): Promise<Erasure> {
  const entry_id = statement['entry_id'] as string;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const known = erasureOf(gateway.served[caller.kind], entry_id);
    if (known !== null) {
      await finish(gateway, gateway.logs[caller.kind], entry_id);
      return known;
    }
    try {
      await append(gateway, holds, caller, statement);
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
  }
  throw new LogError('log_busy', 'holds come faster than an erasure can look at them');
}

async function append(
  gateway: Gateway,
  holds: Holds,
  { kind, tenant, tenant_ref }: Caller,
  statement: JsonObject,
): Promise<void> {
  const log = gateway.logs[kind];
  const entry_id = statement['entry_id'] as string;
  const mark = holds.holdMark(tenant_ref);
  const before = log.row(mark);
  const hold = await holds.holdOver(kind, statement);
  if (hold !== null) {
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
      const overtaken = rows.get(mark) !== before || rows.get(erasureRow(entry_id)) !== undefined;
      if (overtaken) throw new Overtaken('another entry came first');
    },
    attach: () => [pending],
  });
}

/** Destroys the key and takes the row away; does nothing where both are gone. */
async function finish(gateway: Gateway, log: Log, entry_id: string): Promise<void> {
  if (log.attached(PENDING + entry_id) === undefined) return;
  await gateway.disclosures.destroy(log, entry_id);
  await log.putAttached([{ key: PENDING + entry_id, value: null }]);
}

/** At a start: finishes what a crash has left. */
export async function finishErasures(gateway: Gateway): Promise<void> {
  for (const log of Object.values(gateway.logs)) {
    for (;;) {
      const rows = await log.attachedRows(PENDING, { limit: PAGE });
      for (const [key] of rows) await finish(gateway, log, key.slice(PENDING.length));
      if (rows.length < PAGE) break;
    }
  }
}
