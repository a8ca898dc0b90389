// What the models say of a text, stretch by stretch, and how it counts beside the rules.
import type { Analysis } from './analysis.ts';
import { COARSE, DISTRESS, GROUP, HARSH, HOSTILE, KIND, SLUR } from './kinds.ts';
import type { ModelScores } from './model.ts';
import { readingsOf } from './stretches.ts';
import type { EngineTables } from './tables.ts';
import { hitsOf, isQuiet, strongest } from './text-hits.ts';
import type { TextHits } from './text-hits.ts';

/** Offsets into the normalised text. */
type Span = Readonly<Record<'start' | 'end', number>>;

/** What a text is judged as. */
interface Asked {
  readonly domain: string;
  /** It is in a language of which nothing was learnt: `isUnread`. */
  readonly unread: boolean;
}

/** What the models say, as it counts. */
interface Judged {
  readonly models: ModelScores;
  readonly violation_milli: number;
  readonly crisis_milli: number;
  /** The text defends whom it names, so that VIOLATION is left to the rules. */
  readonly lenient: boolean;
  /** A guard silenced a rule of crisis (idiom, denial, another person, fiction), and speaks to the model as well. */
  readonly guarded: boolean;
  /** Where the highest score of each model was found. */
  readonly spans: Readonly<Record<'violation' | 'policy' | 'crisis', Span>>;
}

/** The worst of all stretches of a text; lenient or guarded where any of them was. */
export function judge(
  analysis: Analysis,
  hits: TextHits,
  asked: Asked,
  tables: EngineTables,
): Judged {
  const readings = readingsOf(analysis);
  if (readings === undefined) return judgeOne(analysis, hits, 1, asked, tables);
  // Where no rule speaks in the whole text, none does in a part of it.
  const quiet = isQuiet(hits);
  return readings
    .flatMap((stretches) =>
      stretches.map((stretch) => {
        const own = quiet ? hits : hitsOf(stretch, asked.domain, tables);
        return judgeOne(stretch, own, stretches.length, asked, tables);
      }),
    )
    .reduce(worse);
}

function judgeOne(
  stretch: Analysis,
  hits: TextHits,
  stretches: number,
  { domain, unread }: Asked,
  tables: EngineTables,
): Judged {
  const trade = domain !== 'general';
  const scores = tables.model.score(stretch, hits.ids, trade, stretches);
  const models = unread ? softened(scores) : scores;
  const { violation_milli, policy_milli, crisis_milli } = models;
  const lenient = strongest(hits.violation) < 500 && isDefence(stretch);
  const guarded = hits.crisis.length === 0 && hits.crisis_guarded;
  const hostile = lenient ? soften(violation_milli) : violation_milli;
  const { starts, ends, words } = stretch.tokens;
  const span = { start: starts[0] ?? 0, end: ends[words.length - 1] ?? 0 };
  return {
    models,
    violation_milli: trade ? Math.max(hostile, policy_milli) : hostile,
    crisis_milli: guarded ? soften(crisis_milli) : crisis_milli,
    ...{ lenient, guarded },
    spans: { violation: span, policy: span, crisis: span },
  };
}

function worse(one: Judged, other: Judged): Judged {
  const [a, b] = [one.models, other.models];
  const of = (name: 'violation' | 'policy' | 'crisis'): Span =>
    (b[`${name}_milli`] > a[`${name}_milli`] ? other : one).spans[name];
  return {
    models: {
      violation_milli: Math.max(a.violation_milli, b.violation_milli),
      policy_milli: Math.max(a.policy_milli, b.policy_milli),
      crisis_milli: Math.max(a.crisis_milli, b.crisis_milli),
    },
    violation_milli: Math.max(one.violation_milli, other.violation_milli),
    crisis_milli: Math.max(one.crisis_milli, other.crisis_milli),
    lenient: one.lenient || other.lenient,
    guarded: one.guarded || other.guarded,
    spans: { violation: of('violation'), policy: of('policy'), crisis: of('crisis') },
  };
}

/**
 * Whether a text of no supported language is not to be judged by models that were taught none of its words: strange beyond doubt,
 * no rule spoke, and no word of harm is known.
 */
export function isUnread(analysis: Analysis, ruleIds: readonly string[]): boolean {
  return ruleIds.length === 0 && isStrange(analysis) && !namesHarm(analysis);
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
