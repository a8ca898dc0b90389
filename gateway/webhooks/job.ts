// The rows of the delivery queue. They are in the database of the log, so that a message commits in the batch of the
// entry that it is about (gateway/API.md §11). No row holds an address, a secret or a caller's text.
//
//   webhook/ready/<host>/<index>/<target>         a job that is sent as soon as its host has room
//   webhook/later/<due ms>/<index>/<target>       a job that failed and is retried at that time
//   webhook/lane/<target>/<trigger_id>/<index>    a job about a trigger, until it ends; sent in the order of entries
//   webhook/dead/<index>/<target>                 a dead letter, until it is replayed or deleted
//   webhook/dead-to/<receiver>/<index>            the same dead letter, for the list of its receiver
//
// A receiver is the id of a subscription, or `url.` and the tenant_ref of the entry whose own address the target is.

import { hash } from 'node:crypto';
import type { AttachedRow } from '../../log/index.ts';

/** The target of the address in the entry's disclosures. Any other target is the id of a subscription. */
export const OWN_ADDRESS = 'url';

/** One message to one receiver. */
export interface Job {
  /** The receiver's host, hashed by `hostOf`. */
  readonly host: string;
  /** The index of the entry. */
  readonly index: number;
  /** `OWN_ADDRESS`, or the id of a subscription. */
  readonly target: string;
  /** The event type, such as `trigger.fired`. */
  readonly type: string;
  /** The number of attempts that have failed. */
  readonly attempts: number;
  /** Messages about one trigger to one subscription are sent in the order of their entries. */
  readonly trigger_id?: string | undefined;
}

/** A message whose last attempt has failed. */
export interface DeadJob extends Job {
  readonly died_at_ms: number;
  /** Why the last attempt failed. */
  readonly reason: string;
}

export const READY = 'webhook/ready/';
export const LATER = 'webhook/later/';
export const DEAD = 'webhook/dead/';
const DEAD_TO = 'webhook/dead-to/';

const HOST_CHARS = 16;

const padded = (n: number): string => String(n).padStart(15, '0');
const encode = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));
const decode = (value: Uint8Array): object =>
  JSON.parse(
    Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1'),
  ) as object;

/** The host of an address: the first 16 hex characters of the SHA-256 of its name, so that rows do not name it. */
export function hostOf(url: string): string {
  return hash('sha256', new URL(url).hostname, 'hex').slice(0, HOST_CHARS);
}

/** Prefix of the ready rows of a host. */
export const readyPrefix = (host: string): string => `${READY}${host}/`;

/** Prefix of the lane of a job, its jobs about the same trigger; null if it is not about a trigger. */
export const lanePrefix = ({
  target,
  trigger_id,
}: Pick<Job, 'target' | 'trigger_id'>): string | null =>
  trigger_id === undefined ? null : `webhook/lane/${target}/${trigger_id}/`;

/** The key of a job's ready row. It identifies the job. */
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

/** Deletes the ready row. The lane row stays, and the job before it in the lane makes it ready again. */
export const noReadyRow = (job: Job): AttachedRow => ({ key: nameOf(job), value: null });

/** Deletes a job from the ready rows and from its lane. */
export function doneRows(job: Job): AttachedRow[] {
  const lane = laneKey(job);
  return lane === null ? [noReadyRow(job)] : [noReadyRow(job), { key: lane, value: null }];
}

/** The rows of a new job. */
export function newRows(job: Job): AttachedRow[] {
  const lane = laneKey(job);
  return lane === null ? [readyRow(job)] : [readyRow(job), { key: lane, value: encode(job) }];
}

/** Moves a job from the ready rows to the delayed ones. */
export function laterRows(job: Job, due_ms: number): AttachedRow[] {
  const { host, type, attempts, trigger_id } = job;
  const value = encode({ host, type, attempts, trigger_id });
  return [noReadyRow(job), { key: laterKey(job, due_ms), value }];
}

/** Moves a delayed job back to the ready rows. */
export const readyAgainRows = (job: Job, due_ms: number): AttachedRow[] => [
  { key: laterKey(job, due_ms), value: null },
  readyRow(job),
];

/** The receiver of a job: its subscription, or the tenant of the entry, which is empty for an entry of the log itself. */
export const receiverOf = (target: string, tenant_ref: string): string =>
  target === OWN_ADDRESS ? `${OWN_ADDRESS}.${tenant_ref}` : target;

const deadKeys = ({ index, target }: DeadJob, tenant_ref: string): readonly string[] => [
  `${DEAD}${padded(index)}/${target}`,
  `${deadToPrefix(receiverOf(target, tenant_ref))}${padded(index)}`,
];

/** The rows of a dead letter about an entry of a tenant. */
export function deadRows(dead: DeadJob, tenant_ref: string): AttachedRow[] {
  const { index: _, ...value } = dead;
  return deadKeys(dead, tenant_ref).map((key) => ({ key, value: encode(value) }));
}

/** Deletes the rows of a dead letter. */
export const noDeadRows = (dead: DeadJob, tenant_ref: string): AttachedRow[] =>
  deadKeys(dead, tenant_ref).map((key) => ({ key, value: null }));

/** Prefix of the dead letters to a receiver. */
export const deadToPrefix = (receiver: string): string => `${DEAD_TO}${receiver}/`;

/** The last key of a receiver's dead letters up to an index. */
export const deadToKey = (receiver: string, index: number): string =>
  deadToPrefix(receiver) + padded(index);

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

/** Reads a delayed row: the job and the time at which it is due. */
export function laterJob([key, value]: readonly [string, Uint8Array]): [Job, number] {
  const [due_ms, index, target = ''] = key.slice(LATER.length).split('/');
  const rest = decode(value) as Pick<Job, 'host' | 'type' | 'attempts' | 'trigger_id'>;
  return [{ ...rest, index: Number(index), target }, Number(due_ms)];
}

/** Reads a lane row: the job as it was before its first attempt. */
export const laneJob = ([, value]: readonly [string, Uint8Array]): Job => decode(value) as Job;

/** Reads a row of a dead letter, of either kind. */
export function deadJob([key, value]: readonly [string, Uint8Array]): DeadJob {
  const [, , first = '', second = ''] = key.split('/');
  const job = decode(value) as Omit<DeadJob, 'index'>;
  return key.startsWith(DEAD)
    ? { ...job, index: Number(first), target: second }
    : { ...job, index: Number(second) };
}
