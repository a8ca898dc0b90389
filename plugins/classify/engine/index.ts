// The door of the classifier: deterministic, embedded, offline, explainable. behaviour.md §6.
import type { Json, JsonObject } from '../../../log/index.ts';
import { analyse } from './analysis.ts';
import type { Analysis } from './analysis.ts';
import { CRISIS, GENERAL, OWN } from './domains.ts';
import { COARSE, DISTRESS, GROUP, HARSH, HOSTILE, KIND, SLUR } from './features.ts';
import type { ModelScores } from './model.ts';
import type { Hit } from './rules.ts';
import { loadTables } from './tables.ts';
import type { EngineTables } from './tables.ts';

/** Texts over this many bytes of UTF-8 are not read. */
export const LONGEST_TEXT_BYTES = 32_768;

/** The verdict; `ERROR` is said whenever nothing could be said, and never stands for safety. */
export type Classification = 'SAFE' | 'VIOLATION' | 'CRISIS' | 'ERROR';

/** What the classifier found. Scores are thousandths; `score_milli` is how sure it is of `classification`. */
export interface Classified {
  readonly classification: Classification;
  readonly violation_milli: number;
  readonly crisis_milli: number;
  readonly score_milli: number;
  readonly rule_ids: string[];
  /** The rules used; `general` for a domain without rules of its own. */
  readonly domain: string;
  /** The text is in none of the languages the tables cover; SAFE then has a low score. */
  readonly language_unsupported: boolean;
  /** Rules, spans and scores. Holds words of the text: for the private disclosure only. */
  readonly explain: Json;
}

/** A loaded classifier: the same tables give the same answer for the same text, anywhere. */
export interface Engine {
  readonly id: string;
  readonly version: string;
  readonly weights_sha256: string;
  readonly domains: readonly string[];
  /** Never throws. */
  classify(text: string, domain: string): Classified;
}

let shipped: Engine | undefined;

/**
 * The engine over the tables and weights of catalogs/classify, loaded once for the process; throws when one of them is
 * not what the manifest says.
 */
export function loadEngine(): Engine {
  return (shipped ??= engineOf(loadTables()));
}

/** An engine over given tables; training and its tests build their own. */
export function engineOf(tables: EngineTables): Engine {
  return {
    id: tables.id,
    version: tables.version,
    weights_sha256: tables.weights_sha256,
    domains: [...tables.rules.keys()],
    classify: (text, domain) => {
      const used = domainOf(domain, tables);
      try {
        return classify(text, used, tables);
      } catch {
        return errorOf(used, 'the classifier failed');
      }
    },
  };
}

function domainOf(domain: string, tables: EngineTables): string {
  if (tables.rules.has(domain)) return domain;
  const name =
    typeof domain === 'string' ? domain.trim().toLowerCase().replaceAll(/[ -]/g, '_') : '';
  return tables.rules.has(name) ? name : 'general';
}

function errorOf(domain: string, reason: string): Classified {
  return {
    classification: 'ERROR',
    violation_milli: 0,
    crisis_milli: 0,
    score_milli: 0,
    rule_ids: [],
    domain,
    language_unsupported: false,
    explain: { reason },
  };
}

function classify(text: string, domain: string, tables: EngineTables): Classified {
  if (typeof text !== 'string') return errorOf(domain, 'the text is not a string');
  // A UTF-16 unit is one to three bytes: only the texts between need counting.
  if (
    text.length > LONGEST_TEXT_BYTES ||
    (text.length * 3 > LONGEST_TEXT_BYTES && Buffer.byteLength(text) > LONGEST_TEXT_BYTES)
  ) {
    return errorOf(domain, `the text is over ${String(LONGEST_TEXT_BYTES)} bytes`);
  }
  if (text.trim() === '') return errorOf(domain, 'the text is empty');
  const analysis = analyse(text, tables);
  if (analysis.tokens.words.length === 0) return errorOf(domain, 'the text has no words');
  const language = tables.languages.detect(
    analysis.tokens,
    analysis.marks.known,
    analysis.foreign_milli,
  );
  const hits = hitsOf(analysis, domain, tables);
  const ruleIds = idsOf(hits);
  const scores = tables.model.score(analysis, ruleIds, domain !== 'general');
  const unread =
    language.unsupported && isStrange(analysis) && ruleIds.length === 0 && !namesHarm(analysis);
  const models = unread ? softened(scores) : scores;
  const policy = domain === 'general' ? 0 : models.policy_milli;
  const ruled = strongest(hits.violation);
  const lenient = ruled < 500 && isDefence(analysis);
  const hostile = lenient ? soften(models.violation_milli) : models.violation_milli;
  const violation = Math.max(ruled, hostile, policy);
  // A guard that silenced a rule (idiom, denial, another person, fiction) speaks to the model as well.
  const guarded = hits.crisis.length === 0 && hits.crisis_guarded;
  const crisis = Math.max(
    strongest(hits.crisis),
    guarded ? soften(models.crisis_milli) : models.crisis_milli,
  );
  const classification = crisis >= 500 ? 'CRISIS' : violation >= 500 ? 'VIOLATION' : 'SAFE';
  const safe = 1000 - Math.max(violation, crisis);
  return {
    classification,
    violation_milli: violation,
    crisis_milli: crisis,
    score_milli:
      classification === 'CRISIS'
        ? crisis
        : classification === 'VIOLATION'
          ? violation
          : language.unsupported
            ? Math.min(safe, UNSUPPORTED_SAFE_MILLI)
            : safe,
    rule_ids: ruleIds,
    domain,
    language_unsupported: language.unsupported,
    explain: {
      language: language.code,
      models: { ...models },
      unread,
      lenient,
      guarded,
      rules: [...hits.crisis, ...hits.violation].map((hit) => explainHit(hit, analysis)),
    },
  };
}

