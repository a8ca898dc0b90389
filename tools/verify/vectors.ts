// Verdicts on test vectors: Ed25519 signatures in the form of C2SP/CCTV, absence documents in the form of
// test/vectors/absence.json. The files are of whoever runs the command; a shape that is none says so.

import { policyOf } from '../../log/operate.ts';
import { isLogError, portable, verifyAbsence, verifySignature } from '../../log/verify.ts';
import type { Question, Trust } from '../../log/verify.ts';
import { isJsonObject, native } from '../../log/index.ts';
import type { Json, JsonObject, Suite } from '../../log/index.ts';
import { CommandError, EXIT } from '../command-line.ts';

/** What is said of one vector. */
export type VectorVerdict = Readonly<Record<string, Json>>;

/** The suite of this name; null when there is none. */
export function suiteOf(name: string): Suite | null {
  if (name === 'native') return native;
  return name === 'portable' ? portable : null;
}

/**
 * The verdicts in the order of the file: `{number, valid}` of signatures; of documents `{name, verdict}` or
 * `{name, refused}` with the reason.
 *
 * @throws CommandError for a file of another shape
 */
export function verdicts(file: Json, suite: Suite): readonly VectorVerdict[] {
  if (Array.isArray(file)) return file.map((vector) => signatureVerdict(vector as Json, suite));
  if (isJsonObject(file) && Array.isArray(file['documents'])) return absenceVerdicts(file, suite);
  throw new CommandError('these are no vectors that actlog knows', EXIT.unknown);
}

function signatureVerdict(vector: Json, suite: Suite): VectorVerdict {
  if (!isJsonObject(vector)) throw shapeless();
  const { number = null, key, msg, sig } = vector;
  if (typeof key !== 'string' || typeof msg !== 'string' || typeof sig !== 'string') {
    throw shapeless();
  }
  const publicKey = Buffer.from(key, 'hex');
  const signed = { publicKey, message: Buffer.from(msg), signature: Buffer.from(sig, 'hex') };
  return { number, valid: verifySignature(signed, { suite }) };
}

function absenceVerdicts(file: JsonObject, suite: Suite): readonly VectorVerdict[] {
  const { documents, refused = [] } = file as unknown as AbsenceVectors;
  const trust = trustOf(file as unknown as AbsenceVectors, suite);
  return [...documents, ...refused].map(({ name, doc, text, question }) => {
    const document = text ?? doc ?? null;
    const asked = question ?? (doc?.['question'] as unknown as Question);
    try {
      return { name, verdict: verifyAbsence(document, asked, trust, { suite }).verdict };
    } catch (error) {
      if (!isLogError(error)) throw error;
      return { name, refused: error.message };
    }
  });
}

interface AbsenceVectors {
  readonly origin: string;
  readonly vkey: string;
  readonly jwk: Trust['keys'][number]['jwk'] & { readonly kid: string };
  readonly witnesses: readonly { readonly vkey: string }[];
  readonly documents: readonly AbsenceVector[];
  readonly refused?: readonly AbsenceVector[];
}

interface AbsenceVector {
  readonly name: string;
  readonly doc?: JsonObject;
  readonly text?: string;
  /** Stands with what is refused; a document that holds is asked its own. */
  readonly question?: Question;
}

/** The vectors' documents are checked with two cosignatures. */
const WITNESSES_NEEDED = 2;

function trustOf({ origin, vkey, jwk, witnesses }: AbsenceVectors, suite: Suite): Trust {
  const { kid, kty, crv, x } = jwk;
  const keys = witnesses.map((witness) => witness.vkey);
  const policy = policyOf(suite, WITNESSES_NEEDED, keys);
  return { origin, vkey, keys: [{ kid, jwk: { kty, crv, x } }], policy };
}

const shapeless = (): CommandError =>
  new CommandError('a vector has number, key, msg and sig', EXIT.unknown);
