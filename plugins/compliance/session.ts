// Reads all entries of a chain in a window up to one map head, and counts their evidence in one pass. The chain is that
// of a session or of an entity that represents a system. The log's absence document on the chain proves that no entry
// is left out. log/FORMAT.md §6; gateway/API.md §12.
//
// Memory does not grow with the length of the chain, only with the number of its incidents.

import { ApiError, countOf, namedStatement, RightEdge, toHex } from '../contract/index.ts';
import type { ChainKey, JsonObject, Link, LogView } from '../contract/index.ts';
import { isEvent } from './entries.ts';

/** The entries that support a statement of a report. */
export interface Evidence {
  readonly count: number;
  readonly first_entry_id: string | null;
  readonly last_entry_id: string | null;
  /** The first entries, at most MAX_IDS. */
  readonly entry_ids: readonly string[];
}

/** Largest number of entry ids in one piece of evidence. `count` includes all. */
const MAX_IDS = 20;

/** Largest number of names in one count; further names are counted as OTHERS. */
const MAX_NAMES = 100;
const OTHERS = 'others';

/** The results of a classification, in the order of the interface. */
const RESULTS = ['SAFE', 'VIOLATION', 'CRISIS', 'ERROR'] as const;

/** An incident, or a report of one, in the order of the log. */
export interface IncidentEvent {
  readonly entry_id: string;
  /** The claimed time of the event, else that of the log. */
  readonly at_ms: number;
  readonly kind: string | null;
  /** The entry that it refers to. */
  readonly about: string | null;
}

const NONE: Evidence = { count: 0, first_entry_id: null, last_entry_id: null, entry_ids: [] };

/** Counts by name, in the order of their first entries. */
class Names {
  readonly #counts = new Map<string, number>();

  add(name: unknown): void {
    if (typeof name !== 'string' && typeof name !== 'number') return;
    const known = this.#counts.has(String(name)) || this.#counts.size < MAX_NAMES;
    const counted = known ? String(name) : OTHERS;
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }

  all(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}

/** The counts over the entries of a chain. */
export class Tally {
  readonly types = new Names();
  readonly events = new Names();
  readonly domains = new Names();
  readonly models = new Names();
  readonly policies = new Names();
  readonly classifications: Record<string, number> = Object.fromEntries(
    RESULTS.map((result) => [result, 0]),
  );
  readonly annex_iii_points = new Set<string>();
  readonly incidents: IncidentEvent[] = [];
  readonly incident_reports: IncidentEvent[] = [];
  count = 0;
  first_ms: number | null = null;
  last_ms: number | null = null;
  /** Names of selectors by signal. */
  readonly #selected = new Map<string, string[]>();
  readonly #evidence = new Map<string, Evidence & { entry_ids: string[] }>();

  /** @param selectors names, each with the signals that are its evidence */
  constructor(selectors: ReadonlyMap<string, readonly string[]>) {
    for (const [name, signals] of selectors) {
      for (const signal of signals) {
        this.#selected.set(signal, [...(this.#selected.get(signal) ?? []), name]);
      }
    }
  }

