// Runs the check that fits what was shown, and puts what came of it in one shape for people and programs.

import { isJsonObject, native, parseJson } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import { LogError, verifyAbsence, verifyCheckpoint, verifyReceipt } from '../../log/verify.ts';
import type { Question, ReceiptResult, Trust } from '../../log/verify.ts';
import { openEntry, verifyTlogProof } from '../../log/verify.ts';
import { verifySlotProof } from '../../plugins/clearing/index.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { absenceLines, absenceWords } from '../../gateway/static/verify/absence-words.ts';
import { besideLines } from '../../gateway/static/verify/beside.ts';
import { untold } from '../../gateway/static/verify/finding.ts';
import type { Line } from '../../gateway/static/verify/finding.ts';
import { mandateLine } from '../../gateway/static/verify/mandate.ts';
import { checkAirSession } from './air-session.ts';
import { checkAir } from './air.ts';
import { checkCose, coseOrigin } from './cose.ts';
import { firstLine, objectOf, text } from './reading.ts';
import { MAX_BYTES, type Shown } from './recognise.ts';
import { checkSealed } from './sealed-document.ts';

export type { Line } from '../../gateway/static/verify/finding.ts';

/** What a check came to. */
export interface Outcome {
  readonly valid: boolean;
  /** Stands beside `valid: false` where nothing is known to be wrong, and the kit is too small to tell. */
  readonly untold?: true;
  readonly checks: readonly Line[];
  /** One sentence: what is shown, or what is wrong. */
  readonly summary: string;
  /** Members of the JSON output beside these. */
  readonly facts: JsonObject;
}

/** What the caller brings beside the thing and the trust. */
export interface Beside {
  /** A C2SP tlog-proof of the receipt. */
  readonly tlogProof?: string;
  /** A receipt, or the text of an entry, that a tlog-proof is of. */
  readonly receipt?: string;
  readonly question?: Question;
  /** The kit, whose keys of other purposes AIR and COSE are checked with. */
  readonly kit?: JsonObject;
}

/** The origin that a thing claims to be of, to choose among the logs of a kit; null when it has none. */
export function claimedOrigin(shown: Shown): string | null {
  switch (shown.kind) {
    case 'receipt':
    case 'mandate':
      return text(objectOf(shown.receipt)['origin']);
    case 'absence':
      return firstLine(text(objectOf(shown.document)['checkpoint']));
    case 'sealed':
      return text(objectOf(shown.document['receipt'] ?? null)['origin']);
    case 'clearing':
      return text(objectOf(shown.proof['slot'] ?? null)['origin']);
    case 'inclusion':
      return firstLine(text(shown.answer['checkpoint']));
    case 'checkpoint':
      return firstLine(shown.text);
    case 'tlog_proof':
      return firstLine(shown.text.slice(shown.text.indexOf('\n\n') + 2));
    case 'air':
    case 'air_session':
      return text(shown.document['origin']);
    case 'cose':
      return coseOrigin(shown.bytes);
    case 'kit':
      return null;
  }
}

type Checked = Exclude<Shown, { kind: 'kit' }>;

/** Checks one thing against one log that is trusted. */
export function check(shown: Checked, trust: Trust, beside: Beside): Outcome {
  const outcome = checkShown(shown, trust, beside);
  const checks = [...outcome.checks, ...besideLines(shown)];
  const hint = outcome.valid ? null : untold(checks);
  if (hint === null) return { ...outcome, checks };
  return { ...outcome, checks, untold: true, summary: `${outcome.summary}; ${hint}` };
}

function checkShown(shown: Checked, trust: Trust, beside: Beside): Outcome {
  switch (shown.kind) {
    case 'receipt':
      return checkReceipt(shown.receipt, trust, shown.tlogProof ?? beside.tlogProof);
    case 'mandate':
      return checkMandate(shown.bundle, shown.receipt, trust, beside.tlogProof);
    case 'absence':
      return checkAbsence(shown.document, trust, beside.question);
    case 'sealed':
      return checkSealed(shown.document, trust);
    case 'clearing':
      return single('clearing', () => slotWords(shown.proof, trust));
    case 'inclusion':
      return single('inclusion', () => {
        const tree = verifyCheckpoint(text(shown.answer['checkpoint']) ?? '', trust, NATIVE);
        const { index = null, entry = null, path = null } = shown.answer;
        const opened = openEntry({ index, entry, path }, tree, trust, NATIVE);
        return {
          detail: `entry ${String(opened.index)} of ${String(tree.size)}`,
          summary: `the log signed this entry, and it is in the tree of ${String(tree.size)} entries`,
        };
      });
    case 'checkpoint':
      return single('checkpoint', () => {
        const { size, witnessed, map_verified } = verifyCheckpoint(shown.text, trust, NATIVE);
        const seen = `${String(witnessed)} witnesses, ${String(map_verified)} monitors`;
        return {
          detail: `tree of ${String(size)} entries, ${seen}`,
          summary: `the log signed this checkpoint of ${String(size)} entries`,
        };
      });
    case 'air':
      return checkAir(shown.document, trust, beside.kit ?? {});
    case 'air_session':
      return checkAirSession(shown.document, trust, beside.kit ?? {});
    case 'cose':
      return checkCose(shown.bytes, trust, beside.kit ?? {}, beside.receipt);
    case 'tlog_proof':
      return checkProof(shown.text, trust, beside.receipt);
  }
}

const NATIVE = { suite: native };

