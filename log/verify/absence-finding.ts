// The verifier of absence documents: checks a document (log/FORMAT.md §6), and describes the result in words and as
// times for a timeline. The words are made from the result; no text of the document is printed.

import type { Json, JsonObject } from '../encoding/json.ts';
import { checkAbsence } from './absence.ts';
import type { AbsenceResult } from './absence.ts';
import type { Question } from './document.ts';
import {
  memberOf,
  NOT_PROVEN,
  objectOf,
  objectsOf,
  originOfNote,
  parsedOf,
  single,
  suiteOf,
  textOf,
  Unanswerable,
} from './finding.ts';
import type { Line, Moment, Shown, Verifier } from './finding.ts';
import { isLogError } from '../errors.ts';
import { declaredKind } from '../map/grammar.ts';
import { isChainKind } from '../map/key.ts';
import type { Trust } from './trust.ts';
import { besideOf } from './recognise.ts';
import { openTree, secondWords } from './trust.ts';

const SCHEMA = 'svc-absence-witness-v1';

const ABSENCE_NOT_PROVEN = [
  'That nothing happened: only that nothing was logged on this chain in this window of log time.',
  'That chains and map were computed honestly: that rests on monitors, which check every entry.',
  ...NOT_PROVEN,
];

/** The verifier of absence documents, given alone or in an answer of the API. */
export const absenceVerifier: Verifier = {
  kind: 'absence',
  title: 'an absence document',
  part: 'its absence document',

  recognise(value: JsonObject, text: string): Shown | null {
    if (value.schema === SCHEMA) return { kind: 'absence', document: text };
    if (memberOf(value, 'signature') !== null && memberOf(value, 'kid') !== null) return null;
    // An API answer that contains a document: the contained document is checked.
    for (const name of ['document', 'witness']) {
      const document = objectOf(value[name]);
      if (document.schema === SCHEMA) {
        return { kind: 'absence', document, ...besideOf(value, name) };
      }
    }
    return null;
  },

  originOf: (document) => originOfNote(parsedOf(document).checkpoint),

  check(document, trust, asked) {
    const { question } = asked;
    if (question === undefined) {
      throw new Unanswerable(
        'an absence document proves nothing of a question that you have not asked',
        'question',
      );
    }
    return single('document', () => {
      const suite = suiteOf(asked);
      for (const { key } of [objectOf(parsedOf(document).question), question])
        checkKind(key, trust);
      const result = answered(() => checkAbsence(document as Json, question, trust, { suite }));
      const members = parsedOf(document);
      const { verdict, proof, entries, as_of_ms, covers } = result;
      const { witnessed, map_verified, lag_ms, heartbeat_interval_ms } = result;
      const shown = shownEntries(members).filter(({ issued_at_ms: ms }) => {
        return (ms as number) >= question.from_ms && (ms as number) <= question.to_ms;
      });
      const page = { more: members.more === true, origin: trust.origin };
      const note = textOf(members.checkpoint);
      const tree = openTree(suite, trust, note);
      return {
        verdict,
        detail: `proof of type ${proof}, log as of ${timeWords(as_of_ms)}${secondWords(trust, [tree])}`,
        checks: [...shown.map(entryLine), ...absenceLines(result)],
        summary: absenceWords(question, result, page),
        facts: {
          question: { ...question, key: [...question.key] },
          ...(covers === undefined
            ? {}
            : { covers: { from_ms: covers.from_ms, to_ms: covers.to_ms } }),
          verdict,
          proof,
          entries,
          more: page.more,
          ...(shown.length === 0 ? {} : { shown }),
          as_of_ms,
          heartbeat_interval_ms,
          witnessed,
          map_verified,
          lag_ms,
        },
        not_proven: ABSENCE_NOT_PROVEN,
        moments: momentsOf(members, question, as_of_ms),
        seen: { origin: trust.origin, note, size: tree.size },
      };
    });
  },
};

/**
 * Throws Unanswerable for a chain kind that a plugin may have declared and `kinds` does not have: the number of its
 * members is unknown, and the caller can give it.
 */
function checkKind(key: unknown, { kinds }: Trust): void {
  if (!Array.isArray(key) || typeof key[0] !== 'string') return;
  const [kind, ...members] = key as [string, ...unknown[]];
  if (isChainKind(kind) || kinds?.has(kind) === true || !declaredKind.test(kind)) return;
  throw new Unanswerable(
    `the chain kind ${kind} is declared by a plugin, and this verifier does not know it: ` +
      `give --chain ${kind}=${String(members.length)} if it has ${String(members.length)} members`,
  );
}

/** Throws Unanswerable for a valid document that does not answer the question. */
function answered(check: () => AbsenceResult): AbsenceResult {
  try {
    return check();
  } catch (error) {
    if (!isLogError(error) || error.code !== 'question_unanswered') throw error;
    throw new Unanswerable(`the document does not answer this question (${error.message})`);
  }
}

/** The entries that a valid document shows, oldest first. */
const shownEntries = ({ entries }: JsonObject): JsonObject[] =>
  objectsOf(entries).map(({ entry }) => {
    const { index = null, entry_id = null, type = null, issued_at_ms = null } = parsedOf(entry);
    return { index, entry_id, type, issued_at_ms };
  });

function entryLine({ index, entry_id, type, issued_at_ms }: JsonObject): Line {
  const detail = `${JSON.stringify(index)}, logged ${timeWords(issued_at_ms as number)}: ${named(type)} ${named(entry_id)}`;
  return { name: 'entry', outcome: 'ok', detail };
}

/** A name for a terminal. A log may have signed a name that the format forbids; it is replaced by `?`. */
const named = (value: Json | undefined): string =>
  typeof value === 'string' && /^[\w.-]{1,256}$/.test(value) ? value : '?';

