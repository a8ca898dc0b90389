// Checks absence documents: proofs that a chain has exactly the shown entries in a window of log time, or none
// (log/FORMAT.md §6, steps 0 to 8). The document is untrusted; the caller provides the question and the trust.

import type { Suite } from '../crypto/suite.ts';
import { toHex, utf8 } from '../encoding/bytes.ts';
import { canonical } from '../encoding/canonical.ts';
import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { isLogError, LogError } from '../errors.ts';
import {
  checkFollows,
  checkNext,
  checkWindowEmpty,
  readClosing,
  readCoverage,
  readDeclared,
} from './chain.ts';
import type { Closing, Ground, SurfaceWindow } from './chain.ts';
import {
  checkQuestion,
  isInside,
  readDocument,
  readQuestion,
  list,
  refused,
  string,
} from './document.ts';
import type { Question } from './document.ts';
import { linkOn, openEntry } from './entry.ts';
import type { OpenedEntry } from './entry.ts';
import { verifyReceipt } from './receipt.ts';
import { SKEW_MS, checkWitnesses, openTree } from './trust.ts';
import type { Trust, Vouched } from './trust.ts';

/**
 * UNDECLARED and UNDERSAMPLED mean that no entries were logged, but that the document does not prove an absence of
 * acts.
 */
export type Verdict = 'PRESENT' | 'UNDECLARED' | 'UNDERSAMPLED' | 'ABSENT';

/** What a document proves. */
export interface AbsenceResult extends Vouched {
  readonly verdict: Verdict;
  readonly proof: Closing['type'];
  /** How many entries of the window the document shows. If it has the member `more`, further pages show the others. */
  readonly entries: number;
  /** The question of the document, if its window is wider than that of the caller's question. */
  readonly covers?: Question;
  /** The time of the map head. The document is about the log at that time. */
  readonly as_of_ms: number;
  /**
   * The smallest interval in which the shown manifests promise heartbeats. If the verdict is ABSENT, heartbeats in this
   * interval cover the window. Null if no heartbeats are promised; nothing shows then that the surface was watched.
   */
  readonly heartbeat_interval_ms: number | null;
}

/** How a document is checked. */
export interface AbsenceOptions {
  readonly suite: Suite;
  /** The time of the verifier. Without a witness policy, the window must end before it. Default: the current time. */
  readonly now_ms?: number;
}

/**
 * Checks a document, given as text or parsed, for its own question, and then whether it answers the caller's question.
 *
 * @throws LogError `document_invalid` with the step of log/FORMAT.md §6 and the reason; `question_unanswered` when the
 *   document is valid and the caller's question is neither its own nor one that log/FORMAT.md §6.9 derives from it
 */
export function checkAbsence(
  document: Json,
  question: Question,
  trust: Trust,
  options: AbsenceOptions,
): AbsenceResult {
  const { suite } = options;
  const parsed = step('document', () => readDocument(document));
  const [asked, own] = step('step 0', () => [
    checkQuestion(question, trust),
    readQuestion(parsed, trust),
  ]);
  const tree = step('step 1', () =>
    openTree(suite, trust, string(parsed.checkpoint, 'checkpoint')),
  );
  const mapHead = step('step 2', () => openMapHead(suite, trust, tree, parsed.map_head ?? null));
  const { witnessed, map_verified, quorum_ms } = step('step 3', () => {
    if (own.to_ms > mapHead.ms) throw refused('window is not closed at the map head');
    const seen = checkWitnesses(trust, tree.cosignatures, mapHead.ms - SKEW_MS);
    if (seen.quorum_ms === null && own.to_ms > (options.now_ms ?? Date.now()) + SKEW_MS) {
      throw refused('window is not closed at the clock of the verifier');
    }
    return seen;
  });

  const ground: Ground = { suite, trust, tree, mapHead };
  const closing = step('step 4', () => readClosing(ground, own.key, parsed.proof));
  const times = step('step 5', () => readEntries(ground, own, asked.after, parsed, closing));
  if (times.length === 0) {
    step('step 4', () => {
      checkWindowEmpty(closing, own.from_ms, own.to_ms);
    });
  }
  const window = surfaceWindow(own);
  const { declared, coverage } = parsed;
  if (window === null && (declared !== undefined || coverage !== undefined)) {
    throw refused('step 6: declared and coverage need the kind surface');
  }
  const { empty, heartbeat_interval_ms } = verdictOf(ground, window, parsed);
  const proven = times.length > 0 ? 'PRESENT' : empty;
  step('step 8', () => {
    if (parsed.verdict !== proven) throw refused('verdict is not what the document proves');
  });
  step('receipt', () => {
    checkReceipt(suite, trust, parsed);
  });
  // The caller's question. A window that was declared and watched was so in each of its parts.
  const same = isInside(own, asked);
  // UNDECLARED and UNDERSAMPLED may be false for a part of the window.
  const answers = same || ((asked.after ?? parsed.more) === undefined && !proven.startsWith('UN'));
  if (!answers || !isInside(asked, own)) {
    throw new LogError('question_unanswered', 'step 0: another question');
  }
  const entries = times.filter((ms) => ms >= asked.from_ms && ms <= asked.to_ms).length;
  return {
    verdict: entries > 0 ? 'PRESENT' : empty,
    proof: closing.type,
    entries,
    ...(same ? {} : { covers: own }),
    as_of_ms: mapHead.ms,
    heartbeat_interval_ms,
    witnessed,
    map_verified,
    lag_ms: quorum_ms === null ? null : quorum_ms - mapHead.ms,
  };
}

