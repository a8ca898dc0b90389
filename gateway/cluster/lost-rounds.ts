// Rounds that a node has applied and the database lacks: an asynchronous standby was promoted, or an older state restored.
// The node reports them to the database, and no node leads until they were given back or given up. A node whose history
// has forked can give nothing back, and withdraws its report.

import { LogError } from '../../log/index.ts';
import type { ClusterDatabase, LostRound, LostRounds } from '../../log/index.ts';
import { AdminError } from '../tenants/tenants.ts';
import { compare, forkedMessage } from './comparison.ts';
import type { Copies } from './copies.ts';

/**
 * Why a leader must not go on: the database lacks rounds that it has committed, or that another node has reported. Null
 * if it lacks none, or does not answer.
 */
export async function lossOf(database: ClusterDatabase, copies: Copies): Promise<LogError | null> {
  const compared = await compare(database, copies).catch(() => null);
  if (compared === null) return null;
  const { forked, ahead } = compared;
  if (forked !== null) return new LogError('rounds_lost', forkedMessage(forked));
  const [own] = ahead;
  if (own !== undefined) {
    const message = `the database lacks round ${String(own.seq)} of ${own.stream}, which was committed`;
    return new LogError('rounds_lost', message);
  }
  const reported = await reportedLoss(database).catch(() => null);
  return reported === null ? null : new LogError('log_unavailable', reported);
}

/** Writes the last rounds of this node to the database. No node leads while the database lacks one of them. */
export async function reportAll(
  database: ClusterDatabase,
  copies: Copies,
  address: string,
): Promise<void> {
  for (const { stream, position } of copies.all()) {
    await database.reportSeen(stream, address, position.seq);
  }
}

/** Why no node may lead: another one has reported rounds that the database lacks. Null if none has. */
export async function reportedLoss(database: ClusterDatabase): Promise<string | null> {
  const [lost] = await database.lost();
  if (lost === undefined) return null;
  return (
    `the database has lost commits of ${lost.stream}: the node at ${lost.address} has applied round ` +
    `${String(lost.seq)}. Run "actlog cluster heal" there`
  );
}

/**
 * Gives rounds that the database has lost back to it, all or none: the rows of the gateway's database follow from entries
 * of the logs. Returns their number by stream.
 *
 * @param giveKeysBack gives back key files that the database has lost
 * @throws AdminError if the copies do not have all of the rounds; LogError `store_corrupt` if they do not continue the
 *   rounds of the database
 */
export async function giveBack(
  database: ClusterDatabase,
  copies: Copies,
  giveKeysBack: () => Promise<void>,
): Promise<Readonly<Record<string, number>>> {
  const { forked, ahead } = await compare(database, copies);
  if (forked !== null) throw new LogError('store_corrupt', forkedMessage(forked));
  const missing = new Map<string, LostRounds>();
  for (const { stream, last, common } of ahead) {
    const rounds = common === null ? null : await copies.of(stream).kept(last);
    if (common === null || rounds === null) {
      throw new AdminError(
        `this node does not have all of the rounds of ${stream} after ${String(last)}: nothing was changed`,
      );
    }
    missing.set(stream, { before: common, rounds });
  }
  // A node may lead when the rounds are there, and needs the keys then.
  await giveKeysBack();
  if (missing.size > 0) await database.heal(missing);
  return Object.fromEntries([...missing].map(([stream, { rounds }]) => [stream, rounds.length]));
}

/**
 * Withdraws what a node reported before it lost its data folder, so that nodes lead without these rounds. Returns what
 * the database lacked of it. To be called after `giveBack`, which gives back what the node still has.
 */
export async function giveUp(
  database: ClusterDatabase,
  address: string,
): Promise<readonly LostRound[]> {
  const lost = (await database.lost()).filter((one) => one.address === address);
  if (lost.length > 0) await database.withdrawSeen(address);
  return lost;
}
