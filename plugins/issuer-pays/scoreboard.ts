// The scoreboard as a document and as text: the rankings of the catalog, and its nine criteria applied to one entry as
// a third party would apply them. Each criterion is met, not met, or null where this entry cannot show it. A grade is
// the number of criteria that are met; the operator, who grades itself, claims one and never shows a better one than
// that.

import type { Static } from 'typebox';
import {
  findEntry,
  namedStatement,
  native,
  toBase64,
  trustedKeyOf,
  verifyConsistency,
  verifyReceipt,
} from '../contract/index.ts';
import type { CheckName, JsonObject, Kind, LogView, PluginHost } from '../contract/index.ts';
import type { ListingShown } from './listings.ts';

/** The result of one criterion. */
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

/** Grammar of the strings that an entry may have in clear text (log/FORMAT.md §2, §3). */
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$/;
/** Members with a wider grammar: those of the log, and the payment of a bind. */
const OWN_GRAMMAR = ['origin', 'kid', 'payment_hash', 'tenant_ref', 'session_ref'];

/** Applies the criteria to the entry at `index`. `self_assigned` states whether the issuer graded itself. */
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

/** Finds the previous checkpoint: every published checkpoint ends with a map head, which names the previous one. */
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

/** The results of the criteria for one entry, and the resulting grade. */
interface Graded {
  readonly entry_id: string;
  readonly criteria: readonly ({ readonly id: Criterion } & Measured)[];
  readonly met: number;
  readonly of: number;
  readonly grade: string;
  readonly verify_url: string;
}

/** The results for the entry that the request named, which may not exist. */
type Sample =
  (Graded & { readonly found: true }) | { readonly entry_id: string; readonly found: false };

/** The parts of the scoreboard that are not in its file. */
interface Shown {
  /** Results for the newest published entry of a tenant in the live log; null if there is none. */
  readonly live: Graded | null;
  readonly sample: Sample | null;
  readonly listings: readonly Static<typeof ListingShown>[];
}

/** Grade if no criterion was applied. */
const NOT_RATED = 'not rated';
/** Number of newest entries that are searched for one of a tenant; few entries are not of a tenant. */
const LOOKED_AT = 1000;

const fileOf = (host: PluginHost): Scoreboard =>
  host.catalog('scoreboard.json') as unknown as Scoreboard;

/** The lower of the operator's claimed grade and the grade of the live sample. */
function operatorGrade({ grade, grades }: Scoreboard, live: Graded | null): string {
  if (live === null) return NOT_RATED;
  const rank = (name: string): number => grades.findIndex((one) => one.grade === name);
  return rank(live.grade) >= 0 && rank(live.grade) <= rank(grade) ? grade : live.grade;
}

/** The scoreboard as JSON. Only assessed issuers are ranked; at present that is the operator, which grades itself. */
export function scoreboardDocument(host: PluginHost, { live, sample, listings }: Shown): object {
  const { rankings, issuer, grade: claimed_grade, grade_basis, ...file } = fileOf(host);
  const self_assigned = grade_basis === 'self-assigned';
  const grade = operatorGrade(fileOf(host), live);
  const as_of = new Date(host.now()).toISOString().slice(0, 10);
  const row = { rank: 1, issuer, grade, grade_basis, self_assigned };
  return {
    ...file,
    operator: { grade, claimed_grade, grade_basis, self_assigned, as_of, live_sample: live },
    rankings_count: rankings.length,
    rankings: rankings.map(({ evidence, ...ranking }) => {
      const { met = null, detail = NO_SAMPLE } = criterionOf(live, ranking.id) ?? {};
      return { ...ranking, evidence: host.url(evidence), entries: [{ ...row, met, detail }] };
    }),
    listings,
    listings_url: host.url('/api/v1/issuer-pays/listings'),
    ...(sample === null ? {} : { sample }),
  };
}

const NO_SAMPLE = 'the live log has no published entry of a tenant';

const criterionOf = (live: Graded | null, criterion: Criterion): Measured | undefined =>
  live?.criteria.find(({ id }) => id === criterion);