  /** Counts the next entry; `erased` is true if its disclosures were destroyed. */
  add(statement: JsonObject, erased: boolean): void {
    const ms = statement['issued_at_ms'] as number;
    const entry_id = statement['entry_id'] as string;
    this.count += 1;
    this.first_ms ??= ms;
    this.last_ms = ms;
    this.#countNames(statement);
    if (isEvent(statement['type'])) this.#addEvent(statement, entry_id, ms);
    const names = new Set<string>();
    for (const signal of signalsOf(statement, erased)) {
      for (const name of this.#selected.get(signal) ?? []) names.add(name);
    }
    for (const name of names) this.#note(name, entry_id);
  }

  /** The entries that have a signal of a selector. */
  evidence(name: string): Evidence {
    return this.#evidence.get(name) ?? NONE;
  }

  #note(name: string, entry_id: string): void {
    const { count, first_entry_id, entry_ids } = this.#evidence.get(name) ?? {
      ...NONE,
      entry_ids: [],
    };
    if (count < MAX_IDS) entry_ids.push(entry_id);
    this.#evidence.set(name, {
      count: count + 1,
      first_entry_id: first_entry_id ?? entry_id,
      last_entry_id: entry_id,
      entry_ids,
    });
  }

  #countNames(statement: JsonObject): void {
    const { type, domain, classification, classifier, policy_version } = statement;
    this.types.add(type);
    this.domains.add(domain);
    if (policy_version !== 0) this.policies.add(policy_version);
    const known =
      typeof classification === 'string' ? this.classifications[classification] : undefined;
    if (known !== undefined) this.classifications[classification as string] = known + 1;
    const { id, version } = (classifier ?? {}) as {
      readonly id?: string;
      readonly version?: string;
    };
    if (id !== undefined && version !== undefined) this.models.add(`${id} ${version}`);
  }

  #addEvent(statement: JsonObject, entry_id: string, ms: number): void {
    const { event_type, event_at_ms, incident_kind = null, annex_iii_point } = statement;
    const { decision_entry_id = null } = statement;
    this.events.add(event_type);
    if (typeof annex_iii_point === 'string') this.annex_iii_points.add(annex_iii_point);
    const at_ms = typeof event_at_ms === 'number' ? event_at_ms : ms;
    const kind = incident_kind as string | null;
    const about = decision_entry_id as string | null;
    if (event_type === 'incident') this.incidents.push({ entry_id, at_ms, kind, about });
    if (event_type === 'incident_reported') {
      this.incident_reports.push({ entry_id, at_ms, kind, about });
    }
  }
}

/** The signals of an entry, by their names in the catalogs. */
function signalsOf(statement: JsonObject, erased: boolean): string[] {
  const { action, classification, outcome, decision, metadata_names, policy_version } = statement;
  const type = statement['type'] as string;
  // All versions of a type give the same signal.
  const kind = `type:${type.replace(/\.v[0-9]+$/u, '')}`;
  const signals = ['entry', kind];
  if (typeof action === 'string') signals.push(`${kind}+${action}`);
  if (typeof classification === 'string') signals.push(`classification:${classification}`);
  if (typeof outcome === 'string') signals.push(`outcome:${outcome}`);
  if (typeof decision === 'string') signals.push(`decision:${decision}`);
  // Policy version 0 means that the gate had no policy.
  if (policy_version !== undefined && policy_version !== 0) signals.push('policy');
  if (statement['commitments'] !== undefined) signals.push('commitments');
  if (erased) signals.push('erased');
  if (!isEvent(type)) return signals;
  const event = `event:${statement['event_type'] as string}`;
  signals.push(event);
  for (const name of (metadata_names ?? []) as readonly string[]) {
    signals.push(`metadata:${name}`, `${event}+${name}`);
  }
  return signals;
}

/** Entries of a session that are read at a cost of 1. */
export const ENTRIES_PER_COST = 300;
/** Entries read in one call; other requests are served between the calls. */
const PAGE = 250;
/** Largest number of entries in the completeness proof. */
const MAX_SHOWN = 100;
/** Number of leaves after which the right edge's completed tiles are dropped. */
const TILE = 256;
const ATTEMPTS = 5;

/** The part of a chain in a window that ends at a map head or before. */
export interface ReadChain {
  readonly key: ChainKey;
  readonly from_ms: number;
  /** End of the part that was read: the end of the window, or the time of the map head if that is earlier. */
  readonly to_ms: number;
  readonly tally: Tally;
  /** Hex; RFC 6962 root over the entries, oldest first: the leaf hashes are their entry hashes. */
  readonly entries_root: string;
  /**
   * The absence document on the chain, with its last entries, at most MAX_SHOWN. Its proof states how many entries the
   * chain has.
   */
  readonly completeness: JsonObject;
  /**
   * A document that shows the place of the window's first entry on the chain. Null if `completeness` shows that entry,
   * or if the window begins with the chain.
   */
  readonly opening: JsonObject | null;
}

/** A window of log time; a missing end means that of the log. */
export interface Window {
  readonly from_ms?: number;
  readonly to_ms?: number;
}

