// What `actlog fsck` looks at beside the logs: the gateway's databases against what was acknowledged, and the sealed
// disclosures of the logs against the keys in private/. Every sealed text has its key, or the log says that it was
// erased; an erased one has no key any more. Repairs nothing.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isLogError } from '../log/index.ts';
import type { Register } from '../log/index.ts';
import {
  ATTACHED_ROW,
  CORE_ROW,
  openStore,
  PLUGIN_ROW,
  readRowKey,
  rowKey,
} from '../log/operate.ts';
import type { Store } from '../log/operate.ts';
import { GATEWAY_COPY } from '../gateway/cluster/joining.ts';
import { KEY_ID_BYTES, keyRow, privatePlace } from '../gateway/tenants/disclosures.ts';
import { PENDING } from '../gateway/tenants/erase.ts';
import { ERASED } from '../gateway/tenants/erasure.ts';
import { inspectLevel } from '../gateway/tenants/level-care.ts';
import type { Inspected } from '../gateway/tenants/level-care.ts';
import { gatewayPlace } from '../gateway/tenants/store.ts';

/** One difference, in the words of log/fsck. */
export interface DatabaseDifference {
  readonly part: string;
  readonly where: string;
  readonly detail: string;
}

/** What was found in one database of the gateway. */
export interface DatabaseReport {
  readonly database: string;
  readonly folder: string;
  readonly rows: number;
  /** All differences, of which `differences` lists the first thousand. */
  readonly count: number;
  readonly differences: readonly DatabaseDifference[];
  /** What could not be compared. */
  readonly unchecked: readonly string[];
}

/** The logs of one kind, by their folders. */
export interface SealedLogs {
  readonly kind: string;
  readonly folders: readonly string[];
  /** False where one of them does not read: what it says of erasures is not known. */
  readonly whole: boolean;
}

const LISTED = 1000;
const SEALED = 'sealed/';
/** Of an earlier release, which stored the key under the entry's id. */
const OLDER = 'disclosure/';

class Report {
  readonly differences: DatabaseDifference[] = [];
  count = 0;

  add(part: string, where: string, detail: string): void {
    this.count += 1;
    if (this.differences.length < LISTED) this.differences.push({ part, where, detail });
  }
}

/**
 * Checks the gateway's databases of a data folder that no process has open; leaves out those that never were. A
 * backup has no keys of disclosures: where the folder is a `copy` without them, they are reported as not checked.
 */
export async function inspectDatabases(
  data: string,
  register: Register,
  logs: readonly SealedLogs[],
  { copy = false }: { readonly copy?: boolean } = {},
): Promise<readonly DatabaseReport[]> {
  const reports: DatabaseReport[] = [];
  for (const place of [gatewayPlace(register), privatePlace(register)]) {
    const folder = join(data, place.name);
    const report = new Report();
    const unchecked: string[] = [];
    if (copy && place.name === 'private' && !existsSync(folder)) {
      unchecked.push('the keys of disclosures: a backup has none');
      reports.push({ database: place.name, folder, rows: 0, count: 0, differences: [], unchecked });
      continue;
    }
    const inspected = await inspectLevel(folder, place).catch((error: unknown) => {
      if (!isLogError(error) || error.code === 'log_locked') throw error;
      report.add('database', place.name, error.message);
      return null;
    });
    for (const problem of inspected?.problems ?? []) report.add('database', place.name, problem);
    try {
      if (place.name === 'private') {
        for (const { kind, folders, whole } of logs) {
          if (whole) await compareSealed({ kind, folders }, inspected, report);
          else
            unchecked.push(`the keys of disclosures of ${kind}: a log of that kind does not read`);
        }
      }
    } finally {
      await inspected?.close();
    }
    const { count, differences } = report;
    if (inspected === null && count === 0 && unchecked.length === 0) continue;
    reports.push({
      database: place.name,
      folder,
      rows: inspected?.rows ?? 0,
      count,
      differences,
      unchecked,
    });
  }
  return reports;
}

/** Checks the copy that a node has of the gateway's database. What it is a copy of, and the keys, is in PostgreSQL. */
export async function inspectNode(data: string): Promise<readonly DatabaseReport[]> {
  const folder = join(data, GATEWAY_COPY);
  const report = new Report();
  let rows = 0;
  try {
    const store = await openStore(join(folder, 'db'), { compare: true, existing: true });
    try {
      for await (const _ of rowsUnder(store, CORE_ROW, '')) rows += 1;
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!isLogError(error) || error.code === 'log_locked') throw error;
    report.add('database', GATEWAY_COPY, error.message);
  }
  const { count, differences } = report;
  const unchecked = ['the keys of disclosures: the database of the cluster has them'];
  return [{ database: GATEWAY_COPY, folder, rows, count, differences, unchecked }];
}

/** An erasure may be in another log of the kind than the text. */
async function compareSealed(
  { kind, folders }: Omit<SealedLogs, 'whole'>,
  keys: Inspected | null,
  report: Report,
): Promise<void> {
  const erased = new Set<string>();
  const pending = new Set<string>();
  const stores: Store[] = [];
  try {
    for (const folder of folders) {
      const store = await openStore(join(folder, 'db'), { existing: true });
      stores.push(store);
      for await (const [id] of rowsUnder(store, PLUGIN_ROW, ERASED)) erased.add(id);
      for await (const [id] of rowsUnder(store, ATTACHED_ROW, PENDING)) pending.add(id);
    }
    for (const store of stores) {
      for await (const [id, value] of rowsUnder(store, ATTACHED_ROW, SEALED)) {
        compareKey(id, keyRow(value.subarray(0, KEY_ID_BYTES)));
      }
      for await (const [id] of rowsUnder(store, ATTACHED_ROW, OLDER)) compareKey(id, id);
    }
  } catch (error) {
    if (!isLogError(error) || error.code === 'log_locked') throw error;
    report.add('disclosure', kind, `cannot be compared: ${error.message}`);
  } finally {
    for (const store of stores) await store.close();
  }

  function compareKey(id: string, row: string): void {
    const there = keys?.has(row) ?? false;
    if (!there && !erased.has(id)) {
      report.add('disclosure', `${kind} ${id}`, 'has no key, and the log has no erasure of it');
    } else if (there && erased.has(id) && !pending.has(id)) {
      report.add('disclosure', `${kind} ${id}`, 'is erased, and its key is still stored');
    }
  }
}

/** The keys of rows without a prefix, and their values. */
async function* rowsUnder(
  store: Store,
  letter: number,
  prefix: string,
): AsyncGenerator<[string, Uint8Array]> {
  // Row keys are ASCII, so this ends behind every key of the prefix.
  const range = { gte: rowKey(letter, prefix), lt: rowKey(letter, `${prefix}\u007f`) };
  for await (const [key, value] of store.scan(range)) {
    yield [readRowKey(key).slice(prefix.length), value];
  }
}
