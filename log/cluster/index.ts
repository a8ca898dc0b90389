// A log on several machines: PostgreSQL holds the sequence of committed rounds, and every node has a copy of its result
// in LevelDB. One node leads: it alone takes writes and signs. The files, in the order to read them:
//
// database.ts   the tables, and the statement that commits a round: it inserts the row only if the lease has this node's
//               epoch and the row before has the digest that this node continues from. One inserted row means
//               committed. A leader that was paused, or whose database lost commits, therefore commits nothing.
// batch.ts      the bytes of a round
// replica.ts    a node's copy of one stream: commits writes on the leader, applies rounds on a follower
// snapshots.ts  all rows of a stream after a round, from which a new node starts
// shared-rows.ts  rows with text keys in a stream of their own: the gateway's database
// secrets.ts    key files and keys of disclosures, sealed under the operator's passphrase; never in rounds
//
// What a follower does with a round in memory is in write/follower.ts (logs) and gateway/cluster/ (everything else). The
// design in one paragraph: data enters only at the leader, whose store is a Replica, so that every write of a log and of
// the gateway's database is a round without knowledge of it; it leaves at each node from LevelDB. Roles do not change
// under an open gateway: a node that begins or ends to lead closes its gateway and opens another one on the same copy,
// so no cache, queue, job or key of the earlier role survives, and what the new role knows is what PostgreSQL committed.
// Loads pg only when a database is opened. Server only.

export { ClusterDatabase } from './database.ts';
export type { Leadership, LostRound, LostRounds, StreamPosition, StreamState } from './database.ts';
export { Replica } from './replica.ts';
export type { Follow } from './replica.ts';
export { loadSnapshot, snapshotBytes, writeSnapshot } from './snapshots.ts';
export { Secrets } from './secrets.ts';
export { SharedRows } from './shared-rows.ts';
export type { SharedRow } from './shared-rows.ts';