function openMapHead(
  suite: Suite,
  trust: Trust,
  tree: { readonly size: number; readonly root: Uint8Array },
  opened: Json,
): OpenedEntry {
  const entry = openEntry(suite, trust, tree, opened);
  if (entry.index !== tree.size - 1) throw refused('map head is not the last entry');
  if (entry.type !== 'log.map_head.v1') throw refused('map head is an entry of another type');
  if (entry.statement.covered !== entry.index) throw refused('map head does not cover the tree');
  return entry;
}

/**
 * Steps 6 to 8: the verdict for a window without entries. `declared` and `coverage` are checked even if the verdict
 * does not need them.
 */
function verdictOf(
  ground: Ground,
  window: SurfaceWindow | null,
  document: JsonObject,
): { readonly empty: Verdict; readonly heartbeat_interval_ms: number | null } {
  const { declared, coverage } = document;
  const declares =
    window === null || declared === undefined
      ? null
      : step('step 6', () => readDeclared(ground, window, declared));
  const run =
    window === null || coverage === undefined
      ? null
      : step('step 7', () => readCoverage(ground, window, coverage));
  const heartbeat_interval_ms = declares?.interval_ms ?? null;
  const unwatched = heartbeat_interval_ms !== null && run?.covers(heartbeat_interval_ms) !== true;
  const empty =
    window === null
      ? 'ABSENT'
      : declares?.window !== true
        ? 'UNDECLARED'
        : unwatched
          ? 'UNDERSAMPLED'
          : 'ABSENT';
  return { empty, heartbeat_interval_ms };
}

function surfaceWindow({ key, from_ms, to_ms }: Question): SurfaceWindow | null {
  const [kind, entity, surface] = key;
  if (kind !== 'surface' || entity === undefined || surface === undefined) return null;
  return { entity, surface, from_ms, to_ms };
}

/** Checks the member `receipt`: a receipt of an entry that contains the hash of the document without this member. */
function checkReceipt(suite: Suite, trust: Trust, document: JsonObject): void {
  if (document.receipt === undefined) return;
  const { receipt, ...rest } = document;
  if (!isJsonObject(receipt)) throw refused('receipt is not an object');
  const { valid, statement } = verifyReceipt(receipt, trust, { suite });
  if (!valid) throw refused('receipt is not valid');
  if (statement?.document_sha256 !== toHex(suite.sha256(utf8(canonical(rest))))) {
    throw refused('receipt is of another document');
  }
}

/** Runs a check and refuses the document with the number of the step if the check throws a LogError. */
function step<T>(name: string, check: () => T): T {
  try {
    return check();
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw refused(`${name}: ${cause.message}`, cause);
  }
}

// The entries of a PRESENT document: all entries of the window, or one page of them (log/FORMAT.md §6.5).

/** Limit on the entries on one page of a document. */
const MAX_ENTRIES = 100;

/**
 * Step 5: checks that the entries are those of the window, oldest first and without a gap. Returns their times.
 *
 * @throws LogError of the check that failed
 */
function readEntries(
  ground: Ground,
  question: Question,
  after: number | undefined,
  document: JsonObject,
  closing: Closing,
): readonly number[] {
  if (document.entries === undefined) {
    if (document.more !== undefined) throw refused('more is given without entries');
    if (after !== undefined) throw refused('a further page has entries');
    return [];
  }
  const more = document.more !== undefined;
  if (more && document.more !== true) throw refused('more is not true');
  const opened = list(document.entries, 'entries', MAX_ENTRIES).map((one) =>
    openEntry(ground.suite, ground.trust, ground.tree, one),
  );
  const shown = opened.map((entry) => ({ entry, link: linkOn(entry, question.key) }));
  for (const [i, { entry, link }] of shown.entries()) {
    if (entry.ms < question.from_ms || entry.ms > question.to_ms) {
      throw refused('an entry is not in the window');
    }
    const before = shown[i - 1];
    if (before !== undefined) checkNext(before.link, before.entry, link);
    else if (
      after === undefined
        ? link.prev !== null && link.prev.ms >= question.from_ms
        : link.prev?.index !== after
    ) {
      throw refused('first entry of the window is left out');
    }
  }
  const last = shown.at(-1);
  if (last === undefined) throw refused('entries is empty');
  checkFollows(closing, last.entry, last.link);
  if (more && closing.type !== 'gap') throw refused('more is given without the next entry');
  if (!more && closing.type === 'gap' && closing.successor.ms <= question.to_ms) {
    throw refused('an entry of the window is left out');
  }
  return shown.map(({ entry }) => entry.ms);
}
