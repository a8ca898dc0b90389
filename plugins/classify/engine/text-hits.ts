// The rules that spoke in a text, by what they speak of.
import type { Analysis } from './analysis.ts';
import { CRISIS, GENERAL, OWN } from './domains.ts';
import type { Hit } from './rules.ts';
import type { EngineTables } from './tables.ts';

/** Rules that spoke; `crisis_guarded` when one of crisis matched and a guard silenced it. */
export interface TextHits {
  readonly violation: Hit[];
  readonly crisis: Hit[];
  readonly crisis_guarded: boolean;
  /** Of those that spoke, sorted. */
  readonly ids: string[];
}

/** The rules that speak, of the general table and of the domain. */
export function hitsOf(analysis: Analysis, domain: string, tables: EngineTables): TextHits {
  const rules = tables.rules.get(domain);
  if (rules === undefined) throw new Error(`no rules for the domain ${domain}`);
  const { spoken, silenced } = rules.hits(analysis);
  const general = spoken[GENERAL] ?? [];
  const own = spoken[OWN] ?? [];
  const violation = own.length === 0 ? general : [...general, ...own];
  const crisis = spoken[CRISIS] ?? [];
  const ids: string[] = [];
  for (const { id } of crisis) ids.push(id);
  for (const { id } of violation) ids.push(id);
  return { violation, crisis, crisis_guarded: silenced[CRISIS] === true, ids: ids.sort() };
}

/** The highest score of them, 0 for none. */
export function strongest(hits: readonly Hit[]): number {
  let most = 0;
  for (const hit of hits) if (hit.milli > most) most = hit.milli;
  return most;
}

/** True when no rule spoke and none was silenced. */
export function isQuiet({ ids, crisis_guarded }: TextHits): boolean {
  return ids.length === 0 && !crisis_guarded;
}
