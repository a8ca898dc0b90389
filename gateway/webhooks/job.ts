// The queue's rows. They stand in the log's own database, beside the entries, so that a message commits in the
// batch of the entry that it is about (gateway/API.md §11). No row holds an address, a secret or a caller's text.
//
//   webhook/ready/<host>/<index>/<target>             to be tried, as soon as its host has room
//   webhook/later/<due ms>/<index>/<target>           to be tried again at its time
//   webhook/lane/<target>/<trigger_id>/<index>        what of one trigger is not done yet, in the order of entries
//   webhook/dead/<index>/<target>                     what was given up, until it is replayed or forgotten

import { hash } from 'node:crypto';
import type { AttachedRow } from '../../log/index.ts';

/** The address that an entry itself commits to; any other target is the id of a subscription. */
export const OWN_ADDRESS = 'url';

/** One message to one receiver. */
export interface Job {
  /** Which host it goes to: see `hostOf`. Who answers slowly keeps only its own messages waiting. */
  readonly host: string;
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
export interface DeadJob extends Job {
  readonly died_at_ms: number;
  /** What the last attempt ended with. */
  readonly reason: string;
}

export const READY = 'webhook/ready/';
export const LATER = 'webhook/later/';
export const DEAD = 'webhook/dead/';

const HOST_CHARS = 16;

const padded = (n: number): string => String(n).padStart(15, '0');
const encode = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));
const decode = (value: Uint8Array): object =>
  JSON.parse(
    Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1'),
  ) as object;

/** The host of an address, as 16 hex characters of its hash: a row names nobody. */
export function hostOf(url: string): string {
  return hash('sha256', new URL(url).hostname, 'hex').slice(0, HOST_CHARS);
}

/** Prefix of the ready rows of a host. */
export const readyPrefix = (host: string): string => `${READY}${host}/`;

/** Prefix of the lane of a job; null when it has none. */
export const lanePrefix = ({
  target,
  trigger_id,
}: Pick<Job, 'target' | 'trigger_id'>): string | null =>
  trigger_id === undefined ? null : `webhook/lane/${target}/${trigger_id}/`;

/** The key of a job's ready row; it names the job. */
export const nameOf = ({ host, index, target }: Job): string =>
  `${readyPrefix(host)}${padded(index)}/${target}`;

const laterKey = ({ index, target }: Job, due_ms: number): string =>
  `${LATER}${padded(due_ms)}/${padded(index)}/${target}`;

const laneKey = (job: Pick<Job, 'target' | 'trigger_id' | 'index'>): string | null => {
  const prefix = lanePrefix(job);
  return prefix === null ? null : prefix + padded(job.index);
};

/** The ready row of a job. */
export function readyRow(job: Job): AttachedRow {
  const { type, attempts, trigger_id } = job;
  return { key: nameOf(job), value: encode({ type, attempts, trigger_id }) };
}

/** Takes the ready row away. Where the job has a lane it stays there, and the one before it will find it. */
export const noReadyRow = (job: Job): AttachedRow => ({ key: nameOf(job), value: null });

/** Takes a job from where it is ready, and from its lane. */
export function doneRows(job: Job): AttachedRow[] {
  const lane = laneKey(job);
  return lane === null ? [noReadyRow(job)] : [noReadyRow(job), { key: lane, value: null }];
}

/** The rows of a job that is new. */
export function newRows(job: Job): AttachedRow[] {
  const lane = laneKey(job);
  return lane === null ? [readyRow(job)] : [readyRow(job), { key: lane, value: encode(job) }];
}

/** Puts a job off that was ready. */
export function laterRows(job: Job, due_ms: number): AttachedRow[] {
  const { host, type, attempts, trigger_id } = job;
  const value = encode({ host, type, attempts, trigger_id });
  return [noReadyRow(job), { key: laterKey(job, due_ms), value }];
}

/** Makes a job ready that was put off. */
export const readyAgainRows = (job: Job, due_ms: number): AttachedRow[] => [
  { key: laterKey(job, due_ms), value: null },
  readyRow(job),
];

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

/** The host of a ready row. */
export const hostOfReady = (key: string): string =>
  key.slice(READY.length, READY.length + HOST_CHARS);

/** Reads a ready row. */
export function readyJob([key, value]: readonly [string, Uint8Array]): Job {
  const [host = '', index, target = ''] = key.slice(READY.length).split('/');
  const rest = decode(value) as Pick<Job, 'type' | 'attempts' | 'trigger_id'>;
  return { ...rest, host, index: Number(index), target };
}

/** Reads a row of a job that was put off, with its time. */
export function laterJob([key, value]: readonly [string, Uint8Array]): [Job, number] {
  const [due_ms, index, target = ''] = key.slice(LATER.length).split('/');
  const rest = decode(value) as Pick<Job, 'host' | 'type' | 'attempts' | 'trigger_id'>;
  return [{ ...rest, index: Number(index), target }, Number(due_ms)];
}

/** Reads a lane row: the job as it was when it was new. */
export const laneJob = ([, value]: readonly [string, Uint8Array]): Job => decode(value) as Job;

/** Reads a dead row. */
export function deadJob([key, value]: readonly [string, Uint8Array]): DeadJob {
  const [index, target = ''] = key.slice(DEAD.length).split('/');
  return { ...(decode(value) as Omit<DeadJob, 'index' | 'target'>), index: Number(index), target };
}
