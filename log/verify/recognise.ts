// Finds the verifier of a document by its content, and runs it. Recognising a document verifies nothing.

import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { fromUtf8 } from '../encoding/bytes.ts';
import { objectOf, parseDocument, Unanswerable, untold } from './finding.ts';
import type { Asked, Finding, Line, Shown, Verifier } from './finding.ts';
import type { Trust } from './trust.ts';

/** The first byte of a tagged COSE_Sign1 message. No UTF-8 text begins with it. */
export const SIGN1 = 0xd2;

/** The schema of offline verification kits. A kit is not checked; other documents are checked with it. */
export const KIT_SCHEMA = 'svc-offline-verify-kit-v1';

/** Why a document cannot be checked if the kit does not have its log. */
export const STRANGE_LOG =
  'a log that is younger than the kit, such as a successor, needs a newer kit';

/**
 * Recognises the documents in a file: one, or several if it is an answer with absence documents about several surfaces.
 * A kit is recognised as kind `kit` with its text.
 *
 * @throws LogError `json_invalid`, `encoding_invalid` for malformed JSON or UTF-8
 * @throws Unanswerable if no verifier checks the document
 */
export function recognise(verifiers: readonly Verifier[], bytes: Uint8Array): readonly Shown[] {
  if (bytes[0] === SIGN1) return [{ kind: 'cose', document: Uint8Array.from(bytes) }];
  // Decoded with replacement characters to recognise the type. `fromUtf8` refuses malformed UTF-8 afterwards.
  const lossy = new TextDecoder().decode(bytes);
  const json = /^\s*\{/.test(lossy);
  const proof = lossy.startsWith('c2sp.org/tlog-proof@v1\n');
  if (!json && !proof && !lossy.includes('\n\n— ')) throw new Unanswerable(NONE);
  const text = fromUtf8(bytes);
  if (json) return recogniseJson(verifiers, text);
  return [{ kind: proof ? 'tlog_proof' : 'checkpoint', document: text }];
}

const NONE =
  'this is no receipt, absence document, kit, tlog-proof or checkpoint that actlog knows';

function recogniseJson(verifiers: readonly Verifier[], text: string): readonly Shown[] {
  const value = parseDocument(text) as JsonObject;
  const { schema } = value;
  if (schema === KIT_SCHEMA) return [{ kind: 'kit', document: text }];
  const several = witnessesOf(value);
  if (several !== null) return several;
  const named = verifiers.find(
    ({ schemas = [] }) => typeof schema === 'string' && schemas.includes(schema),
  );
  if (named !== undefined) return [{ kind: named.kind, document: value }];
  for (const verifier of verifiers) {
    const shown = verifier.recognise?.(value, text) ?? null;
    if (shown !== null) return [shown];
  }
  throw new Unanswerable(unknownJson(value));
}

/** The absence documents in an answer about several surfaces; null for any other answer. */
function witnessesOf(answer: JsonObject): readonly Shown[] | null {
  const { witnesses, schema, signature } = answer;
  if (!Array.isArray(witnesses) || schema !== undefined || signature !== undefined) return null;
  const beside = besideOf(answer, 'witnesses');
  const documents = (witnesses as readonly Json[]).filter(isJsonObject);
  if (documents.length === 0) throw new Unanswerable('this answer holds no absence document');
  return documents.map((document) => ({ kind: 'absence', document, ...beside }));
}

function unknownJson(value: JsonObject): string {
  if (isMoreThanReceipt(value)) {
    const which =
      value.schema === undefined ? 'without a schema' : 'of a schema that actlog does not know';
    return `this is a document ${which}: the receipt in it does not speak for the rest`;
  }
  if (value.found === false) return 'the service has not found that receipt: nothing to check';
  const { code, message } = objectOf(value.error);
  if (typeof message === 'string') {
    // Quoted, because the text comes from the author of the document.
    const said = typeof code === 'string' ? `${code}: ${message}` : message;
    return `the service answered with an error, nothing to check: ${JSON.stringify(said.slice(0, 300))}`;
  }
  return 'this JSON is no receipt, absence document, proof or kit that actlog knows';
}

/** Members of documents that are checked as a whole. An answer with a receipt has none of them. */
const OF_DOCUMENTS = [
  ...['question', 'verdict', 'map_head', 'witness', 'witnesses', 'document', 'bundle'],
  ...['entries_root', 'sealed_at', 'signature', 'record', 'records', 'cose_sign1_b64', 'logs'],
];

/**
 * Whether an object with a receipt is itself a document, and not an answer around a receipt. Otherwise an attacker
 * could change a document and its schema, and the valid receipt in it would make the whole appear valid.
 */
export const isMoreThanReceipt = (value: JsonObject): boolean =>
  isJsonObject(value.receipt ?? null) &&
  (value.schema !== undefined || OF_DOCUMENTS.some((name) => value[name] !== undefined));

/** Members of every answer, which need no check. */
const BARE = ['ok', 'found'];

/** The names of the members of an answer that are not checked. */
export function besideOf(answer: JsonObject, ...checked: readonly string[]): Pick<Shown, 'beside'> {
  const names = Object.keys(answer).filter(
    (name) => !BARE.includes(name) && !checked.includes(name),
  );
  return names.length === 0 ? {} : { beside: names };
}

/** How many unchecked members a line names. */
const NAMED = 3;

/**
 * The line about the unchecked members of an answer. Only plain names are printed, because an attacker may choose them.
 */
export function besideLines(part: string, { beside }: Pick<Shown, 'beside'>): Line[] {
  if (beside === undefined) return [];
  const plain = beside.filter((name) => /^[a-z][a-z0-9_]{0,39}$/.test(name)).slice(0, NAMED);
  const such = plain.length === 0 ? '' : `, such as ${plain.join(', ')},`;
  const detail = `the answer's other members${such} are not checked: only ${part}`;
  return [{ name: 'answer', outcome: 'not_shown', detail }];
}

/** The verifier of a recognised document. */
export function verifierOf(verifiers: readonly Verifier[], { kind }: Shown): Verifier {
  const verifier = verifiers.find((one) => one.kind === kind);
  if (verifier === undefined)
    throw new Unanswerable(`no verifier checks documents of kind ${kind}`);
  return verifier;
}

/**
 * The log of a kit to check a document with: the one that the document claims. A document that claims none fails with
 * any log, so the first one is used.
 *
 * @throws Unanswerable if the kit does not have the log
 */
export function logOf(
  verifiers: readonly Verifier[],
  shown: Shown,
  origins: readonly string[],
): string {
  const claimed = verifierOf(verifiers, shown).originOf(shown.document);
  const origin = claimed === null ? origins[0] : origins.find((known) => known === claimed);
  if (origin !== undefined) return origin;
  // Quoted, because the text comes from the author of the document.
  const log = JSON.stringify((claimed ?? '').slice(0, 200));
  throw new Unanswerable(`the kit does not know the log ${log}: ${STRANGE_LOG}`);
}

/** Whether an origin is that of a sandbox log (log/FORMAT.md §1). */
export const isSandbox = (origin: string): boolean => /\/log\/sandbox\/[1-9][0-9]*$/u.test(origin);

/**
 * Checks a recognised document with the trusted keys of one log.
 *
 * @throws Unanswerable if the caller must give more
 */
export async function check(
  verifiers: readonly Verifier[],
  shown: Shown,
  trust: Trust,
  asked: Asked = {},
): Promise<Finding> {
  const verifier = verifierOf(verifiers, shown);
  const { tlogProof } = shown;
  const finding = await verifier.check(
    shown.document,
    trust,
    tlogProof === undefined ? asked : { ...asked, tlogProof },
  );
  const checks = [...finding.checks, ...besideLines(verifier.part ?? 'its receipt', shown)];
  const hint = finding.valid ? null : untold(checks);
  // The origin is signed, and receipts repeat it as `sandbox`.
  if (finding.valid && isSandbox(trust.origin)) return { ...finding, checks, sandbox: true };
  if (hint === null) return { ...finding, checks };
  return { ...finding, checks, untold: true, summary: `${finding.summary}; ${hint}` };
}
