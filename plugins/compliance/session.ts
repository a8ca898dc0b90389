// Reads all entries of a session, page by page, up to one map head, and counts in one pass what they evidence. The
// document of the log on the session's chain proves offline that none is left out. log/FORMAT.md §6; gateway/API.md §12.
//
// Memory does not grow with the session, except for its incidents.

import { ApiError, countOf, RightEdge, toHex } from '../contract/index.ts';
import type { ChainKey, JsonObject, LogView } from '../contract/index.ts';
import { EVENT } from './entries.ts';

/** The entries behind a statement of a report. */
export interface Evidence {
  readonly count: number;
  readonly first_entry_id: string | null;
  readonly last_entry_id: string | null;
  /** The first ones, at most MAX_IDS of them. */
  readonly entry_ids: readonly string[];
}

/** Most entry ids that one piece of evidence names; it counts all. */
const MAX_IDS = 20;

/** Most names of one count; what comes later is counted under OTHERS. */
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
  /** The entry that it is about. */
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

/** What the entries of a session come to. */
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
  /** Names of the selectors that a signal belongs to. */
  readonly #selected = new Map<string, string[]>();
  readonly #evidence = new Map<string, Evidence & { entry_ids: string[] }>();

  /** `selectors`: names, each with the signals of entries that are its evidence. */
  constructor(selectors: ReadonlyMap<string, readonly string[]>) {
    for (const [name, signals] of selectors) {
      for (const signal of signals) {
        this.#selected.set(signal, [...(this.#selected.get(signal) ?? []), name]);
      }
    }
  }

  /** Takes the next entry of the session; `erased` when its disclosures were destroyed. */
  add(statement: JsonObject, erased: boolean): void {
    const ms = statement['issued_at_ms'] as number;
    const entry_id = statement['entry_id'] as string;
    this.count += 1;
    this.first_ms ??= ms;
    this.last_ms = ms;
    this.#countNames(statement);
    if (statement['type'] === EVENT) this.#addEvent(statement, entry_id, ms);
    const names = new Set<string>();
    for (const signal of signalsOf(statement, erased)) {
      for (const name of this.#selected.get(signal) ?? []) names.add(name);
    }
    for (const name of names) this.#note(name, entry_id);
  }

  /** The entries that a selector found. */
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

/** What an entry shows, as the catalogs name it. */
function signalsOf(statement: JsonObject, erased: boolean): string[] {
  const { classification, outcome, decision, metadata_names, policy_version } = statement;
  const type = statement['type'] as string;
  const signals = ['entry', `type:${type}`];
  if (typeof classification === 'string') signals.push(`classification:${classification}`);
  if (typeof outcome === 'string') signals.push(`outcome:${outcome}`);
  if (typeof decision === 'string') signals.push(`decision:${decision}`);
  // 0 is a gate without a policy.
  if (policy_version !== undefined && policy_version !== 0) signals.push('policy');
  if (statement['commitments'] !== undefined) signals.push('commitments');
  if (erased) signals.push('erased');
  if (type !== EVENT) return signals;
  const event = `event:${statement['event_type'] as string}`;
  signals.push(event);
  for (const name of (metadata_names ?? []) as readonly string[]) {
    signals.push(`metadata:${name}`, `${event}+${name}`);
  }
  return signals;
}

/** Entries read at a stretch: other requests come between. */
const PAGE = 250;
/** Entries that one document shows. */
const MAX_SHOWN = 100;
/** Leaves after which the full tiles are let go. */
const TILE = 256;
const ATTEMPTS = 5;

/** A session up to a map head. */
export interface ReadSession {
  readonly key: ChainKey;
  readonly session_ref: string;
  /** Time of the map head: everything up to it was read. */
  readonly to_ms: number;
  readonly tally: Tally;
  /** Hex; RFC 6962 root over the entries, oldest first: the leaf hashes are their entry hashes. */
  readonly entries_root: string;
  /**
   * The chain's closing proof under `checkpoint`, and the last entries before it: all of them up to
   * MAX_SHOWN. What closes it says how many entries the session has.
   */
  readonly completeness: JsonObject;
}

/** Reads what of a session is published; `log_unavailable` where the log does not publish. */
export async function readSession(
  log: LogView,
  session_ref: string,
  selectors: ReadonlyMap<string, readonly string[]>,
): Promise<ReadSession> {
  const key: ChainKey = ['session', session_ref];
  let wanted = log.size();
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { size, map_head_ms: to_ms } = await log.covering(wanted);
    const { tally, root, shown_from_ms } = await passOver(log, key, to_ms, selectors);
    // More entries of the last millisecond than a document shows: the next map head is later than they.
    if (shown_from_ms > to_ms) {
      wanted = size + 1;
      continue;
    }
    const question = { key, from_ms: shown_from_ms, to_ms };
    const completeness = await log.lookup(question, { limit: MAX_SHOWN });
    if (countOf(completeness, key) !== tally.count) {
      throw new Error('a session read and its closing proof do not agree');
    }
    return { key, session_ref, to_ms, tally, entries_root: toHex(root), completeness };
  }
  throw new ApiError('log_busy', 'the session grows faster than it can be read: try again');
}

async function passOver(
  log: LogView,
  key: ChainKey,
  to_ms: number,
  selectors: ReadonlyMap<string, readonly string[]>,
): Promise<{ tally: Tally; root: Uint8Array; shown_from_ms: number }> {
  const tally = new Tally(selectors);
  const edge = new RightEdge();
  const last: number[] = [];
  for (let after: number | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const rows = await log.chain({ key, from_ms: 0, to_ms }, page);
    for (const { index, ms } of rows) {
      const text = log.entry(index);
      if (text === null) throw new Error(`entry ${String(index)} of a chain is missing`);
      const statement = JSON.parse(text) as JsonObject;
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
  const shown_from_ms = tally.count <= MAX_SHOWN ? 0 : oldest + 1;
  return { tally, root: edge.root(), shown_from_ms };
}

/** The receipt of an entry with its place under a checkpoint, which it waits for. */
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
