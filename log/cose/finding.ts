// The verifier of COSE messages (RFC 9052): RFC 9942 receipts, AIR statements, and other signed statements with
// receipts in label 394. It uses the keys of the caller's kit, and never a key from the message. Browser-safe.

import { equal, fromUtf8, toHex } from '../encoding/bytes.ts';
import type { JsonObject } from '../encoding/json.ts';
import { isLogError } from '../errors.ts';
import {
  leafHashOf,
  Lines,
  memberOf,
  NOT_PROVEN,
  objectOf,
  objectsOf,
  parsedOf,
  refuse,
  suiteOf,
  textOf,
  wayOf,
} from '../verify/finding.ts';
import type { Asked, Finding, Verifier, Way } from '../verify/finding.ts';
import { heldEntry } from '../verify/receipt-finding.ts';
import type { Trust } from '../verify/trust.ts';
import {
  coseThumbprint,
  publicJwk,
  CLAIM,
  ENTRY_LABEL,
  HEADER,
  RECEIPT_PROFILE,
  decodeSign1,
  toBeSigned,
  withoutUnprotected,
  verifyCose,
} from './sign1.ts';
import { isReceipt, openInclusion } from './receipt.ts';
import type { CoseSign1 } from './sign1.ts';

const AIR_TYPE = 'application/air+json';

/** Statements that no COSE message proves. */
export const COSE_NOT_PROVEN = [
  NOT_PROVEN[0],
  'The checkpoint behind the receipt is signed by a COSE key of the kit; witnesses do not sign this form.',
];

/** COSE_Sign1 messages: a receipt with its entry, or a statement with receipts. */
export const coseVerifier: Verifier = {
  kind: 'cose',
  title: 'a COSE message',

  /** The subject of the receipt, which is the origin of the log. */
  originOf(document) {
    if (!(document instanceof Uint8Array)) return null;
    try {
      const message = decodeSign1(document);
      const receipt = isReceipt(message) ? message : receiptsIn(message)[0];
      const claims = receipt?.protected.get(HEADER.cwt_claims);
      const subject: unknown = claims instanceof Map ? claims.get(CLAIM.sub) : null;
      return typeof subject === 'string' ? subject : null;
    } catch (error) {
      if (isLogError(error)) return null;
      throw error;
    }
  },

  async check(document, trust, asked) {
    const lines = new Lines();
    const bytes = document instanceof Uint8Array ? document : new Uint8Array();
    const message = await lines.take('cose_form', () => [
      `COSE_Sign1 of ${String(bytes.length)} bytes`,
      decodeSign1(bytes),
    ]);
    if (message === undefined) return lines.finding('');
    if (isReceipt(message)) {
      const found = await receiptLines(lines, message, trust, asked);
      return lines.finding('the log signed this entry and a tree that holds it', found);
    }
    if (message.protected.get(HEADER.content_type) === AIR_TYPE) {
      return checkAirStatement(lines, message, trust, asked);
    }
    await lines.run('cose_signature', () => ({
      not_shown: 'the kit has no keys of other issuers',
    }));
    const registered = toHex(suiteOf(asked).sha256(withoutUnprotected(message)));
    let found: Partial<Finding> = {};
    await lines.run('cose_receipt', async () => {
      const [first] = receiptsIn(message);
      if (first === undefined) return refuse('the statement carries no receipt');
      found = await receiptLines(lines, first, trust, asked);
      const entry = parsedOf(entryOf(first, asked) ?? '{}');
      if (entry.statement_sha256 === registered) return 'the entry names this statement';
      return refuse('the entry of the receipt names another statement');
    });
    return lines.finding('the log registered this statement', found);
  },
};

