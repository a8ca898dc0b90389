// Closes every week that is over, once and in order, also those that were missed. gateway/API.md §10.3.

import { toHex } from '../../log/index.ts';
import type { CommandState, JsonObject, Kind, PluginHost } from '../contract.ts';
import { SLOT } from './entries.ts';
import { LAST } from './ledger.ts';
import type { SlotRow } from './ledger.ts';
import { dueOf } from './net.ts';
import type { Slots } from './slots.ts';
import { windowOf } from './weeks.ts';

/** How long a close waits for the checkpoint behind the week's end. */
const CLOSED_MS = 5000;

/** Another close came first. */
class Overtaken extends Error {}

/** Closes what is due in a kind of log; answers with the weeks that it closed itself. */
export async function closeDue(
  host: PluginHost,
  slots: Slots,
  append: CommandState['append'],
  kind: Kind,
): Promise<readonly string[]> {
  const closed: string[] = [];
  for (;;) {
    const week = slots.open(kind);
    if (week === null || windowOf(week).to_ms >= host.now()) return closed;
    try {
      await close(host, slots, append, { kind, week });
      closed.push(week);
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
  }
}

async function close(
  host: PluginHost,
  slots: Slots,
  append: CommandState['append'],
  { kind, week }: { readonly kind: Kind; readonly week: string },
): Promise<void> {
  const log = host.log(kind);
  const { from_ms, to_ms } = windowOf(week);
  // From here on nothing comes into the week, and the newest checkpoint is over all of it.
  await log.windowClosed(to_ms, CLOSED_MS);
  const { size, root } = log.published();
  const last = slots.last(kind)?.row.week;
  const { tree, total } = await slots.net(kind, week);
  const members: JsonObject = {
    cycle: 'weekly',
    week,
    from_ms,
    to_ms,
    root: toHex(tree.root),
    tenants: tree.size,
    acts: total.acts,
    sum_tolls_micro_usd: total.tolls_micro_usd,
    sum_credits_micro_usd: total.credits_micro_usd,
    sum_fees_micro_usd: total.fees_micro_usd,
    sum_cleared_micro_usd: total.cleared_micro_usd,
    sum_net_micro_usd: dueOf(total),
    checkpoint_size: size,
    checkpoint_root: toHex(root),
  };
  await append(kind, [{ type: SLOT, members }], {
    check({ rows }) {
      const now = rows.get(LAST) as unknown as SlotRow | undefined;
      // A log without slots of its own may succeed one that has them.
      if (now !== undefined && now.week !== last) throw new Overtaken();
    },
  });
}
