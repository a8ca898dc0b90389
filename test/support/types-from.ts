// The types that a log has appended since an index. Map heads are left out, because a checkpoint may append one at
// any time.

import type { Log } from '../../log/index.ts';

/** The types of the entries from an index on in order, without map heads. */
export function typesFrom(log: Log, from: number): string[] {
  const types: string[] = [];
  for (let index = from; index < log.size(); index += 1) {
    const { type } = JSON.parse(log.entry(index) ?? '{}') as { type?: string };
    if (type !== 'log.map_head.v1') types.push(String(type));
  }
  return types;
}
