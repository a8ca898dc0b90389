// The answer of the page /ask in one sentence, and how surfaces are named there. The words claim what the document
// proves and no more. log/FORMAT.md §6.

import { plural } from '../contract/index.ts';
import type { Verdict } from './entries.ts';
import { momentWords, windowWords } from './ask-time.ts';
import type { Window } from './ask-time.ts';

/** How people speak of the acts of a surface. */
interface ActWords {
  readonly label: string;
  /** `policy was bound`, after "No" or "a". */
  readonly done: string;
}

/** The surfaces of the presets (catalogs/absence.json), and those of the examples. */
const KNOWN: Readonly<Record<string, ActWords>> = {
  policy_bind: { label: 'Binding a policy', done: 'policy was bound' },
  tool_invoke: { label: 'Calling a tool', done: 'tool was called' },
  payment: { label: 'Making a payment', done: 'payment was made' },
  payment_authorize: { label: 'Authorizing a payment', done: 'payment was authorized' },
  content_publish: { label: 'Publishing content', done: 'content was published' },
  data_export: { label: 'Exporting data', done: 'data was exported' },
  candidate_screen: { label: 'Screening a candidate', done: 'candidate was screened' },
  offer_extend: { label: 'Making an offer', done: 'offer was made' },
  background_pull: { label: 'Pulling a background check', done: 'background check was pulled' },
  adverse_action: { label: 'Taking an adverse action', done: 'adverse action was taken' },
  policy_renewal: { label: 'Renewing a policy', done: 'policy was renewed' },
  premium_commit: { label: 'Committing a premium', done: 'premium was committed' },
  endorsement_bind: { label: 'Binding an endorsement', done: 'endorsement was bound' },
  coverage_extension: { label: 'Extending coverage', done: 'coverage was extended' },
};

/** The label of a surface: that of a known one, else its name in words. */
export function labelOf(surface: string): string {
  const known = Object.hasOwn(KNOWN, surface) ? KNOWN[surface] : undefined;
  if (known !== undefined) return known.label;
  const words = surface.replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** What was asked, for the sentence. */
export interface AskedAbout extends Window {
  readonly entity: string;
  readonly surface: string;
  readonly tz: string;
}

/** The verdict of a question, which may span several logs, and whether heartbeats were promised throughout. */
export interface Outcome {
  readonly verdict: Verdict;
  readonly count: number;
  /** Whether more entries are in the window than were counted. */
  readonly more: boolean;
  readonly watched: boolean;
}

/** An answer: its tone, a heading of a few words, and the sentence. */
export interface Answer {
  readonly tone: 'good' | 'unknown';
  readonly heading: string;
  readonly sentence: string;
}

/** The answer in words. */
export function answerOf(asked: AskedAbout, { verdict, count, more, watched }: Outcome): Answer {
  const { entity, surface, tz } = asked;
  const window = windowWords(asked, tz);
  const known = Object.hasOwn(KNOWN, surface) ? KNOWN[surface] : undefined;
  const act = `${labelOf(surface)} (${surface})`;
  switch (verdict) {
    case 'PRESENT': {
      const number = more ? `more than ${String(count)} acts` : plural(count, 'act');
      const heading = more || count > 1 ? `Yes, ${number}` : 'Yes, once';
      const were = count === 1 && !more ? 'was' : 'were';
      return {
        ...{ tone: 'good', heading },
        sentence: `${number.slice(0, 1).toUpperCase() + number.slice(1)} of ${entity} ${were} logged ${window}: ${act}.`,
      };
    }
    case 'ABSENT': {
      const none = known === undefined ? `No act was logged` : `No ${known.done}`;
      const on = known === undefined ? `: ${act}` : '';
      const blind = watched
        ? ''
        : ` ${entity} declared the surface, but promised no sign of life: nothing shows that it was watched.`;
      return {
        ...{
          tone: watched ? 'good' : 'unknown',
          heading: watched ? 'No' : 'No, as far as it was declared',
        },
        sentence: `${none} by ${entity} ${window}${on}.${blind}`,
      };
    }
    case 'UNDECLARED':
      return {
        ...{ tone: 'unknown', heading: 'This cannot be said' },
        sentence: `Nothing was logged by ${entity} ${window}, but ${entity} had not declared throughout that it logs this: ${act}.`,
      };
    case 'UNDERSAMPLED':
      return {
        ...{ tone: 'unknown', heading: 'This cannot be said' },
        sentence: `Nothing was logged by ${entity} ${window}, but the signs of life that ${entity} promised for it are missing: ${act}.`,
      };
  }
}

/** The answer to a question about a time that the log does not cover yet. */
export const notYet = (asked: AskedAbout, closed_ms: number): Answer => ({
  ...{ tone: 'unknown', heading: 'This cannot be said yet' },
  sentence: `The log can speak about the time until ${momentWords(closed_ms, asked.tz)}, and the question is about the time ${windowWords(asked, asked.tz)}.`,
});

/** The verdicts of several logs as one: an act in any of them is one, and its absence needs all of them. */
export function joined(verdicts: readonly Verdict[]): Verdict {
  const order: readonly Verdict[] = ['PRESENT', 'UNDECLARED', 'UNDERSAMPLED', 'ABSENT'];
  return order.find((verdict) => verdicts.includes(verdict)) ?? 'UNDECLARED';
}
