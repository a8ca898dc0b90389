// The read door of a log, as the host gives it to a plugin.

import { hash } from 'node:crypto';
import { canonical, toBase64 } from '../../log/index.ts';
import type { Json, JsonObject, Log, Published } from '../../log/index.ts';

/** That the texts behind an entry were destroyed, by the entry that says so (gateway/API.md §1.2). */
export interface Erasure {
  readonly entry_id: string;
  readonly index: number;
  readonly issued_at_ms: number;
}

/**
 * The read door of a log. Rows are those under the plugin's own prefix: `row('total')` of the plugin
 * `notes` is what its `project` put at `notes/total`.
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
  /** When the time of this log begins: that of its first entry, and 0 where no log precedes it. */
  beganMs(): number;
  /** The erasure of what an entry committed to; null where nothing was erased. */
  erasure(entry_id: string): Erasure | null;
  /** The receipt of an entry as the world sees it, without disclosures; null beyond the log. */
  receipt(index: number): JsonObject | null;
  /**
   * The newest publication once it covers so many entries, at once where it does; `log_unavailable` when the log
   * publishes none within ten seconds.
   */
  covering(size: number): Promise<Published>;
  /**
   * Resolves when nothing more can come into a window that ends at `to_ms`; `window_not_closed` with a
   * Retry-After when that is not within `wait_ms`.
   */
  windowClosed(to_ms: number, wait_ms: number): Promise<void>;
}

/** The entry at an index, its signature with it; null beyond the acknowledged size. */
export function statementAt(log: Pick<LogView, 'entry'>, index: number): JsonObject | null {
  const text = log.entry(index);
  return text === null ? null : (JSON.parse(text) as JsonObject);
}

/** The same of an entry that a chain or a row names: that it is missing is a defect. */
export function namedStatement(log: Pick<LogView, 'entry'>, index: number): JsonObject {
  const statement = statementAt(log, index);
  if (statement === null) throw new Error(`entry ${String(index)} is missing`);
  return statement;
}

/** Hex of SHA-256 of the canonical text of a document. */
export const documentHash = (document: JsonObject): string =>
  hash('sha256', canonical(document), 'hex');

/** A document in which each opened entry is only its index: the log has the rest. */
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

/** The document again, under the size of its checkpoint. */
export function unpackDocument(log: LogView, value: Json, size: number): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => unpackDocument(log, item, size));
  const members = value as JsonObject;
  const { opened } = members;
  if (typeof opened === 'number') {
    const entry = log.entry(opened);
    if (entry === null) throw new Error(`entry ${String(opened)} of a document is missing`);
    return { entry, index: opened, path: log.inclusion(opened, size).map(toBase64) };
  }
  const restored = Object.entries(members).map(([name, member]) => [
    name,
    unpackDocument(log, member, size),
  ]);
  return Object.fromEntries(restored) as JsonObject;
}