/** Checks a receipt, with the proof that came beside it. */
function checkReceipt(receipt: Json, trust: Trust, tlogProof: string | undefined): Outcome {
  const result = verifyReceipt(receipt, trust, {
    suite: native,
    ...(tlogProof === undefined ? {} : { tlogProof }),
  });
  const { valid, checks, entry_id, index, origin, size } = result;
  return {
    valid,
    checks: checks.map(({ name, outcome, detail }) => ({ name, outcome, detail })),
    summary: receiptSummary(result),
    facts: { entry_id, index, origin, ...(size === undefined ? {} : { size }) },
  };
}

function checkMandate(
  bundle: JsonObject,
  receipt: JsonObject,
  trust: Trust,
  tlogProof: string | undefined,
): Outcome {
  const signed = checkReceipt(receipt, trust, tlogProof);
  if (!signed.valid) return signed;
  const terms = mandateLine(bundle, receipt);
  const checks = [...signed.checks, terms];
  if (terms.outcome === 'failed') {
    return { ...signed, valid: false, checks, summary: `terms failed: ${terms.detail}` };
  }
  const summary = `${signed.summary}; it commits to the terms of the bundle`;
  return { ...signed, checks, summary };
}

function receiptSummary({ valid, checks, size }: ReceiptResult): string {
  if (!valid) {
    const first = checks.find(({ outcome }) => outcome === 'failed');
    return `${label(first?.name ?? '')} failed: ${first?.detail ?? ''}`;
  }
  return size === undefined
    ? 'the log signed this entry; that it is in the log is not shown: there is no proof beside it'
    : `the log signed this entry, and it is in the tree of ${String(size)} entries`;
}

function checkAbsence(
  document: JsonObject | string,
  trust: Trust,
  question: Question | undefined,
): Outcome {
  if (question === undefined) {
    const asked = JSON.stringify(objectOf(document)['question'] ?? null);
    throw new CommandError(
      'an absence document proves nothing of a question that you have not asked: give --key, --from and ' +
        `--to, or --as-asked to take the document's own: ${asked}`,
      EXIT.unknown,
    );
  }
  try {
    const result = verifyAbsence(document, question, trust, NATIVE);
    const { verdict, proof, entries, as_of_ms } = result;
    const { witnessed, map_verified, lag_ms, heartbeat_interval_ms } = result;
    const until = new Date(as_of_ms).toISOString();
    const shown = shownEntries(document);
    const page = { more: objectOf(document)['more'] === true, origin: trust.origin };
    return {
      valid: true,
      checks: [
        { name: 'document', outcome: 'ok', detail: `proof of type ${proof}, log as of ${until}` },
        ...shown.map(entryLine),
        ...absenceLines(result),
      ],
      summary: absenceWords(question, result, page),
      facts: {
        question: { ...question, key: [...question.key] },
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
    };
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    return failed('document', error);
  }
}

/** The entries of a document that holds, oldest first: what the log has under these names. */
function shownEntries(document: JsonObject | string): JsonObject[] {
  const { entries = [] } = objectOf(document);
  return (entries as readonly { readonly entry: string }[]).map(({ entry }) => {
    const { index = null, entry_id = null, type = null, issued_at_ms = null } = objectOf(entry);
    return { index, entry_id, type, issued_at_ms };
  });
}

function entryLine({ index, entry_id, type, issued_at_ms }: JsonObject): Line {
  const when = new Date(issued_at_ms as number).toISOString();
  const detail = `${JSON.stringify(index)}, logged ${when}: ${named(type)} ${named(entry_id)}`;
  return { name: 'entry', outcome: 'ok', detail };
}

/** A log may sign what the format forbids: nothing of it reaches a terminal as more than a name. */
const named = (value: Json | undefined): string =>
  typeof value === 'string' && /^[\w.-]{1,256}$/.test(value) ? value : '?';

function slotWords(proof: JsonObject, trust: Trust): { detail: string; summary: string } {
  const { leaf, receipt } = verifySlotProof(proof, trust);
  const { week, tenant_ref, acts, net_micro_usd } = leaf;
  return {
    detail: `leaf of ${tenant_ref}, slot at entry ${String(receipt.index)} of ${String(receipt.size)}`,
    summary: `the slot ${week} commits to ${String(acts)} acts of this tenant, net ${net_micro_usd} micro-USD`,
  };
}

/** A proof alone shows a place; with the entry, that the entry has it. */
function checkProof(proof: string, trust: Trust, receipt: string | undefined): Outcome {
  if (receipt === undefined) {
    throw new CommandError(
      'a tlog-proof shows that some entry has a place: give --receipt FILE with the receipt or the entry',
      EXIT.unknown,
    );
  }
  if (isReceipt(receipt)) return checkReceipt(receipt, trust, proof);
  return single('inclusion', () => {
    const { index, size } = verifyTlogProof(proof, receipt.trimEnd(), trust, NATIVE);
    return {
      detail: `entry ${String(index)} of ${String(size)}`,
      summary: `the entry is in the tree of ${String(size)} entries`,
    };
  });
}

/** Whether what `--receipt` names is a receipt; else it is an entry. */
function isReceipt(text: string): boolean {
  try {
    const value = parseJson(text, { fractions: true, maxBytes: MAX_BYTES });
    return isJsonObject(value) && value['entry_hash'] !== undefined;
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    throw new CommandError(`--receipt is no receipt and no entry: ${error.message}`, EXIT.unknown);
  }
}

function single(name: string, run: () => { detail: string; summary: string }): Outcome {
  try {
    const { detail, summary } = run();
    return { valid: true, checks: [{ name, outcome: 'ok', detail }], summary, facts: {} };
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    return failed(name, error);
  }
}

function failed(name: string, { message }: LogError): Outcome {
  const checks: Line[] = [{ name, outcome: 'failed', detail: message }];
  return { valid: false, checks, summary: message, facts: {} };
}

/** `entry_hash` as people read it. */
export const label = (name: string): string => name.replaceAll('_', ' ');
