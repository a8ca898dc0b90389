// The slots in the logs of a kind: finding closed slots and the next week to close, and netting a week over all logs.
// gateway/API.md §10.3. Slots of closed logs remain there; the newest log closes the weeks that are still open.

import { eachRow } from '../contract/index.ts';
import type { Kind, ListTree, LogView, PluginHost } from '../contract/index.ts';
import { FIRST, LAST, netRows, own, SLOTS } from './ledger.ts';
import type { SlotRow } from './ledger.ts';
import { leafOf, netOf, NO_NET, plusNet, slotTree } from './net.ts';
import type { Net, SlotLeaf } from './net.ts';
import { weekAfter } from '../contract/index.ts';

/** Number of netted weeks that are cached. */
const KEPT = 8;

/** A closed slot and the log that has it. */
export interface Slot {
  readonly log: LogView;
  readonly row: SlotRow;
}

/** The nets of all tenants in a week. */
export interface NettedWeek {
  readonly leaves: readonly SlotLeaf[];
  readonly tree: ListTree;
  readonly total: Net;
}

/** Reads the slots of a gateway. */
export class Slots {
  readonly #host: PluginHost;
  /** A cache of closed weeks, which never change. */
  readonly #kept = new Map<string, NettedWeek>();

  constructor(host: PluginHost) {
    this.#host = host;
  }

  /** The newest closed slot; null if there is none. */
  last(kind: Kind): Slot | null {
    for (const log of this.#host.logs(kind).toReversed()) {
      const row = log.row(own(LAST));
      if (row !== undefined) return { log, row: row as unknown as SlotRow };
    }
    return null;
  }

  /** The slot of a week; null if it is not closed. */
  of(kind: Kind, week: string): Slot | null {
    for (const log of this.#host.logs(kind).toReversed()) {
      const row = log.row(own(SLOTS) + week);
      if (row !== undefined) return { log, row: row as unknown as SlotRow };
    }
    return null;
  }

  /** Closed slots before a week, or all for null, newest first. */
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

  /** The first week without a slot, whether it is over or not; null before the first act or grant. */
  open(kind: Kind): string | null {
    const last = this.last(kind);
    if (last !== null) return weekAfter(last.row.week);
    const firsts = this.#host.logs(kind).map((log) => log.row(own(FIRST)));
    return (firsts.find((week) => week !== undefined) as string | undefined) ?? null;
  }

  /** Nets a week that is over, so that its rows no longer change. */
  async net(kind: Kind, week: string): Promise<NettedWeek> {
    const key = `${kind}/${week}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const nets = new Map<string, Net>();
    for (const log of this.#host.logs(kind)) {
      const prefix = own(netRows(week));
      for await (const [key, row] of eachRow(log, prefix)) {
        const tenant_ref = key.slice(prefix.length);
        nets.set(tenant_ref, plusNet(nets.get(tenant_ref) ?? NO_NET, netOf(row)));
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
