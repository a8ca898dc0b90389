// The result of an absence document in plain words: what was asked, the verdict, and why. log/FORMAT.md §6; what the
// document says of itself in words is never repeated.

import type { AbsenceResult, Question } from '../../../log/verify.ts';
import type { Line } from './finding.ts';

/** One sentence or two, for people; `more` is that of the document, `origin` that of the log that was asked. */
export function absenceWords(
  question: Question,
  result: AbsenceResult,
  page: { readonly more: boolean; readonly origin: string },
): string {
  const window = `from ${timeWords(question.from_ms)} to ${timeWords(question.to_ms)} of log time`;
  const about = `${chainOf(question)} ${window} in log ${page.origin}`;
  switch (result.verdict) {
    case 'PRESENT':
      return `PRESENT: ${entriesOf(result.entries)} shown of ${about}${pageWords(question, page)}. Each is in the log, and none stands between them.`;
    case 'UNDECLARED':
      return `UNDECLARED: nothing was logged for ${about}: ${reasonOf(result)}. The document does not show that a manifest declared the surface all along, so this is no absence of acts.`;
    case 'UNDERSAMPLED':
      return `UNDERSAMPLED: nothing was logged for ${about}: ${reasonOf(result)}. The surface was declared, but no unbroken run of heartbeats covers the window as its manifest promises, so this is no absence of acts.`;
    case 'ABSENT':
      return `ABSENT: nothing was logged for ${about}: ${reasonOf(result)}.${declaredWords(question, result)}`;
  }
}

/** What the document's checkpoint shows of others than the log itself. */
export const absenceLines = ({ witnessed, map_verified, lag_ms }: AbsenceResult): Line[] => [
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

/** What of the window stands on other pages. */
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

/** Why nothing can stand in the window. */
function reasonOf({ proof }: AbsenceResult): string {
  switch (proof) {
    case 'never':
      return 'the log has no entry of it at all';
    case 'tail':
      return 'its last entry stands before the window';
    case 'gap':
      return 'the entry after the window names one before it as its predecessor, or none';
  }
}

/** What makes an absence of entries one of acts: that the surface was declared, and, where that was promised, watched. */
function declaredWords({ key: [kind] }: Question, result: AbsenceResult): string {
  if (kind !== 'surface') return '';
  const { heartbeat_interval_ms } = result;
  const watched =
    heartbeat_interval_ms === null
      ? 'no heartbeats were promised, so nothing shows that the surface was watched'
      : `the heartbeats that were promised, one in ${String(heartbeat_interval_ms)} ms, cover the window`;
  return ` A manifest in force declared the surface all along; ${watched}.`;
}

/** A time of log as ISO 8601; as its milliseconds where that is no date. */
export function timeWords(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${String(ms)} ms` : date.toISOString();
}
