// The door of the classifier: deterministic, embedded, offline, explainable. gateway/API.md §6.
import type { Json, JsonObject } from '../../contract/index.ts';
import { analyse } from './analysis.ts';
import type { Analysis } from './analysis.ts';
import { isUnread, judge } from './judging.ts';
import type { Hit } from './rules.ts';
import { loadTables } from './tables.ts';
import type { EngineTables } from './tables.ts';
import { hitsOf, strongest } from './text-hits.ts';

/** Texts over this many bytes of UTF-8 are not read. */
export const LONGEST_TEXT_BYTES = 32_768;

/** The verdict. `ERROR` means that there is none; it never means SAFE. */
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
  const ruleIds = hits.ids;
  const unread = language.unsupported && isUnread(analysis, ruleIds);
  const judged = judge(analysis, hits, { domain, unread }, tables);
  const violation = Math.max(strongest(hits.violation), judged.violation_milli);
  const crisis = Math.max(strongest(hits.crisis), judged.crisis_milli);
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
      models: { ...judged.models },
      spans: { ...judged.spans },
      unread,
      lenient: judged.lenient,
      guarded: judged.guarded,
      rules: [...hits.crisis, ...hits.violation].map((hit) => explainHit(hit, analysis)),
    },
  };
}

/** The most that SAFE may score where the tables cannot read the language. */
const UNSUPPORTED_SAFE_MILLI = 300;

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
