// What the simulated log holds: entry types with rows and a meter, tenants, and the names of entities.

import { isLogError } from '../../log/index.ts';
import type { Draft, EntryType, Log, LogErrorCode } from '../../log/index.ts';
import { ACT } from '../log/read/scanned-verdict.ts';

/** Entries of a case, which the type counts; `watch` counts the entries of each tenant, as a meter does. */
export const NOTE: EntryType = {
  name: 'sim.note.v1',
  schema: {
    type: 'object',
    properties: { case_id: { type: 'string' }, n: { type: 'integer' } },
    required: ['case_id', 'n'],
    additionalProperties: false,
  },
  keys: [['sim.case', 'case_id']],
  project: ({ statement }, rows) => count(rows, `sim/case/${statement['case_id'] as string}`),
  watch: {
    project: ({ statement }, rows) => count(rows, `sim/usage/${statement['tenant_ref'] as string}`),
  },
};

function count(
  rows: { get(key: string): unknown; put(key: string, value: number): void },
  key: string,
): void {
  rows.put(key, Number(rows.get(key) ?? 0) + 1);
}

export const TYPES = [NOTE, ACT];
export const TENANTS = [
  'dGVuYW50LWV4YW1wbGUtMQ',
  'dGVuYW50LWV4YW1wbGUtMg',
  'dGVuYW50LWV4YW1wbGUtMw',
];
export const DATA = '/data';

/** Virtual time in which a healthy log must have started, answered or published. */
export const PATIENCE_MS = 120_000;
/** What a client sends with an idempotency key, until it is known to be in the log. */
export interface Once {
  readonly key: number;
  readonly drafts: readonly Draft[];
  readonly first: number;
  state: 'waiting' | 'sent' | 'done';
}

export type Codes = readonly LogErrorCode[];

export const entity = (n: number): string => `e${String(n)}`;

export const all = (log: Log): string[] =>
  Array.from({ length: log.size() }, (_, index) => log.entry(index) ?? '');

export const describe = (error: unknown): string =>
  error instanceof Error
    ? `${isLogError(error) ? `${error.code} ` : ''}${error.stack ?? error.message}${
        error.cause instanceof Error ? `\ncaused by ${error.cause.stack ?? ''}` : ''
      }`
    : String(error);
