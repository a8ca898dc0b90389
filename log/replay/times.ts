// The order of entries: ids and times. log/FORMAT.md §2.1.

import type { Common } from './members.ts';
import { RuleBroken } from '../rules/violation.ts';

/** What the next entry is compared with. */
export interface TimeState {
  readonly last: { readonly entry_id: string; readonly issued_at_ms: number } | null;
  readonly mapHead: { readonly index: number; readonly issued_at_ms: number } | null;
}

/**
 * entry_id strictly increases; issued_at_ms never decreases and is strictly greater than that of the last
 * map head, so that no entry can fall into a window that a map head has closed.
 */
export function checkTimes(common: Common, index: number, { last, mapHead }: TimeState): void {
  const { entry_id, issued_at_ms } = common;
  if (last !== null && issued_at_ms < last.issued_at_ms) {
    throw new RuleBroken('time_order', 'issued_at_ms is before that of the entry before', [
      index - 1,
    ]);
  }
  if (mapHead !== null && issued_at_ms <= mapHead.issued_at_ms) {
    throw new RuleBroken('time_after_map_head', 'issued_at_ms is not after the last map head', [
      mapHead.index,
    ]);
  }
  // One spelling of one length: the order of the text is that of the bits.
  if (last !== null && entry_id <= last.entry_id) {
    throw new RuleBroken(
      'entry_id_order',
      'entry_id is not greater than that of the entry before',
      [index - 1],
    );
  }
}
