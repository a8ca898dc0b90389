// Slots as the logs of a kind hold them: which week is to be closed, what it nets to, and its tree.
// gateway/API.md §10.3. A log that was succeeded keeps its weeks; the newest one closes what is open.

import type { Kind, ListTree, LogView, PluginHost } from '../contract/index.ts';
import { FIRST, LAST, netRows, own, SLOTS } from './ledger.ts';
import type { SlotRow } from './ledger.ts';
import { leafOf, netOf, NO_NET, plusNet, slotTree } from './net.ts';
import type { Net, SlotLeaf } from './net.ts';
import { weekAfter } from './weeks.ts';

/** Rows that are read at a time. */
const PAGE = 1000;
/** Trees that stay in memory: those of the weeks that are asked for. */
const KEPT = 8;

/** A closed slot and where it stands. */
export interface Slot {
  readonly log: LogView;
  readonly row: SlotRow;
}

/** A week of all tenants. */
export interface NettedWeek {
  readonly leaves: readonly SlotLeaf[];
  readonly tree: ListTree;
  readonly total: Net;
}

/** The slots of a gateway. */
export class Slots {
  readonly #host: PluginHost;
  /** Closed weeks do not change. */
  readonly #kept = new Map<string, NettedWeek>();

  constructor(host: PluginHost) {
    this.#host = host;
  }

  /** The slot that was closed last; null before the first. */
  last(kind: Kind): Slot | null {
    for (const log of this.#host.logs(kind).toReversed()) {
      const row = log.row(own(LAST));
      if (row !== undefined) return { log, row: row as unknown as SlotRow };
    }
    return null;
  }

  /** The slot of a week; null where it is not closed. */
  of(kind: Kind, week: string): Slot | null {
    for (const log of this.#host.logs(kind).toReversed()) {
      const row = log.row(own(SLOTS) + week);
      if (row !== undefined) return { log, row: row as unknown as SlotRow };
    }
    return null;
  }

  /** Closed slots, newest first, from before a week on. */
  async before(kind: Kind, week: string | null, limit: number): Promise<readonly Slot[]> {
    const found: Slot[] = [];
    for (const log of this.#host.logs(kind).toReversed()) {
      const rows = await log.rows(own(SLOTS), {
        limit: limit - found.length,
        reverse: true,
        ...(week === null ? {} : { after: own(SLOTS) + week }),
      });
      found.push(...rows.map(([, row]) => ({ log, row: row as unknown as SlotRow })));
      if (found.length === limit) break;
    }
    return found;
  }

  /** The first week without a slot, over or not; null while nothing has happened. */
  open(kind: Kind): string | null {
    const last = this.last(kind);
    if (last !== null) return weekAfter(last.row.week);
    const firsts = this.#host.logs(kind).map((log) => log.row(own(FIRST)));
    return (firsts.find((week) => week !== undefined) as string | undefined) ?? null;
  }

  /** Nets a week that is over: whatever comes into it later is not there. */
  async net(kind: Kind, week: string): Promise<NettedWeek> {
    const key = `${kind}/${week}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const nets = new Map<string, Net>();
    for (const log of this.#host.logs(kind)) {
      for await (const [tenant_ref, net] of netsIn(log, week)) {
        nets.set(tenant_ref, plusNet(nets.get(tenant_ref) ?? NO_NET, net));
      }
    }
    const leaves = [...nets]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([tenant_ref, net]) => leafOf(week, tenant_ref, net));
    const netted: NettedWeek = {
      leaves,
      tree: slotTree(leaves),
      total: [...nets.values()].reduce(plusNet, NO_NET),
    };
    if (this.of(kind, week) !== null) {
      const [oldest] = this.#kept.keys();
      if (this.#kept.size >= KEPT && oldest !== undefined) this.#kept.delete(oldest);
      this.#kept.set(key, netted);
    }
    return netted;
  }
}

async function* netsIn(log: LogView, week: string): AsyncGenerator<readonly [string, Net]> {
  const prefix = own(netRows(week));
  for (let after: string | undefined; ;) {
    const rows = await log.rows(prefix, {
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const [key, row] of rows) yield [key.slice(prefix.length), netOf(row)];
    after = rows.at(-1)?.[0];
    if (rows.length < PAGE) return;
  }
}
