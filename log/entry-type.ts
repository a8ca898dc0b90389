// What a plugin brings for an entry type: its declaration, and which rows follow from entries.
// log/FORMAT.md §2.4, §3.3.

import type { Json, JsonObject } from './encoding/json-types.ts';
import type { Sequenced } from './types.ts';

/** Plugin rows as of the entry before, also inside a batch. Keys are `<plugin>/<rest>`. */
export interface RowReader {
  get(key: string): Json | undefined;
}

/** What `project` writes; only rows of the plugin that declared the type. */
export interface RowWriter extends RowReader {
  put(key: string, value: Json): void;
  del(key: string): void;
}

/** How a plugin follows the entries of all tenants, whatever their type: for meters and limits. */
export interface Watch {
  /**
   * Pure: writes the plugin's own rows in the entry's own batch, after the `project` of the entry's type,
   * so that a replay rebuilds them. Watches run in the order of the names of their types.
   */
  readonly project: (entry: Sequenced, rows: RowWriter) => void;
  /**
   * Refuses a group by throwing, at the sequence point of each of its entries. Only for entries that are
   * appended now: what stands in the log is never asked again.
   */
  readonly admit?: (entry: Sequenced, rows: RowReader) => void;
}

/** An entry type of a plugin: its declaration in the log and how it changes the plugin's rows. */
export interface EntryType {
  /** `<plugin>.<word>.v<N>`. */
  readonly name: string;
  /** JSON Schema 2020-12 of the members beside the common ones. */
  readonly schema: JsonObject;
  /** Extra chain templates `[kind, member, …]`; kind is `<plugin>.<word>`. */
  readonly keys: readonly (readonly string[])[];
  /** Pure: writes the plugin's rows in the entry's own batch, so that a replay rebuilds them. */
  readonly project?: (entry: Sequenced, rows: RowWriter) => void;
  /**
   * The form of the rows that `project` and `watch` write; 1 unless given. A release that writes other rows for the
   * same entries raises it: a database with rows of the form before does not open until `actlog reindex` has
   * rebuilt them.
   */
  readonly row_form?: number;
  /**
   * Follows every entry of a tenant behind this type's declaration, built-in ones too. One type of a
   * plugin has it, in one version: another would see each entry again.
   */
  readonly watch?: Watch;
}