/** Applies the criteria to an entry, by entry_id or entry hash. */
export async function sampleOf(
  host: PluginHost,
  kinds: readonly Kind[],
  entry_id: string,
): Promise<Sample> {
  const found = findEntry(host, kinds, entry_id);
  if (found === null) return { entry_id, found: false };
  return { ...(await graded(host, found.log, found.index)), entry_id, found: true };
}

/** Applies the criteria to the newest published entry of a tenant in the live log. */
export async function liveSample(host: PluginHost): Promise<Graded | null> {
  const log = host.log('live');
  const newest = log.published().size - 1;
  for (let index = newest; index >= 0 && index > newest - LOOKED_AT; index--) {
    const { type, tenant_ref } = namedStatement(log, index) as Readonly<Record<string, string>>;
    if (tenant_ref !== undefined && type !== 'log.tenant.v1') return graded(host, log, index);
  }
  return null;
}

async function graded(host: PluginHost, log: LogView, index: number): Promise<Graded> {
  const { rankings, grades, grade_basis } = fileOf(host);
  const measured = await measure(log, index, grade_basis === 'self-assigned');
  const criteria = rankings.map(({ id }) => ({ id, ...measured[id] }));
  const met = criteria.filter((criterion) => criterion.met === true).length;
  const grade = grades.find(({ criteria_met }) => met >= criteria_met)?.grade ?? NOT_RATED;
  const { entry_id, verify_url } = log.receipt(index) as Readonly<Record<string, string>>;
  return {
    ...{ entry_id: entry_id ?? '', criteria, met, of: criteria.length, grade },
    verify_url: verify_url ?? '',
  };
}

/** The scoreboard as plain text. */
export function scoreboardText(host: PluginHost, { live, sample, listings }: Shown): string {
  const file = fileOf(host);
  const { title, as_of, grade: claimed, grade_basis, grade_rule, disclosure, rankings } = file;
  const grade = operatorGrade(file, live);
  const lines = [
    `${title.toUpperCase()}, ${as_of}`,
    '',
    `Operator's grade: ${grade} (${grade_basis}; it claims ${claimed})`,
    disclosure,
    grade_rule,
    '',
    ...rankings.flatMap(({ id, name, method, as_of: dated, evidence }, at) => {
      const { met = null, detail = NO_SAMPLE } = criterionOf(live, id) ?? {};
      return [
        `${String(at + 1)}. ${name} (${dated})`,
        `   Method: ${method}`,
        `   Evidence: ${host.url(evidence)}`,
        `   1st: the operator, ${grade} (${grade_basis}), ${WORDS.get(met) ?? ''}: ${detail}`,
      ];
    }),
    ...listings.flatMap(({ issuer, domain, grade_basis: basis }, at) => [
      ...(at === 0 ? ['', 'Listed issuers, by name:'] : []),
      `   ${issuer}, ${domain} (${basis})`,
    ]),
  ];
  return `${[...lines, ...sampleLines('Live sample', live), ...chosenLines(sample)].join('\n')}\n`;
}

const WORDS: ReadonlyMap<boolean | null, string> = new Map([
  [true, 'MET'],
  [false, 'NOT MET'],
  [null, 'NOT SHOWN'],
]);

function chosenLines(sample: Sample | null): readonly string[] {
  if (sample === null) return [];
  if (sample.found) return sampleLines('Sample', sample);
  return ['', `Sample ${sample.entry_id}: the log has no such entry`];
}

function sampleLines(name: string, sample: Graded | null): readonly string[] {
  if (sample === null) return ['', `${name}: ${NO_SAMPLE}`];
  const { entry_id, criteria, met, of, grade } = sample;
  return [
    '',
    `${name} ${entry_id}: ${String(met)} of ${String(of)} criteria met, ${grade}`,
    ...criteria.map(({ id, met: is, detail }) => `   ${WORDS.get(is) ?? ''} ${id}: ${detail}`),
  ];
}
