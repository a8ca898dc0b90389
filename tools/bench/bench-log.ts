// Logs for measurements: real ones, with declared types whose entries are on the chains that a measurement needs.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog, openThreads } from '../../log/index.ts';
import type { Draft, EntryType, JsonObject, Log, OpenLogOptions } from '../../log/index.ts';

/** Concurrent appends. */
const IN_FLIGHT = 256;

/** Length of a statement, in bytes. */
export const STATEMENT_BYTES = 600;

/** Chains of one entry of the wide type: the maximum of format 1. */
export const WIDE_LINKS = 8;

/** Keys of each kind that odd drafts come back to. */
const POOL = 10_000;

/** The tenant of every entry that a measurement appends. */
export const TENANT = 'bench-bench-bench-benc';
const SIGNATURE_MEMBER_BYTES = 103;

const text = { type: 'string' };
const wide = Array.from({ length: WIDE_LINKS }, (_, i) => `k${String(i)}`);

/** An entry on the chains of its item and its lot, if it names them. */
const ROW: EntryType = {
  name: 'bench.row.v1',
  schema: {
    type: 'object',
    properties: { item: text, lot: text, note: text },
  },
  keys: [
    ['bench.item', 'item'],
    ['bench.lot', 'lot'],
  ],
};

/** An entry on eight chains. */
const WIDE: EntryType = {
  name: 'bench.wide.v1',
  schema: {
    type: 'object',
    properties: Object.fromEntries(wide.map((name) => [name, text])),
  },
  keys: wide.map((name) => [`bench.${name}`, name]),
};

/** A folder that `remove` takes away again. */
export interface TemporaryFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** An open log and how it goes away. */
export interface BenchLog {
  readonly log: Log;
  readonly close: () => Promise<void>;
}

/** Makes a folder under the system's temporary one. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'actlog-bench-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Opens a log for measuring in a folder, with the bench's types declared and its tenant registered. */
export async function openBenchLog(
  data: string,
  options: Partial<OpenLogOptions> = {},
): Promise<BenchLog> {
  const threads = options.threads ?? openThreads();
  const log = await openLog({
    data,
    checkpoints: join(data, 'checkpoints'),
    kind: 'live',
    origin_base: 'bench.example',
    types: [ROW, WIDE],
    ...options,
    threads,
  });
  await log.declare([ROW, WIDE]);
  await log.registerTenant(TENANT, '0'.repeat(64));
  return {
    log,
    close: async () => {
      await log.close();
      await threads.close();
    },
  };
}

const draftOf = (type: EntryType, members: JsonObject): Draft => ({
  type: type.name,
  tenant_ref: TENANT,
  members,
});

/** An entry on one chain, or on two. */
export const rowDraft = (members: { item: string; lot?: string; note?: string }): Draft =>
  draftOf(ROW, members);

/** An entry on eight chains, `<kind>-<name>` each. */
export const wideDraft = (name: string): Draft =>
  draftOf(WIDE, Object.fromEntries(wide.map((kind) => [kind, `${kind}-${name}`])));

/** Drafts of 600 bytes with two links, to fresh keys in every second one; the others' keys exist. */
export async function statements(log: Log): Promise<() => Draft> {
  const padding = await paddingOf(log);
  const note = 'n'.repeat(padding);
  let n = 0;
  const next = (): Draft => {
    n += 1;
    const name = n % 2 === 0 ? `f${String(n)}` : `k${String(((n >> 1) * 7919) % POOL)}`;
    return rowDraft({ item: `i-${name}`, lot: `l-${name}`, note });
  };
  await inFlight(2 * POOL, () => log.append([next()]));
  return next;
}

/** How long `note` must be for a statement of 600 bytes on known chains. */
async function paddingOf(log: Log): Promise<number> {
  const draft = rowDraft({ item: 'i-k1', lot: 'l-k1', note: 'n' });
  await log.append([draft]);
  const [entry] = await log.append([draft]);
  const bytes = Buffer.byteLength(entry?.text ?? '') - SIGNATURE_MEMBER_BYTES;
  return 1 + Math.max(0, STATEMENT_BYTES - bytes);
}

/** Does `count` jobs, 256 at once; answers with jobs per second. */
export async function inFlight(
  count: number,
  job: () => Promise<unknown>,
  width = IN_FLIGHT,
): Promise<number> {
  let left = count;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left > 0) {
        left -= 1;
        await job();
      }
    }),
  );
  return count / ((performance.now() - start) / 1000);
}
