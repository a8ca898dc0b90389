// Runs the check that fits what was shown, with log/verify.ts and nothing of the service. log/FORMAT.md §5, §6;
// gateway/API.md §1.1.

import {
  fromBase64,
  fromHex,
  LogError,
  openEntry,
  parseTlogProof,
  portable,
  stepsOfInclusion,
  toHex,
  utf8,
  verifyAbsence,
  verifyCheckpoint,
  verifyReceipt,
  verifyTlogProof,
} from '../../../log/verify.ts';
import type { Json, JsonObject, Question, Trust } from '../../../log/verify.ts';
import { absenceLines, absenceWords } from './absence-words.ts';
import { besideLines } from './beside.ts';
import { refusal } from './finding.ts';
import type { Finding, Line, Way } from './finding.ts';
import { mandateLine } from './mandate.ts';
import { momentsOf } from './moments.ts';
import { objectOf, readObject, textOf, Unknown } from './shown.ts';
import type { Shown } from './shown.ts';

/** What only the log's own word, a monitor or the world can tell. */
const ALWAYS = [
  'That what a caller told the service is true: the log keeps what was said, when and in which order.',
  'That the log shows everybody the same tree. Witnesses and what your browser saw before speak about that.',
];
const OF_RECEIPTS = [
  'What the text behind a commitment says, unless it is disclosed beside the receipt.',
  ...ALWAYS,
];
const OF_ABSENCE = [
  'That nothing happened: only that nothing was logged on this chain in this window of log time.',
  'That chains and map were computed honestly: that rests on monitors, which check every entry.',
  ...ALWAYS,
];
const OF_PLACES = ['That the entry is signed: the receipt shows that.', ...ALWAYS];

/** What the user brings beside the thing and the trust. */
export interface Beside {
  /** A receipt or the text of an entry that a tlog-proof is of. */
  readonly receipt: string;
  /** The question about an absence; the document's own unless given. */
  readonly question: Question | null;
}

/** The origin that a thing claims to be of; empty when it has none. */
export function claimedOrigin(shown: Shown): string {
  const firstLine = (note: string): string => note.split('\n', 1)[0] ?? '';
  switch (shown.kind) {
    case 'receipt':
    case 'mandate':
      return textOf(parsed(shown.receipt).origin);
    case 'absence':
      return firstLine(textOf(parsed(shown.document).checkpoint));
    case 'inclusion':
      return firstLine(textOf(shown.answer.checkpoint));
    case 'air':
      return textOf(shown.document.origin);
    case 'checkpoint':
      return firstLine(shown.text);
    case 'tlog_proof':
      return firstLine(shown.text.slice(shown.text.indexOf('\n\n') + 2));
    case 'cose':
    case 'kit':
      return '';
  }
}

type Checked = Exclude<Shown, { kind: 'kit' | 'air' | 'cose' }>;

/** Checks what needs no other cryptography than SHA-256 and Ed25519. */
export function check(shown: Checked, trust: Trust, beside: Beside): Finding {
  const finding = checkShown(shown, trust, beside);
  return { ...finding, lines: [...finding.lines, ...besideLines(shown)] };
}

function checkShown(shown: Checked, trust: Trust, beside: Beside): Finding {
  switch (shown.kind) {
    case 'receipt':
      return checkReceipt(shown.receipt, trust, shown.tlogProof);
    case 'mandate':
      return checkMandate(shown.bundle, shown.receipt, trust);
    case 'absence':
      return checkAbsence(shown.document, trust, beside.question);
    case 'inclusion':
      return checkInclusion(shown.answer, trust);
    case 'checkpoint':
      return single('checkpoint', () => {
        const { size, witnessed, map_verified } = verifyCheckpoint(shown.text, trust);
        return {
          detail: `${String(witnessed)} witnesses, ${String(map_verified)} monitors`,
          summary: `The log signed this checkpoint of ${String(size)} entries.`,
          not_proven: ALWAYS,
          seen: { origin: trust.origin, note: shown.text, size },
        };
      });
    case 'tlog_proof':
      return checkProof(shown.text, trust, beside.receipt.trim());
  }
}

/** Checks a receipt, with the tlog-proof that came beside it, if one did. */
function checkReceipt(receipt: Json, trust: Trust, tlogProof: string | undefined): Finding {
  const options = tlogProof === undefined ? {} : { tlogProof };
  const { valid, checks, statement, index, size } = verifyReceipt(receipt, trust, options);
  if (!valid || statement === null || index === null) return refusal(checks);
  const members = parsed(receipt as JsonObject | string);
  const log = objectOf(members.log);
  const place =
    tlogProof === undefined
      ? { note: textOf(log.checkpoint), path: base64Path(log.inclusion_proof) }
      : { note: parseTlogProof(tlogProof).checkpoint, path: parseTlogProof(tlogProof).path };
  const leaf = textOf(members.entry_hash);
  return {
    valid,
    verdict: 'VALID',
    summary:
      size === undefined
        ? 'The log signed this entry. That it is in the log is not shown: there is no proof beside it.'
        : `The log signed this entry, and it is entry ${String(index)} in the tree of ${String(size)} entries.`,
    lines: checks,
    not_proven: [...declaimed(statement), ...OF_RECEIPTS],
    statement,
    ...(size === undefined ? {} : placed(trust, leaf, index, place.note, place.path)),
  };
}

