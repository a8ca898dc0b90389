// What of an answer nothing checks: a receipt or a document speaks for itself, not for what was put around it.

import type { JsonObject } from '../../../log/verify.ts';
import type { Line } from './finding.ts';

/** Names that stand around what is checked; none where it came alone. */
export interface Beside {
  readonly beside?: readonly string[];
}

/** Members that say nothing but that there is an answer. */
const BARE = ['ok', 'found'];
/** How many are named. */
const NAMED = 3;

/** The members of an answer beside those that are checked. */
export function besideOf(answer: JsonObject, ...checked: readonly string[]): Beside {
  const names = Object.keys(answer).filter(
    (name) => !BARE.includes(name) && !checked.includes(name),
  );
  return names.length === 0 ? {} : { beside: names };
}

/** A line that says so. Names are those of whoever made the answer: others than plain ones are not repeated. */
export function besideLines({ kind, beside }: Beside & { readonly kind: string }): Line[] {
  if (beside === undefined) return [];
  const plain = beside.filter((name) => /^[a-z][a-z0-9_]{0,39}$/.test(name)).slice(0, NAMED);
  const such = plain.length === 0 ? '' : `, such as ${plain.join(', ')},`;
  const only =
    kind === 'absence'
      ? 'its absence document'
      : kind === 'mandate'
        ? 'its receipt and its bundle'
        : 'its receipt';
  const detail = `the answer's other members${such} are not checked: only ${only}`;
  return [{ name: 'answer', outcome: 'not_shown', detail }];
}