/** Checks an AIR statement: a signed record that carries the receipt of its entry. */
async function checkAirStatement(
  lines: Lines,
  message: CoseSign1,
  trust: Trust,
  asked: Asked,
): Promise<Finding> {
  await lines.run('cose_signature', async () => {
    const payload = message.payload ?? refuse('the payload is detached');
    await checkSigned(message, toBeSigned(message.protectedBytes, payload), 'air', trust, asked);
    return 'by an AIR key of the kit';
  });
  const record = await lines.take('cose_receipt', async () => {
    const read = parsedOf(fromUtf8(message.payload ?? new Uint8Array()));
    const named = /^[0-9a-f]{64}$/.exec(textOf(read.outcome_hash))?.[0] ?? '';
    const leaf = Uint8Array.from(named.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    const [receipt] = receiptsIn(message);
    const entry = receipt?.unprotected.get(ENTRY_LABEL);
    if (entry instanceof Uint8Array && !equal(leafHashOf(suiteOf(asked), utf8Of(entry)), leaf)) {
      return refuse('the receipt carries another entry than that of outcome_hash');
    }
    const { detail, way } = await checkPlace(receipt, leaf, trust, asked);
    return [detail, { statement: read, way }];
  });
  const found = { ...record, not_proven: COSE_NOT_PROVEN };
  return lines.finding('the record is signed, and its entry is in the log', found);
}

/** Checks a receipt with its entry: the signature of the entry, and its inclusion in the log. */
async function receiptLines(
  lines: Lines,
  receipt: CoseSign1,
  trust: Trust,
  asked: Asked,
): Promise<Partial<Finding>> {
  const entry = entryOf(receipt, asked);
  const statement = await lines.take('entry', () => {
    if (entry === undefined) {
      return refuse('the receipt carries no entry: its exact text must come with it');
    }
    const said = heldEntry(entry, trust, asked);
    return [`the log signed ${textOf(said.entry_id)}`, said];
  });
  if (entry === undefined) return {};
  const leaf = leafHashOf(suiteOf(asked), entry);
  const way = await lines.take('inclusion', async () => {
    const place = await checkPlace(receipt, leaf, trust, asked);
    return [place.detail, place.way];
  });
  return {
    not_proven: COSE_NOT_PROVEN,
    ...(statement === undefined ? {} : { statement }),
    ...(way === undefined ? {} : { way }),
  };
}

/** The text of the entry that a receipt carries, or that the caller gave; undefined if there is none. */
function entryOf(receipt: CoseSign1, { receipt: given }: Asked): string | undefined {
  const entry = receipt.unprotected.get(ENTRY_LABEL);
  if (entry instanceof Uint8Array) return utf8Of(entry);
  const text = given?.trim();
  return text === '' ? undefined : text;
}

const utf8Of = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

async function checkPlace(
  receipt: CoseSign1 | undefined,
  leaf: Uint8Array,
  trust: Trust,
  asked: Asked,
): Promise<{ readonly detail: string; readonly way: Way }> {
  const way = await checkCoseReceipt(receipt, leaf, trust, asked);
  const { index, size } = way;
  return { detail: `entry ${String(index)} of ${String(size)}, ${way.leaf.slice(0, 16)}…`, way };
}

/**
 * Checks the receipt of a leaf by a COSE key of the kit.
 *
 * @throws LogError `document_invalid`, `proof_invalid`, `encoding_invalid`
 */
export async function checkCoseReceipt(
  receipt: CoseSign1 | undefined,
  leafHash: Uint8Array,
  trust: Trust,
  asked: Asked,
): Promise<Way> {
  if (receipt === undefined) return refuse('label 394 has no receipt');
  const typ = receipt.protected.get(HEADER.typ) ?? RECEIPT_PROFILE;
  if (typ !== RECEIPT_PROFILE) return refuse('the receipt is of another profile');
  const suite = suiteOf(asked);
  const { index, size, path, signed } = openInclusion(suite, receipt, leafHash);
  await checkSigned(receipt, signed, 'cose', trust, asked);
  return wayOf(suite, { index, size, path, leafHash });
}

/** The receipts in label 394. */
export function receiptsIn(message: CoseSign1): CoseSign1[] {
  const receipts = message.unprotected.get(HEADER.receipts) ?? [];
  if (!Array.isArray(receipts)) return refuse('label 394 is not a list');
  return (receipts as readonly unknown[]).map((bytes) =>
    bytes instanceof Uint8Array
      ? decodeSign1(bytes)
      : refuse('a receipt in label 394 is not bytes'),
  );
}

/** The keys of one purpose and log in a kit. AIR keys are in the member `keys`, COSE keys in `cose_keys`. */
const keysOf = ({ kit = {} }: Asked, purpose: string, origin: string): JsonObject[] =>
  [kit.keys, kit.cose_keys]
    .flatMap((set) => objectsOf(objectOf(set).keys))
    .filter((jwk) => jwk.purpose === purpose && jwk.origin === origin);

/** The key with this kid in a kit, of one purpose and log; undefined if there is none. */
export const kitKey = (
  asked: Asked,
  purpose: string,
  kid: string | null,
  origin: string,
): JsonObject | undefined =>
  keysOf(asked, purpose, origin).find((jwk) => memberOf(jwk, 'kid') === kid);

/**
 * Checks that the bytes are signed by a key of this purpose in the kit. The message names it by its RFC 9679
 * thumbprint.
 *
 * @throws LogError `document_invalid`, `key_invalid`
 */
export async function checkSigned(
  message: CoseSign1,
  signed: Uint8Array,
  purpose: string,
  { origin }: Trust,
  asked: Asked,
): Promise<void> {
  const suite = suiteOf(asked);
  const kid = message.protected.get(HEADER.kid);
  const key = keysOf(asked, purpose, origin)
    .map((jwk) => publicJwk(jwk))
    .find((jwk) => kid instanceof Uint8Array && equal(coseThumbprint(suite, jwk), kid));
  if (key === undefined) return refuse('kid is none of the keys of this purpose in the kit');
  const alg = message.protected.get(HEADER.alg);
  if (await verifyCose(suite, key, alg, signed, message.signature)) return;
  refuse('the signature is not valid');
}