/** Reads the published part of a chain; `log_unavailable` if the log does not publish. */
export async function readChain(
  log: LogView,
  key: ChainKey,
  selectors: ReadonlyMap<string, readonly string[]>,
  window: Window = {},
): Promise<ReadChain> {
  const { from_ms = 0 } = window;
  let wanted = log.size();
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { size, map_head_ms } = await log.covering(wanted);
    const to_ms = Math.min(window.to_ms ?? map_head_ms, map_head_ms);
    if (to_ms < from_ms) {
      throw new ApiError(
        'parameter_invalid',
        'the period begins after the newest entry of the log',
        {
          param: 'from_ms',
        },
      );
    }
    const { tally, root, shown_from_ms } = await passOver(log, key, { from_ms, to_ms }, selectors);
    // The last millisecond has more entries than a document shows. The next map head has a later time.
    if (shown_from_ms > to_ms) {
      if (window.to_ms !== undefined && window.to_ms <= map_head_ms) {
        const message = `more than ${String(MAX_SHOWN)} entries have the last millisecond of the period`;
        throw new ApiError('parameter_invalid', message, { param: 'to_ms' });
      }
      wanted = size + 1;
      continue;
    }
    const completeness = await log.lookup(
      { key, from_ms: shown_from_ms, to_ms },
      { limit: MAX_SHOWN },
    );
    const isOpened = from_ms > 0 && shown_from_ms > from_ms;
    const opening = isOpened ? await log.lookup({ key, from_ms, to_ms }, { limit: 1 }) : null;
    if (
      from_ms === 0
        ? countOf(completeness, key) !== tally.count
        : countOf(completeness, key) - firstSeq(opening ?? completeness, key) !== tally.count
    ) {
      throw new Error('the entries of a chain and the count in its proof disagree');
    }
    const entries_root = toHex(root);
    return { key, from_ms, to_ms, tally, entries_root, completeness, opening };
  }
  throw new ApiError('log_busy', 'the session grows faster than it can be read: try again');
}

/** The chain sequence number of the first entry in a document; if it has none, the length of the chain. */
function firstSeq(document: JsonObject, key: ChainKey): number {
  const [first] = (document['entries'] ?? []) as unknown as readonly { readonly entry: string }[];
  if (first === undefined) return countOf(document, key);
  const { links } = JSON.parse(first.entry) as { readonly links: readonly Link[] };
  const link = links.find((one) => one.key.join(' ') === key.join(' '));
  if (link === undefined) throw new Error('an entry of a chain has no link of it');
  return link.seq;
}

async function passOver(
  log: LogView,
  key: ChainKey,
  window: { readonly from_ms: number; readonly to_ms: number },
  selectors: ReadonlyMap<string, readonly string[]>,
): Promise<{ tally: Tally; root: Uint8Array; shown_from_ms: number }> {
  const tally = new Tally(selectors);
  const edge = new RightEdge();
  const last: number[] = [];
  for (let after: number | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const rows = await log.chain({ key, ...window }, page);
    for (const { index, ms } of rows) {
      const statement = namedStatement(log, index);
      const committed = statement['commitments'] !== undefined;
      tally.add(statement, committed && log.erasure(statement['entry_id'] as string) !== null);
      edge.append(log.leafHash(index));
      if (edge.size % TILE === 0) edge.takeDirty();
      last.push(ms);
      if (last.length > MAX_SHOWN + 1) last.shift();
    }
    after = rows.at(-1)?.index;
    if (rows.length < PAGE || after === undefined) break;
  }
  const [oldest = 0] = last;
  const shown_from_ms = tally.count <= MAX_SHOWN ? window.from_ms : oldest + 1;
  return { tally, root: edge.root(), shown_from_ms };
}

/** The receipt of an entry with its inclusion proof. Waits for a checkpoint that covers the entry. */
export async function placedReceipt(log: LogView, index: number): Promise<JsonObject> {
  const { size, note } = await log.covering(index + 1);
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
  const inclusion_proof = log
    .inclusion(index, size)
    .map((hash) => Buffer.from(hash).toString('base64'));
  const place = { origin: log.origin, index, checkpoint: note, inclusion_proof };
  return { ...receipt, log: place };
}
