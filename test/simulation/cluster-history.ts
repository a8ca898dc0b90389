// What the database of a cluster has committed, and the copies of the nodes against it.

import { decodeBatch } from '../../log/cluster/batch.ts';
import { ENTRY, META, metaKey, readIndex, ROUND } from '../../log/store/layout.ts';
import type { Acknowledged } from './cluster-gateway.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { RoundRow } from './world/postgres-tables.ts';
import { Broken } from './world/world.ts';

const LOG = 'live-1';

/** The folder of the copy of each stream in a data folder. */
export const COPIES: Readonly<Record<string, string>> = {
  gateway: 'gateway-copy',
  'live-1': 'live/1',
};

export class ClusterHistory {
  /** Every round that was ever committed, by stream, number and digest. */
  readonly #rounds = new Map<string, RoundRow>();
  /** The rounds in the database: their digest by stream and number. */
  readonly #present = new Map<string, string>();
  /** Rounds that were lost at some time. */
  readonly #before = new Set<string>();
  /** Entries that were ever in a committed round. */
  readonly #entries = new Set<string>();
  /** Rounds that an asynchronous standby lacked, and that nobody has given back. */
  lost: readonly RoundRow[] = [];
  /** Rounds that were committed in place of lost ones. */
  conflicts = 0;
  commits = 0;

  committed(rounds: readonly RoundRow[]): void {
    for (const round of rounds) {
      const digest = round.digest.toString('hex');
      const at = `${round.stream}/${String(round.seq)}`;
      const before = this.#present.get(at);
      if (before !== undefined && before !== digest) {
        throw new Broken('round replaced', `${at} is committed with another digest`);
      }
      this.#present.set(at, digest);
      this.#rounds.set(`${at}/${digest}`, round);
      const replaced = this.lost.some(
        ({ stream, seq }) => stream === round.stream && seq === round.seq,
      );
      this.lost = this.lost.filter((one) => one.digest.compare(round.digest) !== 0);
      if (replaced && !this.#wasLost(round)) this.conflicts += 1;
      this.commits += 1;
      if (round.stream !== LOG) continue;
      for (const write of decodeBatch(round.batch)) {
        if (write.type !== 'put' || write.key[0] !== ENTRY) continue;
        this.#entries.add(`${String(readIndex(write.key))} ${Buffer.from(write.value).toString()}`);
      }
    }
  }

  /** Whether a round that is committed now was committed before and lost. */
  #wasLost({ stream, seq, digest }: RoundRow): boolean {
    return this.#before.has(`${stream}/${String(seq)}/${digest.toString('hex')}`);
  }

  /** A standby without these rounds has become the database. */
  lose(rounds: readonly RoundRow[]): void {
    for (const { stream, seq } of rounds) this.#present.delete(`${stream}/${String(seq)}`);
    this.lost = [...this.lost, ...rounds];
    for (const { stream, seq, digest } of rounds) {
      this.#before.add(`${stream}/${String(seq)}/${digest.toString('hex')}`);
    }
  }

  /** Whether the database has a round. */
  has({ stream, seq, digest }: RoundRow): boolean {
    return this.#present.get(`${stream}/${String(seq)}`) === digest.toString('hex');
  }

  /** What clients are told is in a committed round. */
  checkAcknowledged(entries: readonly Acknowledged[]): void {
    for (const { index, text } of entries) {
      if (!this.#entries.has(`${String(index)} ${text}`)) {
        throw new Broken('acknowledged before the commit', `entry ${String(index)}`);
      }
    }
  }

  /** Whether the copies of a node are at rounds that the database has, or has trimmed. */
  contains(node: ClusterNode): boolean {
    return Object.entries(COPIES).every(([stream, folder]) => {
      const { seq, digest } = positionOf(node, folder) ?? { seq: 0, digest: '' };
      return seq === 0 || this.#present.get(`${stream}/${String(seq)}`) === digest;
    });
  }

  /** The copies of a node are at rounds that were committed. */
  checkPositions(node: ClusterNode): void {
    for (const [stream, folder] of Object.entries(COPIES)) {
      const position = positionOf(node, folder);
      if (position === null || position.seq === 0) continue;
      const at = `${stream}/${String(position.seq)}/${position.digest}`;
      if (!this.#rounds.has(at)) throw new Broken('copy', `${node.name} is at ${at}`);
    }
  }
}

/** The position of a copy on its disk; null if it has none. */
export function positionOf(
  node: ClusterNode,
  folder: string,
): { readonly seq: number; readonly digest: string } | null {
  const row = node.databases
    .at(`${node.data}/${folder}/db`)
    .get(Buffer.from(metaKey('round')).toString('latin1'));
  if (row === undefined) return null;
  const text = row.toString();
  const [, seq, digest] = /"seq":(\d+),"digest":"([0-9a-f]{64})"/.exec(text) ?? [];
  return seq === undefined || digest === undefined ? null : { seq: Number(seq), digest };
}

/** The rows of a copy without those that are the node's own. */
export function rowsOf(node: ClusterNode, folder: string): ReadonlyMap<string, string> {
  const rows = new Map<string, string>();
  const meta = String.fromCharCode(META);
  for (const [letter, own] of node.databases.at(`${node.data}/${folder}/db`).rows) {
    if (letter.charCodeAt(0) === ROUND) continue;
    for (const [key, value] of own) {
      if (letter === meta && /(?:round|version)$/.test(key)) continue;
      rows.set(key, value.toString('latin1'));
    }
  }
  return rows;
}
