// The queue's rows. They stand in the log's own database, beside the entries, so that a message commits in the
// batch of the entry that it is about (behaviour.md §11). No row holds an address, a secret or a caller's text.
//
//   webhook/due/<shard>/<due ms>/<index>/<target>     when it is tried next
//   webhook/lane/<target>/<trigger_id>/<index>        what of one trigger is not done yet, in the order of entries
//   webhook/dead/<index>/<target>                     what was given up, until it is replayed or forgotten

import { hash } from 'node:crypto';
import type { AttachedRow } from '../../log/index.ts';

/** The address that an entry itself commits to; any other target is the id of a subscription. */
export const OWN_ADDRESS = 'url';

/**
 * Jobs of one host stand in one shard, chosen by its hash: whoever answers slowly keeps only its shard waiting, and
 * memory does not grow with the number of hosts.
 */
export const SHARDS = 64;

/** One message to one receiver. */
export interface Job {
  readonly shard: number;
  readonly due_ms: number;
  /** Of the entry. */
  readonly index: number;
  readonly target: string;
  readonly type: string;
  /** How often it was tried. */
  readonly attempts: number;
  /** Messages of one trigger to one subscription go out in the order of their entries. */
  readonly trigger_id?: string;
}

/** A message that was given up. */
export interface DeadJob extends Omit<Job, 'due_ms'> {
  readonly died_at_ms: number;
  /** What the last attempt ended with. */
  readonly reason: string;
}

export const DUE = 'webhook/due/';
export const DEAD = 'webhook/dead/';

const padded = (n: number): string => String(n).padStart(15, '0');
const encode = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));
const decode = (value: Uint8Array): object => JSON.parse(Buffer.from(value).toString()) as object;

/** The shard of an address. */
export function shardOf(url: string): number {
  const { hostname } = new URL(url);
  return Number.parseInt(hash('sha256', hostname, 'hex').slice(0, 4), 16) % SHARDS;
}

/** Prefix of the due rows of a shard. */
export const duePrefix = (shard: number): string => `${DUE}${String(shard).padStart(2, '0')}/`;

/** Prefix of the lane of a job; null when it has none. */
export const lanePrefix = ({
  target,
  trigger_id,
}: Pick<Job, 'target' | 'trigger_id'>): string | null =>
  trigger_id === undefined ? null : `webhook/lane/${target}/${trigger_id}/`;

const dueKey = ({ shard, due_ms, index, target }: Job): string =>
  `${duePrefix(shard)}${padded(due_ms)}/${padded(index)}/${target}`;

const laneKey = (job: Pick<Job, 'target' | 'trigger_id' | 'index'>): string | null => {
  const prefix = lanePrefix(job);
  return prefix === null ? null : prefix + padded(job.index);
};

/** The due row of a job. */
export function dueRow(job: Job): AttachedRow {
  const { type, attempts, trigger_id } = job;
  return { key: dueKey(job), value: encode({ type, attempts, trigger_id }) };
}

/** Takes a job from where it waits, and from its lane. */
export function doneRows(job: Job): AttachedRow[] {
  const lane = laneKey(job);
  const due = { key: dueKey(job), value: null };
  return lane === null ? [due] : [due, { key: lane, value: null }];
}

/** The rows of a job that is new. */
export function newRows(job: Job): AttachedRow[] {
  const lane = laneKey(job);
  return lane === null ? [dueRow(job)] : [dueRow(job), { key: lane, value: encode(job) }];
}

/** Takes the due row away and leaves the job in its lane, where the one before it will find it. */
export const parkedRows = (job: Job): AttachedRow[] => [{ key: dueKey(job), value: null }];

/** The row of a message that is given up. */
export function deadRow(dead: DeadJob): AttachedRow {
  const { index, target, ...rest } = dead;
  return { key: `${DEAD}${padded(index)}/${target}`, value: encode(rest) };
}

/** Deletes the row of a message that was given up. */
export const noDeadRow = ({ index, target }: DeadJob): AttachedRow => ({
  key: `${DEAD}${padded(index)}/${target}`,
  value: null,
});

/** Prefix of the dead rows of an entry. */
export const deadPrefix = (index: number): string => `${DEAD}${padded(index)}/`;

/** Reads a due row. */
export function dueJob([key, value]: readonly [string, Uint8Array]): Job {
  const [shard, due_ms, index, target = ''] = key.slice(DUE.length).split('/');
  const rest = decode(value) as Pick<Job, 'type' | 'attempts' | 'trigger_id'>;
  return { ...rest, shard: Number(shard), due_ms: Number(due_ms), index: Number(index), target };
}

/** Reads a lane row: the job as it was when it was new. */
export const laneJob = ([, value]: readonly [string, Uint8Array]): Job => decode(value) as Job;

/** Reads a dead row. */
export function deadJob([key, value]: readonly [string, Uint8Array]): DeadJob {
  const [index, target = ''] = key.slice(DEAD.length).split('/');
  return { ...(decode(value) as Omit<DeadJob, 'index' | 'target'>), index: Number(index), target };
}
