// Carrying a plugin's state into the successor of a closed log: the `carry` hook, and the entry type that it writes.
// gateway/carry.ts runs the hooks when it opens a successor, before the successor accepts any other entry.
//
// A plugin's rows are projected from one log only. State that must outlive the log (what a tenant owns, owes or is
// limited to) is therefore appended to the successor: each entry `<plugin>.carried.v<N>` holds one item and names the
// entry of an earlier log that is its source. Projecting it writes the same rows as in the closed log, so a replay of
// the successor alone rebuilds them. A reader of both logs can compare each item with its source entry.

import { Type } from 'typebox';
import type { Static, TObject, TSchema } from 'typebox';
import type { Draft, Json, JsonObject, RowWriter, Sequenced } from '../../log/index.ts';
import type { LogView } from './log-view.ts';
import { asSchema, EntryId, Hex32, SafeCount } from './schemas.ts';
import { sentenceOf } from './sentences.ts';
import type { EntryType } from './sentences.ts';

/** One item that a plugin's `carry` hook yields. */
export interface Carry {
  /** Which of the plugin's carried kinds it is. */
  readonly what: string;
  /** Name of a row that projecting the item writes. If the successor already has the row, the item is skipped. */
  readonly row: string;
  /** The tenant that owns the item; absent if it belongs to no tenant. */
  readonly tenant_ref?: string;
  /** The member `value` of the entry, by the schema of its kind. */
  readonly value: JsonObject;
  /**
   * Index of the source entry. The default is the last entry of the closed log, which fits a sum over many entries.
   */
  readonly index?: number;
  /** Number of the source entry's log, if the closed log had itself received the item from an earlier log. */
  readonly log_number?: number | undefined;
  /** Entries of other types that repeat the item in the successor. They precede it in its group. */
  readonly drafts?: readonly Draft[];
}

/** The source of a carried item: the number of a log, and an entry of that log. */
export interface RestsOn {
  readonly log_number: number;
  readonly index: number;
  /** Absent, like the hash, if the service no longer serves that log. */
  readonly entry_id?: string;
  /** Leaf hash of the entry, in hex. */
  readonly leaf_hash?: string;
}

/** A carried item, as its `project` function receives it. */
export interface Carried<V> {
  readonly value: V;
  readonly rests_on: RestsOn;
  /** Empty if the item belongs to no tenant. */
  readonly tenant_ref: string;
}

/** A kind of carried items: the schema of its `value`, and the rows that an item writes. */
export interface CarriedKind {
  readonly schema: TObject;
  readonly project: (carried: Carried<JsonObject>, rows: RowWriter) => void;
}

/** Infers the types of a kind from its schema. `project` writes the rows that the closed log had. */
export function carriedKind<V extends TObject>(
  schema: V,
  project: (carried: Carried<Static<V>>, rows: RowWriter) => void = () => undefined,
): CarriedKind {
  return { schema, project: project as CarriedKind['project'] };
}

/** Name of a plugin's entry type for carried items. */
const carriedTypeName = (plugin: string, version: number): string =>
  `${plugin}.carried.v${String(version)}`;

/**
 * Name of the newest entry type `<plugin>.carried.v<N>` of a plugin, which new items use. The older ones only project
 * the items of earlier releases. Undefined if the plugin has none.
 */
export function carriedName(
  plugin: string,
  types: readonly Pick<EntryType, 'name'>[],
): string | undefined {
  const prefix = `${plugin}.carried.v`;
  const versions = types
    .map(({ name }) => (name.startsWith(prefix) ? Number(name.slice(prefix.length)) : 0))
    .filter((version) => version > 0);
  return versions.length === 0 ? undefined : carriedTypeName(plugin, Math.max(...versions));
}

const RestsOnMembers = Type.Object(
  {
    log_number: { ...SafeCount, minimum: 1 },
    index: SafeCount,
    entry_id: Type.Optional(EntryId),
    leaf_hash: Type.Optional(Hex32),
  },
  { additionalProperties: false },
);

/**
 * The entry type `<plugin>.carried.v<version>`, which a plugin with a `carry` hook must list among its types. Changed
 * kinds need a new version; the plugin then lists the older type as well.
 */
export function carriedType(
  plugin: string,
  kinds: Readonly<Record<string, CarriedKind>>,
  version = 1,
): EntryType {
  const schemas: TSchema[] = Object.values(kinds).map(({ schema }) => schema);
  const members = Type.Object(
    {
      what: Type.Enum(Object.keys(kinds)),
      rests_on: RestsOnMembers,
      value: Type.Union(schemas),
    },
    { additionalProperties: false },
  );
  return {
    name: carriedTypeName(plugin, version),
    schema: asSchema(members),
    keys: [],
    sentence: sentenceOf<{ readonly what: string; readonly rests_on: RestsOn }>(
      ({ what, rests_on: { index, log_number } }) =>
        `A ${what} of the layer ${plugin} was carried over from entry ${index} of log number ${log_number}.`,
    ),
    project({ statement }: Sequenced, rows: RowWriter): void {
      const { what, value, rests_on, tenant_ref = '' } = statement;
      kinds[what as string]?.project(
        {
          value: value as JsonObject,
          rests_on: rests_on as unknown as RestsOn,
          tenant_ref: tenant_ref as string,
        },
        rows,
      );
    },
  };
}

/** The place of an entry as a row stores it: its index, and the number of its log. */
export interface CarriedPlace {
  readonly index: number;
  /** Absent if the entry is in the log that has the row. */
  readonly log_number?: number;
}

/** The log of a place; `own` is the log that has the row. Null if the service does not serve that log. */
export function logOfPlace(
  logs: readonly LogView[],
  own: LogView,
  { log_number }: Pick<CarriedPlace, 'log_number'>,
): LogView | null {
  if (log_number === undefined) return own;
  return logs.find(({ number }) => number === log_number) ?? null;
}

/** The part of `RouteState` that `answerWithPlace` uses. */
interface Answering {
  answerWith(indexes: readonly number[], log?: { readonly number: number }): Promise<void>;
}

/** Answers with the entry at a place and the next `more` entries of the same log. */
export async function answerWithPlace(
  ctx: { readonly state: Answering },
  { index, log_number }: CarriedPlace,
  more = 0,
): Promise<void> {
  const indexes = Array.from({ length: 1 + more }, (_, i) => index + i);
  await ctx.state.answerWith(
    indexes,
    log_number === undefined ? undefined : { number: log_number },
  );
}

/** Yields the rows of a prefix in order, reading a page at a time. The log must be closed, so that no row changes. */
export async function* eachRow(
  log: LogView,
  prefix: string,
): AsyncGenerator<readonly [string, Json]> {
  const limit = 1000;
  for (let after: string | undefined; ;) {
    const rows = await log.rows(prefix, { limit, ...(after === undefined ? {} : { after }) });
    yield* rows;
    after = rows.at(-1)?.[0];
    if (rows.length < limit) return;
  }
}

/** The time at which a closed log ended: that of its last map head. */
export const endedMs = (log: LogView): number => log.published().map_head_ms;
