// What a node of a cluster gives to the gateway that it opens, and what the gateway's requests see of the cluster. Read
// in this order: this file; node.ts, which decides the role of the node, with copies.ts, lost-rounds.ts and waiting.ts;
// joining.ts, how a data folder becomes that of a node; forward.ts, how writes reach the leader; secret-rows.ts and
// key-folder.ts, where secrets are; administration.ts and succession.ts, what operators ask for.

import type { Kind, Register, Replica, Secrets, SharedRows } from '../../log/index.ts';

/** The last round that a node has applied, by stream. */
export type Applied = Readonly<Record<string, number>>;

/** The cluster as the requests of a gateway see it. */
export interface ClusterView {
  readonly role: 'leader' | 'follower';
  /** The address of the leader; null while none is known. */
  leader(): string | null;
  applied(): Applied;
  /** Milliseconds for which this node has lacked rounds of the database, or has not reached it; 0 on the leader. */
  lag_ms(): number;
  /** Waits until this node has applied these rounds, at most a few seconds. */
  reached(applied: Applied): Promise<void>;
  /** The key that authenticates requests between the nodes. */
  readonly forward_key: Uint8Array;
}

/** What the gateway of a node is opened on, in place of databases of its own. */
export interface Membership {
  readonly view: ClusterView;
  readonly register: Register;
  readonly rows: SharedRows;
  readonly secrets: Secrets;
  /** The numbers of the logs of a kind, oldest first. */
  numbers(kind: Kind): readonly number[];
  replica(kind: Kind, number: number): Replica;
  /** Gives new and changed key files to the other nodes, before the keys are used. */
  shareKeys(): Promise<void>;
  /** Called on a node that follows when the leader has changed a row of the gateway's database. */
  rowChanged(key: string): void;
}