/**
 * A group is named, and every hostile word is denied or someone else's: defence and counter-speech, which models of
 * word counts take for the attack.
 */
function isDefence(analysis: Analysis): boolean {
  const { marks, flags } = analysis;
  let named = false;
  let answered = false;
  for (let k = 0; k < flags.length; k++) {
    const is = marks.kinds[k] ?? 0;
    const said = (flags[k] ?? 0) === 0;
    if ((is & (GROUP | SLUR)) !== 0) named = true;
    if ((is & HOSTILE) !== 0) {
      if (said) return false;
      answered = true;
    } else if ((is & KIND) !== 0 && said) answered = true;
  }
  return named && answered;
}

/**
 * A text of another language beyond doubt: most of its words are unknown, or it is long enough to tell. Of its letters nothing
 * was learnt.
 */
function isStrange({ tokens, marks }: Analysis): boolean {
  const { length } = tokens.words;
  return length >= LONG_TEXT || marks.known * 10 < length * 4;
}

/** A word of harm that is known in whatever language. */
function namesHarm({ marks, tokens }: Analysis): boolean {
  for (let k = 0; k < tokens.words.length; k++)
    if (((marks.kinds[k] ?? 0) & (SLUR | HOSTILE | HARSH | COARSE | DISTRESS)) !== 0) return true;
  return false;
}

function softened({ violation_milli, policy_milli, crisis_milli }: ModelScores): ModelScores {
  return {
    violation_milli: soften(violation_milli),
    policy_milli: soften(policy_milli),
    crisis_milli: soften(crisis_milli),
  };
}

/** Below the threshold, in the same order. */
function soften(milli: number): number {
  return Math.min(milli, 400 + Math.floor(milli / 11));
}

/** So many words tell a language. */
const LONG_TEXT = 16;
/** The most that SAFE may score where the tables cannot read the language. */
const UNSUPPORTED_SAFE_MILLI = 300;

/** The rules that speak, of the general table and of the domain. */
export function hitsOf(
  analysis: Analysis,
  domain: string,
  tables: EngineTables,
): { violation: Hit[]; crisis: Hit[]; crisis_guarded: boolean } {
  const rules = tables.rules.get(domain);
  if (rules === undefined) throw new Error(`no rules for the domain ${domain}`);
  const { spoken, silenced } = rules.hits(analysis);
  const general = spoken[GENERAL] ?? [];
  const own = spoken[OWN] ?? [];
  return {
    violation: own.length === 0 ? general : [...general, ...own],
    crisis: spoken[CRISIS] ?? [],
    crisis_guarded: silenced[CRISIS] === true,
  };
}

/** The ids of rules that spoke, sorted. */
export function idsOf({
  crisis,
  violation,
}: Readonly<Record<'crisis' | 'violation', readonly Hit[]>>): string[] {
  return [...crisis, ...violation].map(({ id }) => id).sort();
}

function strongest(hits: readonly Hit[]): number {
  let most = 0;
  for (const hit of hits) if (hit.milli > most) most = hit.milli;
  return most;
}

function explainHit(hit: Hit, analysis: Analysis): JsonObject {
  const { starts, ends } = analysis.tokens;
  const start = starts[hit.from] ?? 0;
  const end = ends[hit.to - 1] ?? start;
  return {
    rule: hit.id,
    score_milli: hit.milli,
    pattern: hit.pattern,
    start,
    end,
    words: analysis.text.slice(start, end),
  };
}
