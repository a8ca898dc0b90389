// The scoreboard as a document and as text: the rankings of the catalog, and its nine criteria applied to one entry as a
// third party would apply them. Each criterion is met, not met, or null where this entry cannot show it.

import {
  findEntry,
  native,
  toBase64,
  trustedKeyOf,
  verifyConsistency,
  verifyReceipt,
} from '../contract/index.ts';
import type { CheckName, JsonObject, Kind, LogView, PluginHost } from '../contract/index.ts';

/** How one criterion came out. */
interface Measured {
  readonly met: boolean | null;
  readonly detail: string;
}

/** The ids of the rankings in catalogs/scoreboard.json. */
type Criterion =
  | 'offline_verification'
  | 'log_inclusion'
  | 'append_only'
  | 'key_history'
  | 'witness_cosigning'
  | 'data_minimisation'
  | 'chain_completeness'
  | 'time_order'
  | 'independence';

/** Strings that an entry may have in clear (log/FORMAT.md §2, §3). */
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$/;
/** Members whose grammar is wider: the log's own, and the payment of a bind. */
const OWN_GRAMMAR = ['origin', 'kid', 'payment_hash', 'tenant_ref', 'session_ref'];

/** Applies the criteria to the entry at `index`; `self_assigned` is whose word the grade is. */
async function measure(
  log: LogView,
  index: number,
  self_assigned: boolean,
): Promise<Readonly<Record<Criterion, Measured>>> {
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
  const { size, note, map_head_ms, cosignatures } = await log.covering(index + 1);
  const place = { checkpoint: note, inclusion_proof: log.inclusion(index, size).map(toBase64) };
  const shown = { ...receipt, log: { ...(receipt['log'] as JsonObject), ...place } };
  const { checks } = verifyReceipt(shown, trustOf(log), { suite: native });
  const check = (name: CheckName): Measured => {
    const found = checks.find((one) => one.name === name);
    return { met: found?.outcome === 'ok', detail: found?.detail ?? 'not reached' };
  };
  return {
    offline_verification: check('signature'),
    log_inclusion: check('inclusion'),
    append_only: appendOnly(log, size, note),
    key_history: keyHistory(log, receipt),
    witness_cosigning: {
      met: cosignatures > 0,
      detail: `${String(cosignatures)} witnesses cosigned size ${String(size)}`,
    },
    data_minimisation: minimised(receipt),
    chain_completeness: linked(receipt),
    time_order: inOrder(receipt, map_head_ms),
    independence: self_assigned
      ? { met: false, detail: "the grade is the issuer's own word" }
      : { met: true, detail: 'the grade comes from an assessor' },
  };
}

const trustOf = (log: LogView) => ({
  origin: log.origin,
  vkey: log.vkey,
  keys: log.receiptKeys().map(trustedKeyOf),
});

/** Every published checkpoint ends with a map head, which names the one before it. */
function appendOnly(log: LogView, size: number, note: string): Measured {
  const head = JSON.parse(log.entry(size - 1) ?? '{}') as { prev_map_head?: number | null };
  const before = (head.prev_map_head ?? -1) + 1;
  const older = before === 0 ? null : log.checkpointAt(before);
  if (older === null) return { met: null, detail: 'no checkpoint was published before' };
  const proof = log.consistency(before, size).map(toBase64);
  try {
    verifyConsistency(older, note, proof, trustOf(log), { suite: native });
    return { met: true, detail: `size ${String(before)} is a prefix of size ${String(size)}` };
  } catch (error) {
    return { met: false, detail: (error as Error).message };
  }
}

function keyHistory(log: LogView, receipt: JsonObject): Measured {
  const index = receipt['index'] as number;
  const key = log.receiptKeys().find(({ kid }) => kid === receipt['kid']);
  if (key === undefined) return { met: false, detail: 'the log declares no such key' };
  const counts = key.revoked_index === undefined || index < key.revoked_index;
  const met = key.since_index <= index && counts;
  return { met, detail: `declared at entry ${String(key.since_index)}, ${key.status}` };
}

function minimised(receipt: JsonObject): Measured {
  const derived = ['signature', 'entry_hash', 'permalink', 'verify_url', 'log', 'links'];
  const texts = Object.entries(receipt).filter(
    ([name]) => !derived.includes(name) && !OWN_GRAMMAR.includes(name),
  );
  const free = texts.filter(([, value]) => typeof value === 'string' && !IDENTIFIER.test(value));
  const commitments = Object.keys((receipt['commitments'] ?? {}) as JsonObject).length;
  return free.length === 0
    ? { met: true, detail: `no free text, ${String(commitments)} commitments` }
    : { met: false, detail: `free text in ${free.map(([name]) => name).join(', ')}` };
}

