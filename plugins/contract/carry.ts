// What a plugin takes over into a log that follows another one: the hook, and the entry type that it writes.
// gateway/carry.ts runs the hooks when a successor is opened, before it takes any other entry.
//
// A plugin's state is a function of one log. What a tenant owns, owes or is limited to therefore enters the
// successor as entries of it: each `<plugin>.carried.v1` says one thing and names the entry of the earlier log that
// it rests on, and its projection writes the same rows there. A replay of the successor alone rebuilds them, and
// who has both logs checks each value against the entry that it names.

import { Type } from 'typebox';
import type { Static, TObject, TSchema } from 'typebox';
import type { Draft, EntryType, Json, JsonObject, RowWriter, Sequenced } from '../../log/index.ts';
import type { LogView } from './log-view.ts';
import { asSchema, EntryId, Hex32, SafeCount } from './schemas.ts';

/** One thing that goes over, as a plugin's `carry` hands it to the gateway. */
export interface Carry {
  /** Which of the plugin's carried kinds it is. */
  readonly what: string;
  /** A row that carrying it writes, as the plugin reads it. Where the successor has the row, it was carried before. */
  readonly row: string;
  /** Whose it is; absent where it is no tenant's. */
  readonly tenant_ref?: string;
  /** What the entry says of it, by the schema of its kind. */
  readonly value: JsonObject;
  /**
   * Index of the entry that it rests on; the last entry of the closed log unless given, which a sum over many
   * entries rests on.
   */
  readonly index?: number;
  /** The log of that entry, where the closed log itself had the thing from an earlier one. */
  readonly log_number?: number | undefined;
  /** Entries of other types that say the same in the successor; they stand before it in its group. */
  readonly drafts?: readonly Draft[];
}

/** Where a carried thing comes from: the log by its number, and the entry there. */
export interface RestsOn {
  readonly log_number: number;
  readonly index: number;
  /** Absent, as the hash is, where that log is not served any more. */
  readonly entry_id?: string;
  /** Leaf hash of the entry, in hex. */
  readonly leaf_hash?: string;
}

/** A carried thing as its projection gets it. */
export interface Carried<V> {
  readonly value: V;
  readonly rests_on: RestsOn;
  /** Empty where it is no tenant's. */
  readonly tenant_ref: string;
}

/** A kind of carried things: what its entries say, and which rows follow. */
export interface CarriedKind {
  readonly schema: TObject;
  readonly project: (carried: Carried<JsonObject>, rows: RowWriter) => void;
}

/** Types a kind by its own schema. `project` writes the rows that the closed log had. */
export function carriedKind<V extends TObject>(
  schema: V,
  project: (carried: Carried<Static<V>>, rows: RowWriter) => void = () => undefined,
): CarriedKind {
  return { schema, project: project as CarriedKind['project'] };
}

/** Name of an entry type by which a plugin carries. */
const carriedTypeName = (plugin: string, version: number): string =>
  `${plugin}.carried.v${String(version)}`;

/**
 * Name of the entry type by which a plugin carries now: the newest `<plugin>.carried.v<N>` among its types. The older
 * ones only project what earlier releases carried. Undefined where the plugin has none.
 */
export function carriedName(plugin: string, types: readonly EntryType[]): string | undefined {
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
 * `<plugin>.carried.v<version>`: the type that a plugin with a `carry` hook lists among its types. A change of the kinds
 * is a new version; the plugin then lists the older type too.
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

/** The place of a carried thing as rows keep it: an index, and the number of the log that it is an index of. */
export interface CarriedPlace {
  readonly index: number;
  /** Absent where the index is one of the log that has the row. */
  readonly log_number?: number;
}

/** The log that a row's index is of; `own` is the log that has the row. Null where that log is not served. */
export function logOfPlace(
  logs: readonly LogView[],
  own: LogView,
  { log_number }: Pick<CarriedPlace, 'log_number'>,
): LogView | null {
  if (log_number === undefined) return own;
  return logs.find(({ number }) => number === log_number) ?? null;
}

/** What answers with entries that stand already: a request's state (contract.ts). */
interface Answering {
  answerWith(indexes: readonly number[], log?: { readonly number: number }): Promise<void>;
}

/** Answers with the entry at a row's place, and `more` entries behind it, of the log that the place is of. */
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

/** Rows of a prefix in their order, a page at a time; the closed log that is carried from does not change. */
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

/** The time at which a closed log ended: that of the map head behind its last entry. */
export const endedMs = (log: LogView): number => log.published().map_head_ms;