function checkMandate(bundle: JsonObject, receipt: JsonObject, trust: Trust): Finding {
  const signed = checkReceipt(receipt, trust, undefined);
  if (!signed.valid) return signed;
  const lines = [...signed.lines, mandateLine(bundle, receipt)];
  if (lines.at(-1)?.outcome === 'failed') return refusal(lines);
  const summary = `${signed.summary} It commits to the terms of the bundle.`;
  return { ...signed, lines, summary };
}

/** What the receipt itself says that it does not say, under its signature. */
const declaimed = ({ does_not_assert }: JsonObject): string[] =>
  Array.isArray(does_not_assert)
    ? does_not_assert.map((one) => `It says of itself: ${String(one).replaceAll('_', ' ')}.`)
    : [];

function checkAbsence(
  document: JsonObject | string,
  trust: Trust,
  asked: Question | null,
): Finding {
  const members = parsed(document);
  const question = asked ?? (members.question as unknown as Question);
  return single('document', () => {
    const result = verifyAbsence(document, question, trust);
    const { verdict, proof, as_of_ms } = result;
    const note = textOf(members.checkpoint);
    const { size } = verifyCheckpoint(note, trust);
    return {
      verdict,
      summary: absenceWords(question, result, {
        more: members.more === true,
        origin: trust.origin,
      }),
      detail: `proof of type ${proof}, log as of ${new Date(as_of_ms).toISOString()}`,
      more: absenceLines(result),
      not_proven: OF_ABSENCE,
      moments: momentsOf(members, question, as_of_ms),
      seen: { origin: trust.origin, note, size },
    };
  });
}

function checkInclusion(answer: JsonObject, trust: Trust): Finding {
  return single('inclusion', () => {
    const note = textOf(answer.checkpoint);
    const { index = null, entry = null, path = null } = answer;
    const tree = verifyCheckpoint(note, trust);
    const opened = openEntry({ index, entry, path }, tree, trust);
    const leaf = toHex(opened.leafHash);
    return {
      detail: `entry ${String(opened.index)} of ${String(tree.size)}`,
      summary: `The log signed this entry, and it is entry ${String(opened.index)} in the tree of ${String(tree.size)} entries.`,
      not_proven: OF_RECEIPTS,
      statement: opened.statement,
      ...placed(trust, leaf, opened.index, note, base64Path(path)),
    };
  });
}

function checkProof(proof: string, trust: Trust, receipt: string): Finding {
  if (receipt === '') {
    throw new Unknown(
      'A tlog-proof shows that some entry has a place: put the receipt, or the text of the entry, beside it.',
    );
  }
  if (readObject(receipt).entry_hash !== undefined) return checkReceipt(receipt, trust, proof);
  return single('inclusion', () => {
    const { index, size } = verifyTlogProof(proof, receipt, trust);
    const { path, checkpoint } = parseTlogProof(proof);
    const leaf = toHex(portable.sha256(utf8(`\0${receipt}`)));
    return {
      detail: `entry ${String(index)} of ${String(size)}`,
      summary: `The entry is in the tree of ${String(size)} entries.`,
      not_proven: OF_PLACES,
      ...placed(trust, leaf, index, checkpoint, path),
    };
  });
}

type Single = Omit<Finding, 'valid' | 'verdict' | 'lines'> & {
  readonly detail: string;
  readonly verdict?: string;
  readonly more?: readonly Line[];
};

/** One check that throws for what does not hold. */
function single(name: string, run: () => Single): Finding {
  try {
    const { detail, more = [], verdict = 'VALID', ...found } = run();
    return { valid: true, verdict, lines: [{ name, outcome: 'ok', detail }, ...more], ...found };
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    return refusal([{ name, outcome: 'failed', detail: error.message }]);
  }
}

/** The way of an entry whose inclusion holds, and the note that it stands under. */
function placed(
  trust: Trust,
  leaf: string,
  index: number,
  note: string,
  path: readonly Uint8Array[],
): Pick<Finding, 'seen'> & { readonly way: Way } {
  const { size } = verifyCheckpoint(note, trust);
  const steps = stepsOfInclusion(portable, { index, size, leafHash: fromHex(leaf, 32), path });
  return {
    seen: { origin: trust.origin, note, size },
    way: {
      index,
      size,
      leaf,
      steps: steps.map(({ sibling, left, node }) => ({
        sibling: toHex(sibling),
        left,
        node: toHex(node),
      })),
    },
  };
}

const base64Path = (path: Json | undefined): Uint8Array[] =>
  Array.isArray(path) ? path.map((hash) => fromBase64(String(hash), 32)) : [];

const parsed = (document: JsonObject | string): JsonObject =>
  typeof document === 'string' ? readObject(document) : document;