function linked(receipt: JsonObject): Measured {
  const links = (receipt['links'] ?? []) as readonly JsonObject[];
  return links.length === 0
    ? { met: null, detail: 'the entry is on no chain' }
    : { met: true, detail: `linked on ${String(links.length)} chains` };
}

/** The first 48 bits of a UUIDv7 are its time (RFC 9562 §5.7). */
function inOrder(receipt: JsonObject, map_head_ms: number): Measured {
  const issued = receipt['issued_at_ms'] as number;
  const id = receipt['entry_id'] as string;
  const named = Number.parseInt(id.replace('-', '').slice(0, 12), 16);
  return { met: named === issued && issued <= map_head_ms, detail: `issued at ${String(issued)}` };
}

interface Ranking {
  readonly id: Criterion;
  readonly name: string;
  readonly method: string;
  readonly as_of: string;
  readonly evidence: string;
}

/** catalogs/scoreboard.json. */
interface Scoreboard {
  readonly schema: string;
  readonly title: string;
  readonly as_of: string;
  readonly issuer: string;
  readonly grade: string;
  readonly grade_basis: string;
  readonly grades: readonly { readonly grade: string; readonly criteria_met: number }[];
  readonly grade_rule: string;
  readonly disclosure: string;
  readonly rankings: readonly Ranking[];
}

/** What the criteria say of one entry. */
interface Sample {
  readonly entry_id: string;
  readonly found: boolean;
  readonly criteria?: readonly {
    readonly id: Criterion;
    readonly met: boolean | null;
    readonly detail: string;
  }[];
  readonly met?: number;
  readonly of?: number;
  readonly grade?: string;
  readonly verify_url?: string;
}

const fileOf = (host: PluginHost): Scoreboard =>
  host.catalog('scoreboard.json') as unknown as Scoreboard;

/** The scoreboard as JSON. Only assessed issuers are ranked: at present the operator alone, by its own word. */
export function scoreboardDocument(host: PluginHost, sample: Sample | null): object {
  const { rankings, issuer, grade, grade_basis, ...file } = fileOf(host);
  const self_assigned = grade_basis === 'self-assigned';
  return {
    ...file,
    operator: { grade, grade_basis, self_assigned, as_of: file.as_of },
    rankings_count: rankings.length,
    rankings: rankings.map(({ evidence, ...ranking }) => ({
      ...ranking,
      evidence: host.url(evidence),
      entries: [{ rank: 1, issuer, grade, grade_basis, self_assigned }],
    })),
    ...(sample === null ? {} : { sample }),
  };
}

/** Applies the criteria to an entry, by entry_id or entry hash. */
export async function sampleOf(
  host: PluginHost,
  kinds: readonly Kind[],
  entry_id: string,
): Promise<Sample> {
  const found = findEntry(host, kinds, entry_id);
  if (found === null) return { entry_id, found: false };
  const { rankings, grades, grade_basis } = fileOf(host);
  const measured = await measure(found.log, found.index, grade_basis === 'self-assigned');
  const criteria = rankings.map(({ id }) => ({ id, ...measured[id] }));
  const met = criteria.filter((criterion) => criterion.met === true).length;
  const grade = grades.find(({ criteria_met }) => met >= criteria_met)?.grade ?? 'not rated';
  const verify_url = found.log.receipt(found.index)?.['verify_url'] as string;
  return { entry_id, found: true, criteria, met, of: criteria.length, grade, verify_url };
}

/** The scoreboard as plain text. */
export function scoreboardText(host: PluginHost, sample: Sample | null): string {
  const { title, as_of, grade, grade_basis, grade_rule, disclosure, rankings } = fileOf(host);
  const lines = [
    `${title.toUpperCase()}, ${as_of}`,
    '',
    `Operator's grade: ${grade} (${grade_basis})`,
    disclosure,
    grade_rule,
    '',
    ...rankings.flatMap(({ name, method, as_of: dated, evidence }, at) => [
      `${String(at + 1)}. ${name} (${dated})`,
      `   Method: ${method}`,
      `   Evidence: ${host.url(evidence)}`,
      `   1st: the operator, ${grade} (${grade_basis})`,
    ]),
  ];
  return `${[...lines, ...sampleLines(sample)].join('\n')}\n`;
}

function sampleLines(sample: Sample | null): readonly string[] {
  if (sample === null) return [];
  const { entry_id, criteria, met, of, grade } = sample;
  if (criteria === undefined) return ['', `Sample ${entry_id}: the log has no such entry`];
  const word = (is: boolean | null): string => (is === null ? 'NOT SHOWN' : is ? 'MET' : 'NOT MET');
  return [
    '',
    `Sample ${entry_id}: ${String(met)} of ${String(of)} criteria met, ${String(grade)}`,
    ...criteria.map(({ id, met: is, detail }) => `   ${word(is)} ${id}: ${detail}`),
  ];
}
