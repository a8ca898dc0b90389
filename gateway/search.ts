// The search index of the logs: which entries have a type, an entity, an outcome or a rule. It is a database of its own
// in the data folder (`search/`), derived from the published entries alone. It is no part of what the service
// acknowledges: without it, or when it is damaged or of another log, it is made anew while the service runs.
//
// The index follows the logs with a delay of about a second, in small steps, so that appending does not wait for it.
// A search reads the entries that the index does not have yet. gateway/API.md §13.

import { rm } from 'node:fs/promises';
import { ClassicLevel } from 'classic-level';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { readEntry, toHex } from '../log/index.ts';
import type { Json, JsonObject, Log } from '../log/index.ts';
import { every } from './host/every.ts';
import { unavailable } from './tenants/level-rows.ts';

/** What can be searched. */
export const FACETS = ['type', 'outcome', 'entity', 'tenant', 'rule'] as const;

/** One of `FACETS`. */
export type Facet = (typeof FACETS)[number];

/** What a search asks for: entries that have all of these, in a part of the log. */
export interface SearchQuery {
  readonly facets: Partial<Readonly<Record<Facet, string>>>;
  /** Only entries below this index. */
  readonly before: number;
  /** Only entries from this index on. */
  readonly from: number;
  readonly limit: number;
}

/** The found indexes, newest first. */
export interface SearchResult {
  readonly indexes: readonly number[];
  /** Where to go on; null at the end. */
  readonly before: number | null;
}

const STEP_MS = 1000;
/** Entries that one step reads, and those that it reads without letting requests in between. */
const STEP_ENTRIES = 5000;
/** At most 256, because a row has an index as its distance from the first one, in one byte. */
const SLICE_ENTRIES = 200;
/** The form of the rows. An index of another form is made anew. */
const FORM = 2;
/** Entries that a search compares for one page; the next page goes on there. */
const REACH = 5000;
/** Longest value that is indexed. */
const MAX_VALUE = 256;
const MAX_RULES = 32;
/** Values of a facet that a page lists. */
const MAX_VALUES = 40;

/** Members that say what came of an act, in this order. An entry has the first that is there as its outcome. */
const OUTCOME_MEMBERS = ['outcome', 'decision', 'verdict', 'classification'] as const;
/** Members that name rules. */
const RULE_MEMBERS = ['rule_ids', 'classification_rule_ids', 'reasons', 'reason_code'] as const;

/** The outcome of an entry, such as DENY; null if it has none. */
export function outcomeOf(statement: JsonObject): string | null {
  for (const name of OUTCOME_MEMBERS) {
    const value = statement[name];
    if (typeof value === 'string') return value;
  }
  return null;
}

/** The rules and reasons that an entry names; `rule:no-wires` is the rule `no-wires`. */
export function rulesOf(statement: JsonObject): readonly string[] {
  const named = RULE_MEMBERS.flatMap((name): readonly (Json | undefined)[] => {
    const value = statement[name];
    return Array.isArray(value) ? (value as readonly Json[]) : [value];
  });
  const rules = named.filter((rule): rule is string => typeof rule === 'string');
  return [...new Set(rules.map((rule) => rule.replace(/^rule:/, '')))].slice(0, MAX_RULES);
}

function valuesOf(statement: JsonObject): readonly (readonly [Facet, string])[] {
  const { type, entity, tenant_ref } = statement;
  const outcome = outcomeOf(statement);
  const values: (readonly [Facet, string])[] = [['type', type as string]];
  if (typeof entity === 'string') values.push(['entity', entity]);
  if (typeof tenant_ref === 'string') values.push(['tenant', tenant_ref]);
  if (outcome !== null) values.push(['outcome', outcome]);
  for (const rule of rulesOf(statement)) values.push(['rule', rule]);
  return values.filter(([, value]) => value.length <= MAX_VALUE && value.isWellFormed());
}

/**
 * Keys sort by log, facet, value and index. Values come from entries, so the separator is escaped in them. One row lists
 * the entries of a slice that have the value: its key has the index of the first one, its bytes have their distances from it.
 */
