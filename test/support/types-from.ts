// What a log took in since a moment. Map heads are left out: a checkpoint appends one at any time.

import type { Log } from '../../log/index.ts';

/** The types of the entries from an index on, in their order, without those of map heads. */
export function typesFrom(log: Log, from: number): string[] {
  const types: string[] = [];
  for (let index = from; index < log.size(); index += 1) {
    const { type } = JSON.parse(log.entry(index) ?? '{}') as { type?: string };
    if (type !== 'log.map_head.v1') types.push(String(type));
  }
  return types;
}
