// The read door of a log, as the host gives it to a plugin.

import type { JsonObject, Log, Published } from '../../log/index.ts';

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
