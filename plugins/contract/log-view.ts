// The read-only interface of a log that the host gives to plugins.

import { hash } from 'node:crypto';
import { canonical, LogError, toBase64 } from '../../log/index.ts';
import type { Json, JsonObject, Log, Published } from '../../log/index.ts';

/** The entry that records that the private values of another entry were destroyed (gateway/API.md §1.2). */
export interface Erasure {
  readonly entry_id: string;
  readonly index: number;
  readonly issued_at_ms: number;
}

/**
 * Reads a log. Names of rows are relative to the plugin: `row('total')` in the plugin `notes` reads the row that its
 * `project` stored as `notes/total`.
 */
export interface LogView extends Pick<
  Log,
  | 'kind'
  | 'number'
  | 'origin'
  | 'vkey'
  | 'size'
  | 'published'
  | 'whenPublished'
  | 'entry'
  | 'indexOfEntry'
  | 'indexOfHash'
  | 'leafHash'
  | 'checkpointAt'
  | 'inclusion'
  | 'consistency'
  | 'rootAt'
  | 'lookup'
  | 'chain'
  | 'absence'
  | 'surfaces'
  | 'manifestOfHash'
  | 'manifests'
  | 'entitiesOf'
  | 'receiptKeys'
  | 'row'
  | 'rows'
> {
  /** The time of the log's first entry; 0 if the log has no predecessor. */
  beganMs(): number;
  /** The erasure of an entry's private values; null if they were not erased. */
  erasure(entry_id: string): Erasure | null;
  /** The public receipt of an entry, without disclosures; null if the log has no such index. */
  receipt(index: number): JsonObject | null;
  /**
   * Resolves with the newest publication as soon as it covers this many entries. Rejects with `log_unavailable` after
   * ten seconds.
   */
  covering(size: number): Promise<Published>;
  /**
   * Resolves when no further entry can get a time of `to_ms` or earlier. Rejects with `window_not_closed` and a
   * Retry-After header if that does not happen within `wait_ms`.
   */
  windowClosed(to_ms: number, wait_ms: number): Promise<void>;
}

/** The parsed entry at an index, including its signature; null at or beyond the acknowledged size. */
export function statementAt(log: Pick<LogView, 'entry'>, index: number): JsonObject | null {
  const text = log.entry(index);
  return text === null ? null : (JSON.parse(text) as JsonObject);
}

/**
 * What a log has of an entry that a row or a chain names.
 *
 * @throws LogError `log_unavailable` for null: only while a log opens its database again after a failed write do its rows
 *   name entries that it does not know yet
 */
export function knownEntry<T>(found: T | null, index: number): T {
  if (found !== null) return found;
  throw new LogError('log_unavailable', `the log does not know entry ${String(index)} yet`);
}

/** The parsed entry at an index that a row or a chain names. Throws like `knownEntry`. */
export const namedStatement = (log: Pick<LogView, 'entry'>, index: number): JsonObject =>
  knownEntry(statementAt(log, index), index);

/** Hex of SHA-256 of the canonical text of a document. */
export const documentHash = (document: JsonObject): string =>
  hash('sha256', canonical(document), 'hex');

/** Shrinks a document by replacing each `{index, entry, path}` with its index; `unpackDocument` restores it. */
export function packDocument(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(packDocument);
  const members = value as JsonObject;
  const { index, entry, path } = members;
  if (typeof index === 'number' && typeof entry === 'string' && Array.isArray(path)) {
    return { opened: index };
  }
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, packDocument(member)]),
  );
}

/** Restores a document of `packDocument`. `size` is that of the document's checkpoint. */
export function unpackDocument(log: LogView, value: Json, size: number): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => unpackDocument(log, item, size));
  const members = value as JsonObject;
  const { opened } = members;
  if (typeof opened === 'number') {
    const entry = knownEntry(log.entry(opened), opened);
    return { entry, index: opened, path: log.inclusion(opened, size).map(toBase64) };
  }
  const restored = Object.entries(members).map(([name, member]) => [
    name,
    unpackDocument(log, member, size),
  ]);
  return Object.fromEntries(restored) as JsonObject;
}
