// Dead letters: messages whose last attempt has failed. The operator lists and replays them; after 30 days they are
// deleted. gateway/API.md §11.

import type { AttachedRow, Kind, Log } from '../../log/index.ts';
import { AdminError } from '../tenants/tenants.ts';
import {
  DEAD,
  deadJob,
  deadPrefix,
  deadToKey,
  deadToPrefix,
  newRows,
  noDeadRows,
  OWN_ADDRESS,
  receiverOf,
} from './job.ts';
import type { DeadJob } from './job.ts';
import { messageId } from './delivery.ts';
import type { Subscriptions } from './subscriptions.ts';

/** How long a dead letter is kept. */
const KEPT_MS = 30 * 86_400_000;
const PAGE = 1000;

/** A dead letter as the operator sees it. It does not show the receiver's address. */
export interface DeadLetter {
  /** `msg_` and the id of the entry. */
  readonly id: string;
  readonly kind: Kind;
  readonly type: string;
  /** The id of a subscription, or the text `webhook_url` for the address in the entry's own disclosures. */
  readonly to: string;
  readonly attempts: number;
  readonly reason: string;
  readonly died_at_ms: number;
  /** Of the entry; empty for an entry of the log itself. */
  readonly tenant_ref: string;
}

/** Whose letters a list has: those about entries of a tenant, to their own addresses, and those to subscriptions. */
export interface Receivers {
  readonly kind: Kind;
  readonly tenant_ref: string;
  /** The ids of the subscriptions. */
  readonly subscriptions: readonly string[];
}

/** A letter of a list, and its place there: the number of its log, the index of its entry, and its target. */
export interface PlacedLetter extends DeadLetter {
  readonly place: string;
}

/** The form of a place. */
export const LETTER_PLACE = '^[0-9]{1,9}\\.[0-9]{1,15}\\.(url|sub_[0-9A-Za-z]{24})$';

/** The dead letters of all logs. */
export class DeadLetters {
  readonly #now: () => number;
  readonly #logs: readonly Log[];
  readonly #subscriptions: Subscriptions;
  readonly #onReplay: () => void;

  constructor(
    now: () => number,
    logs: readonly Log[],
    subscriptions: Subscriptions,
    onReplay: () => void,
  ) {
    this.#now = now;
    this.#logs = logs;
    this.#subscriptions = subscriptions;
    this.#onReplay = onReplay;
  }

  /** At most `limit` letters, log by log, each in the order of its entries. */
  async list(limit: number): Promise<readonly DeadLetter[]> {
    const letters: DeadLetter[] = [];
    for (const log of this.#logs) {
      const rows = await log.attachedRows(DEAD, { limit: limit - letters.length });
      letters.push(...rows.map((row) => letterOf(log, deadJob(row))));
    }
    return letters;
  }

  /** A page of the letters to some receivers, log by log, each in the order of its entries. */
  async page(
    { kind, tenant_ref, subscriptions }: Receivers,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): Promise<readonly PlacedLetter[]> {
    const [number = '0', index = '0', target = ''] = after?.split('.') ?? [];
    const last = { number: Number(number), index: Number(index), target };
    const found: PlacedLetter[] = [];
    for (const log of this.#logs) {
      if (log.kind !== kind || log.number < last.number || found.length >= limit) continue;
      const ofLog: (DeadJob & { readonly place: string })[] = [];
      for (const to of [OWN_ADDRESS, ...subscriptions]) {
        const receiver = receiverOf(to, tenant_ref);
        // Letters about one entry are in the order of their targets.
        const from = to <= last.target ? last.index : last.index - 1;
        const rows = await log.attachedRows(deadToPrefix(receiver), {
          limit,
          ...(log.number === last.number ? { after: deadToKey(receiver, from) } : {}),
        });
        ofLog.push(...rows.map(deadJob).map((dead) => ({ ...dead, place: placeOf(log, dead) })));
      }
      ofLog.sort((a, b) => a.index - b.index || (a.target < b.target ? -1 : 1));
      const page = ofLog.slice(0, limit - found.length);
      found.push(...page.map((dead) => ({ ...letterOf(log, dead), place: dead.place })));
    }
    return found;
  }

