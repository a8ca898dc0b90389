// The times that an absence document is about, in their order: the window, what stands on the chain around it, and
// how far the log had come. Read only from a document that holds.

import type { JsonObject, Question } from '../../../log/verify.ts';
import { objects } from './trust.ts';
import { objectOf, readObject, textOf } from './shown.ts';

/** One mark of the timeline. */
export interface Moment {
  readonly ms: number;
  readonly kind: 'opens' | 'closes' | 'entry' | 'as_of';
  readonly label: string;
  /** The entry that stands there, where there is one. */
  readonly index?: number;
}

/** The marks of a document that was verified, oldest first; what opens the window stands before entries in it. */
export function momentsOf(document: JsonObject, question: Question, as_of_ms: number): Moment[] {
  const moments: Moment[] = [
    { ms: question.from_ms, kind: 'opens', label: 'The window opens' },
    ...entriesOf(document, question),
    { ms: question.to_ms, kind: 'closes', label: 'The window closes' },
    { ms: as_of_ms, kind: 'as_of', label: 'The log is shown up to here' },
  ];
  const order = ['opens', 'entry', 'closes', 'as_of'];
  return moments.sort((a, b) => a.ms - b.ms || order.indexOf(a.kind) - order.indexOf(b.kind));
}

function entriesOf(document: JsonObject, { key }: Question): Moment[] {
  const shown = objects(document.entries).map(({ entry, index }) => ({
    ms: timeOf(textOf(entry)),
    kind: 'entry' as const,
    label: 'An entry of the chain',
    index: index as number,
  }));
  const proof = objectOf(document.proof);
  if (proof.type === 'tail') {
    const { last_ms, last_index } = objectOf(proof.head) as Record<string, number>;
    if (shown.length > 0) return shown;
    return [mark(last_ms, last_index, 'The last entry of the chain')];
  }
  if (proof.type !== 'gap') return shown;
  const { entry, index } = objectOf(proof.successor);
  const text = textOf(entry);
  const next = mark(timeOf(text), index as number, 'The next entry of the chain');
  const link = objects(readObject(text).links).find(
    (candidate) => JSON.stringify(candidate.key) === JSON.stringify(key),
  );
  const { prev_ms, prev_index } = objectOf(link);
  const known = shown.some((one) => one.index === prev_index);
  return typeof prev_ms === 'number' && typeof prev_index === 'number' && !known
    ? [mark(prev_ms, prev_index, 'The entry that it names before it'), ...shown, next]
    : [...shown, next];
}

const timeOf = (entry: string): number => readObject(entry).issued_at_ms as number;

const mark = (ms: number | undefined, index: number | undefined, label: string): Moment => ({
  ms: ms ?? 0,
  kind: 'entry',
  label,
  ...(index === undefined ? {} : { index }),
});