/** The result in one or two sentences. `more` is the member of the document, `origin` that of the log in question. */
export function absenceWords(
  question: Question,
  result: AbsenceResult,
  page: { readonly more: boolean; readonly origin: string },
): string {
  const window = `from ${timeWords(question.from_ms)} to ${timeWords(question.to_ms)} of log time`;
  const about = `${chainOf(question)} ${window} in log ${page.origin}`;
  switch (result.verdict) {
    case 'PRESENT':
      return `PRESENT: ${entriesOf(result.entries)} shown of ${about}${pageWords(question, page)}. Each is in the log, and the chain has no entry between them.`;
    case 'UNDECLARED':
      return `UNDECLARED: nothing was logged for ${about}: ${reasonOf(result)}. The document does not show that a manifest declared the surface all along, so the absence of acts is not_established (field visibility).`;
    case 'UNDERSAMPLED':
      return `UNDERSAMPLED: nothing was logged for ${about}: ${reasonOf(result)}. The surface was declared, but no unbroken run of heartbeats covers the window as its manifest promises, so the absence of acts is not_established (observation completeness).`;
    case 'ABSENT':
      return `ABSENT: nothing was logged for ${about}: ${reasonOf(result)}.${declaredWords(question, result)}`;
  }
}

/** The cosignatures of the document's checkpoint, in words. */
const absenceLines = ({ witnessed, map_verified, lag_ms }: AbsenceResult): Line[] => [
  {
    name: 'witnesses',
    outcome: lag_ms === null ? 'not_shown' : 'ok',
    detail:
      lag_ms === null
        ? 'no policy: the log vouches for itself'
        : `${String(witnessed)}, the last needed ${String(lag_ms)} ms after the map head`,
  },
  {
    name: 'monitors',
    outcome: map_verified > 0 ? 'ok' : 'not_shown',
    detail: `${String(map_verified)} have checked every rule up to this size`,
  },
];

/** The part of the window that other pages show, in words. */
function pageWords({ after }: Question, { more }: { readonly more: boolean }): string {
  const before = after === undefined ? '' : `, after entry ${String(after)}`;
  return more ? `${before}, and more of it follow on further pages` : before;
}

const entriesOf = (count: number): string =>
  count === 1 ? '1 entry is' : `${String(count)} entries are`;

function chainOf({ key }: Question): string {
  const [kind = '', ...members] = key;
  const [entity = '', surface = ''] = members;
  return kind === 'surface'
    ? `surface ${surface} of entity ${entity}`
    : `the chain ${kind} ${members.join(' ')}`;
}

/** Why the window contains no entry, in words. */
function reasonOf({ proof, covers }: AbsenceResult): string {
  if (covers !== undefined) {
    const window = `from ${timeWords(covers.from_ms)} to ${timeWords(covers.to_ms)}`;
    return `the document covers the log time ${window}, and shows no entry in the part that was asked about`;
  }
  switch (proof) {
    case 'never':
      return 'the log has no entry of it at all';
    case 'tail':
      return 'its last entry is before the window';
    case 'gap':
      return 'the entry after the window names one before it as its predecessor, or none';
  }
}

/**
 * Why an absence of entries means an absence of acts, in words: the surface was declared and, if its manifest promises
 * heartbeats, watched.
 */
function declaredWords({ key: [kind] }: Question, result: AbsenceResult): string {
  if (kind !== 'surface') return '';
  const { heartbeat_interval_ms } = result;
  const watched =
    heartbeat_interval_ms === null
      ? 'no heartbeats were promised, so that it was watched is not_established (observation completeness)'
      : `the heartbeats that were promised, one in ${String(heartbeat_interval_ms)} ms, cover the window`;
  return ` A manifest in force declared the surface all along; ${watched}.`;
}

/** A log time as ISO 8601, or in milliseconds if it is beyond the range of dates. */
export function timeWords(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${String(ms)} ms` : date.toISOString();
}

/**
 * The times of a valid document for a timeline, oldest first: the window, the entries of the chain in and around it,
 * and the time of the map head.
 */
function momentsOf(document: JsonObject, question: Question, as_of_ms: number): Moment[] {
  const moments: Moment[] = [
    { ms: question.from_ms, kind: 'opens', label: 'The window opens' },
    ...entryMoments(document, question),
    { ms: question.to_ms, kind: 'closes', label: 'The window closes' },
    { ms: as_of_ms, kind: 'as_of', label: 'The log is shown up to here' },
  ];
  const order = ['opens', 'entry', 'closes', 'as_of'];
  return moments.sort((a, b) => a.ms - b.ms || order.indexOf(a.kind) - order.indexOf(b.kind));
}

function entryMoments(document: JsonObject, { key }: Question): Moment[] {
  const shown = objectsOf(document.entries).map(({ entry, index }) => ({
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
  const link = objectsOf(parsedOf(text).links).find(
    (candidate) => JSON.stringify(candidate.key) === JSON.stringify(key),
  );
  const { prev_ms, prev_index } = objectOf(link);
  const known = shown.some((one) => one.index === prev_index);
  return typeof prev_ms === 'number' && typeof prev_index === 'number' && !known
    ? [mark(prev_ms, prev_index, 'The entry that it names before it'), ...shown, next]
    : [...shown, next];
}

const timeOf = (entry: string): number => parsedOf(entry).issued_at_ms as number;

const mark = (ms: number | undefined, index: number | undefined, label: string): Moment => ({
  ms: ms ?? 0,
  kind: 'entry',
  label,
  ...(index === undefined ? {} : { index }),
});