const rowPrefix = (log: Log, facet: Facet, value: string): string =>
  `${log.kind}/${String(log.number)}/${facet}/${encodeURIComponent(value).replaceAll('~', '%7E')}/`;
const indexText = (index: number): string => String(index).padStart(16, '0');
const BYTES = { valueEncoding: 'view' } as const;
/** Sorts behind every index and behind every escaped value. */
const BEHIND = '~';

/** The place up to which a log is indexed, and the leaf hash of the entry before it. */
interface Mark {
  readonly form: number;
  readonly next: number;
  readonly leaf: string;
}

/** The open index. */
export class SearchIndex {
  readonly #folder: string;
  readonly #logger: Logger;
  #db: ClassicLevel;
  readonly #next = new Map<Log, number>();
  readonly #values = new LRUCache<string, readonly string[]>({ max: 64, ttl: 10_000 });

  private constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
    this.#db = new ClassicLevel(folder);
  }

  /**
   * Opens the index of these logs. One that cannot be opened, or that is of other logs, is deleted and begun anew.
   *
   * @throws LogError `log_unavailable` if the disk takes none
   */
  static async open(folder: string, logs: readonly Log[], logger: Logger): Promise<SearchIndex> {
    const index = new SearchIndex(folder, logger);
    try {
      await index.#db.open();
      for (const log of logs) index.#next.set(log, await index.#marked(log));
    } catch (err) {
      logger.warn({ err }, 'the search index is made anew');
      await index.#anew(logs);
    }
    return index;
  }

  /** Follows the logs until `close`. */
  start(clock: { uptimeMs(): number }): { close(): Promise<void> } {
    const stop = new AbortController();
    const ended = every(clock, STEP_MS, stop.signal, async () => {
      try {
        await this.#step(stop.signal);
      } catch (err) {
        this.#logger.warn({ err }, 'the search index is behind');
      }
    });
    return {
      async close() {
        stop.abort();
        await ended;
      },
    };
  }

  close(): Promise<void> {
    return this.#db.close();
  }

  /** Number of entries of a log that are indexed. */
  indexed(log: Log): number {
    return this.#next.get(log) ?? 0;
  }

  /** Indexes what was published; one call reads at most `STEP_ENTRIES` of each log. */
  async #step(signal: AbortSignal): Promise<void> {
    for (const [log, begin] of this.#next) {
      const end = Math.min(log.published().size, begin + STEP_ENTRIES);
      for (let next = begin; next < end && !signal.aborted; next = this.indexed(log)) {
        await this.#slice(log, next, Math.min(end, next + SLICE_ENTRIES));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  async #slice(log: Log, begin: number, end: number): Promise<void> {
    const found = new Map<string, { readonly key: string; readonly indexes: number[] }>();
    for (let index = begin; index < end; index += 1) {
      // The signature is no facet, so it may stay among the members.
      const members = JSON.parse(log.entry(index) ?? '') as JsonObject;
      for (const [facet, value] of valuesOf(members)) {
        const name = `${facet}/${value}`;
        const row = found.get(name);
        if (row !== undefined) row.indexes.push(index);
        else {
          const key = rowPrefix(log, facet, value) + indexText(index);
          found.set(name, { key, indexes: [index] });
        }
      }
    }
    const rows = this.#db.batch();
    for (const { key, indexes } of found.values()) {
      const [first = 0] = indexes;
      rows.put(
        key,
        Uint8Array.from(indexes, (index) => index - first),
        BYTES,
      );
    }
    const mark: Mark = { form: FORM, next: end, leaf: toHex(log.leafHash(end - 1)) };
    rows.put(markKey(log), JSON.stringify(mark));
    await rows.write();
    this.#next.set(log, end);
  }

  /** The place up to which this very log is indexed. Throws if the index is of another one. */
  async #marked(log: Log): Promise<number> {
    const text = await this.#db.get(markKey(log));
    if (text === undefined) return 0;
    const { form, next, leaf } = JSON.parse(text) as Mark;
    if (form !== FORM) throw new Error('the search index has the form of an earlier release');
    if (next <= log.size() && toHex(log.leafHash(next - 1)) === leaf) return next;
    throw new Error(`the search index is not of this ${log.origin}`);
  }

  async #anew(logs: readonly Log[]): Promise<void> {
    try {
      await this.#db.close();
      await rm(this.#folder, { recursive: true, force: true });
      this.#db = new ClassicLevel(this.#folder);
      await this.#db.open();
    } catch (cause) {
      throw unavailable(this.#folder, cause);
    }
    for (const log of logs) this.#next.set(log, 0);
  }

  /** The published entries that a query asks for. */
  async search(log: Log, { facets, before, from, limit }: SearchQuery): Promise<SearchResult> {
    const asked = FACETS.flatMap((facet) => {
      const value = facets[facet];
      return value === undefined ? [] : [[facet, value] as const];
    });
    const has = (index: number, tests: typeof asked): boolean => {
      if (tests.length === 0) return true;
      const values = valuesOf(statementAt(log, index));
      return tests.every(([facet, value]) =>
        values.some(([name, held]) => name === facet && held === value),
      );
    };
    const indexes: number[] = [];
    let read = 0;
    let index = Math.min(before, log.published().size) - 1;
    const indexed = this.indexed(log);
    // The entries that the index does not have yet; all of them, if no facet is asked for.
    const scanned = asked.length === 0 ? from : Math.max(from, indexed);
    for (; index >= scanned && indexes.length < limit && read < REACH; index -= 1) {
      read += 1;
      if (has(index, asked)) indexes.push(index);
    }
    if (indexes.length === limit || read === REACH) {
      return { indexes, before: index < from ? null : index + 1 };
    }
    if (asked.length === 0 || index < from) return { indexes, before: null };
    // The rarest facets come last in FACETS, and a rule is rarer than a type.
    const [rarest = ['type', ''] as const, ...others] = asked.toReversed();
    for await (const at of this.#indexed(rowPrefix(log, ...rarest), from, index)) {
      if (indexes.length === limit || read >= REACH) return { indexes, before: at + 1 };
      read += 1;
      if (has(at, others)) indexes.push(at);
    }
    return { indexes, before: null };
  }

  /** The indexes in the rows of a prefix, from `last` down to `from`. */
  async *#indexed(prefix: string, from: number, last: number): AsyncGenerator<number> {
    const range = { gte: prefix, lt: prefix + indexText(last + 1), reverse: true };
    for await (const [key, distances] of this.#db.iterator<string, Uint8Array>({
      ...range,
      ...BYTES,
    })) {
      const first = Number(key.slice(prefix.length));
      for (const distance of distances.toReversed()) {
        const at = first + distance;
        if (at < from) return;
        if (at <= last) yield at;
      }
    }
  }

  /** The values of a facet that entries of a log have, in their order, up to `MAX_VALUES`. Cached for ten seconds. */
  async values(log: Log, facet: Facet): Promise<readonly string[]> {
    const base = `${log.kind}/${String(log.number)}/${facet}/`;
    const known = this.#values.get(base);
    if (known !== undefined) return known;
    const values: string[] = [];
    let gte = base;
    while (values.length < MAX_VALUES) {
      const [key] = await this.#db.keys({ gte, lt: base + BEHIND, limit: 1 }).all();
      if (key === undefined) break;
      const escaped = key.slice(base.length, key.lastIndexOf('/'));
      values.push(decodeURIComponent(escaped));
      gte = `${base}${escaped}/${BEHIND}`;
    }
    this.#values.set(base, values);
    return values;
  }
}

const markKey = ({ kind, number }: Log): string => `!${kind}/${String(number)}`;

/** The statement of an entry below the published size. */
export const statementAt = (log: Log, index: number): JsonObject =>
  readEntry(log.entry(index) ?? '').statement;

/** The first published index whose log time is `ms` or later. Log times never decrease. */
export function firstSince(log: Log, ms: number): number {
  let [low, high] = [0, log.published().size];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((statementAt(log, middle)['issued_at_ms'] as number) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
