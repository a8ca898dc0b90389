// The scoreboard as a document and as text: the rankings of the catalog, and the sample of one entry.

import type { Kind, PluginHost } from '../contract.ts';
import { findEntry } from '../finding.ts';
import { measure } from './criteria.ts';
import type { Criterion } from './criteria.ts';

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
export interface Sample {
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
