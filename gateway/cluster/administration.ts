// What `actlog cluster` asks a node: its state, and to give lost rounds back to the database.

import type { ClusterDatabase, Replica } from '../../log/index.ts';
import type { Json, JsonObject } from '../../plugins/contract/index.ts';
import { AdminError } from '../tenants/tenants.ts';
import type { Copies } from './copies.ts';

/** The state of a node for `cluster status`, with what the database says if it answers. */
export async function statusOf(
  database: ClusterDatabase,
  copies: Copies,
  state: JsonObject,
): Promise<Json> {
  const sizes = await database.sizes().catch(() => null);
  const lost = await database.lost().catch(() => []);
  return {
    ...state,
    applied: copies.applied(),
    lost: lost as unknown as Json,
    database: sizes as unknown as Json,
  };
}

/**
 * Gives rounds that the database has lost back to it, all or none. Returns their number by stream.
 *
 * @throws AdminError if the copies do not have all of them; LogError `store_corrupt` if they do not continue the rounds
 *   of the database
 */
export async function giveBack(
  database: ClusterDatabase,
  copies: Copies,
): Promise<Readonly<Record<string, number>>> {
  const states = await database.states(copies.positions());
  const missing = new Map<string, NonNullable<Awaited<ReturnType<Replica['kept']>>>>();
  for (const replica of copies.all()) {
    const { stream } = replica;
    const last = states.get(stream)?.last ?? 0;
    if (replica.position.seq <= last) continue;
    const kept = await replica.kept(last);
    if (kept === null) {
      throw new AdminError(
        `this node does not have all of the rounds of ${stream} after ${String(last)}: nothing was changed`,
      );
    }
    missing.set(stream, kept);
  }
  if (missing.size > 0) await database.heal(missing);
  return Object.fromEntries([...missing].map(([stream, { rounds }]) => [stream, rounds.length]));
}