  /**
   * Puts the messages with an id back into the queue, with all attempts before them.
   *
   * @returns how many messages it was
   * @throws AdminError if there is no such dead letter
   */
  async replay(id: string): Promise<number> {
    const entry_id = id.replace(/^msg_/, '');
    for (const log of this.#logs) {
      const index = log.indexOfEntry(entry_id);
      if (index === null) continue;
      const rows = await log.attachedRows(deadPrefix(index));
      if (rows.length > 0) return this.#revive(log, rows.map(deadJob));
    }
    throw new AdminError(`there is no dead letter ${id}`);
  }

  /** Puts those messages with an id back into the queue that are the caller's own. Returns their number. */
  async replayOwn(id: string, kind: Kind, own: (letter: DeadLetter) => boolean): Promise<number> {
    const entry_id = id.replace(/^msg_/, '');
    let count = 0;
    for (const log of this.#logs) {
      const index = log.kind === kind ? log.indexOfEntry(entry_id) : null;
      if (index === null) continue;
      const letters = (await log.attachedRows(deadPrefix(index))).map(deadJob);
      const chosen = letters.filter((letter) => own(letterOf(log, letter)));
      if (chosen.length > 0) count += await this.#revive(log, chosen);
    }
    return count;
  }

  /** Puts all dead letters back into the queue. Returns their number. */
  async replayAll(): Promise<number> {
    let count = 0;
    await this.#pages(async (log, letters) => {
      count += await this.#revive(log, letters);
    });
    return count;
  }

  /** Deletes those that are older than 30 days. Returns their number. */
  async sweep(): Promise<number> {
    let count = 0;
    const before = this.#now() - KEPT_MS;
    await this.#pages(async (log, letters) => {
      const old = letters.filter(({ died_at_ms }) => died_at_ms < before);
      const rows = old.flatMap((letter) => noDeadRows(letter, tenantRef(log, letter.index)));
      if (old.length > 0) await log.putAttached(rows);
      count += old.length;
    });
    return count;
  }

  /** Visits every letter once, page by page, even if one that is replayed fails again meanwhile. */
  async #pages(visit: (log: Log, letters: readonly DeadJob[]) => Promise<void>): Promise<void> {
    for (const log of this.#logs) {
      let rows = await log.attachedRows(DEAD, { limit: PAGE });
      for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
        await visit(log, rows.map(deadJob));
        rows = await log.attachedRows(DEAD, { limit: PAGE, after: last[0] });
      }
    }
  }

  async #revive(log: Log, dead: readonly DeadJob[]): Promise<number> {
    const rows = dead.flatMap((letter): AttachedRow[] => {
      const { died_at_ms: _, reason: __, ...job } = letter;
      const gone = noDeadRows(letter, tenantRef(log, letter.index));
      return [...gone, ...newRows({ ...job, attempts: 0 })];
    });
    // The operator replays because the receiver answers again, so a disabled subscription is enabled.
    for (const { target } of dead) await this.#subscriptions.enable(target);
    await log.putAttached(rows);
    this.#onReplay();
    return dead.length;
  }
}

const placeOf = (log: Log, { index, target }: DeadJob): string =>
  `${String(log.number)}.${String(index)}.${target}`;

/** The tenant_ref of an entry; empty for an entry of the log itself. */
export function tenantRef(log: Log, index: number): string {
  const { tenant_ref } = JSON.parse(log.entry(index) ?? '{}') as { readonly tenant_ref?: string };
  return tenant_ref ?? '';
}

function letterOf(
  log: Log,
  { index, target, type, attempts, reason, died_at_ms }: DeadJob,
): DeadLetter {
  return {
    id: messageId(log, index),
    kind: log.kind,
    type,
    to: target === 'url' ? 'webhook_url' : target,
    attempts,
    reason,
    died_at_ms,
    tenant_ref: tenantRef(log, index),
  };
}
