// Signed notes (C2SP signed-note): a text, a blank line, and signature lines of the form
// `— <name> <base64(key id ‖ signature)>`. At the end, the signatures of witnesses over checkpoints, which carry a time
// (C2SP tlog-cosignature v1).

import {
  concat,
  fromBase64,
  readU32,
  readU64,
  toBase64,
  u32,
  u64,
  utf8,
} from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Suite } from '../crypto/suite.ts';
import { COSIGNER_KEY, isKeyName, makeVerifier } from './vkey.ts';
import type { Verifier } from './vkey.ts';

/** A good signature of a known key. */
export interface VerifiedSignature {
  readonly verifier: Verifier;
  /** As in the line, without the key id: 64 bytes, or 72 with a time. */
  readonly signature: Uint8Array;
  /** Seconds; on cosignatures. */
  readonly time_s?: number;
}

/** A note with at least one good signature. */
export interface OpenedNote {
  /** The signed text with its last newline. */
  readonly text: string;
  /** One for each known key, in the order of their first lines. */
  readonly verified: readonly VerifiedSignature[];
  /** How many lines are of keys that the caller does not know. */
  readonly unknown: number;
}

/** Longest note and most signature lines that are read; those of Go's note package. */
export const MAX_NOTE_BYTES = 1_000_000;
const MAX_SIGNATURES = 100;

/** A control character below U+0020 that is no newline: all others begin with the space. */
const CONTROL = /[^\n -\uffff]/;

/** The note of a text, which ends in a newline, and lines of `signatureLine`. */
export function formatNote(text: string, lines: readonly string[]): string {
  checkText(text);
  return `${text}\n${lines.join('')}`;
}

/** Splits a note at its last blank line; `note_invalid` when it is not one. Verifies no signature. */
export function splitNote(
  note: string,
  maxSignatures = MAX_SIGNATURES,
): { readonly text: string; readonly signatures: readonly SignatureLine[] } {
  // The length in characters first: what is far too long is not even scanned.
  if (note.length > MAX_NOTE_BYTES) throw tooLong();
  if (!isPlain(note)) throw invalid('note has a control character');
  // A unit has at most three bytes.
  if (3 * note.length > MAX_NOTE_BYTES && utf8(note).length > MAX_NOTE_BYTES) throw tooLong();
  if (!note.endsWith('\n')) throw invalid('note does not end in a newline');
  // Signature lines are never empty, so the last blank line is the border.
  const border = note.lastIndexOf('\n\n');
  if (border < 0) throw invalid('note has no blank line before its signatures');
  const lines = note.slice(border + 2, -1).split('\n');
  if (lines.length > maxSignatures) {
    throw invalid(
      `note has ${String(lines.length)} signatures, the limit is ${String(maxSignatures)}`,
    );
  }
  return { text: note.slice(0, border + 1), signatures: lines.map(parseSignatureLine) };
}

/**
 * Opens a note with the keys that the caller trusts. Lines of other keys are counted and otherwise
 * ignored; one bad line of a known key refuses the note, as does the lack of any good one. Of several
 * lines of one cosigner the newest counts.
 *
 * @throws LogError `note_invalid`; `key_invalid` for two keys with one name and key id.
 */
export function openNote(
  suite: Suite,
  note: string,
  verifiers: readonly Verifier[],
  options: { readonly maxSignatures?: number } = {},
): OpenedNote {
  checkDistinct(verifiers);
  const { text, signatures } = splitNote(note, options.maxSignatures);
  const verified = new Map<Verifier, VerifiedSignature>();
  let unknown = 0;
  for (const line of signatures) {
    const verifier = verifiers.find((known) => answersFor(known, line));
    if (verifier === undefined) {
      unknown += 1;
      continue;
    }
    const signature = verifyLine(suite, verifier, text, line.signature);
    const before = verified.get(verifier);
    if (before === undefined || (before.time_s ?? 0) < (signature.time_s ?? 0)) {
      verified.set(verifier, signature);
    }
  }
  if (verified.size === 0) throw invalid('note has no signature of a known key');
  return { text, verified: [...verified.values()], unknown };
}

function verifyLine(
  suite: Suite,
  verifier: Verifier,
  text: string,
  signature: Uint8Array,
): VerifiedSignature {
  if (verifier.type === COSIGNER_KEY) {
    const time_s = verifyCosignature(suite, verifier.publicKey, text, signature);
    if (time_s !== null) return { verifier, signature, time_s };
  } else if (suite.verify(verifier.publicKey, utf8(text), signature)) {
    return { verifier, signature };
  }
  throw invalid(`signature of ${verifier.name} does not hold`);
}

function answersFor(verifier: Verifier, line: Pick<SignatureLine, 'name' | 'key_id'>): boolean {
  return verifier.key_id === line.key_id && verifier.name === line.name;
}

function checkDistinct(verifiers: readonly Verifier[]): void {
  for (const [i, verifier] of verifiers.entries()) {
    // Key ids have 32 bits, so a second key can be found for the first one's.
    if (verifiers.findIndex((known) => answersFor(known, verifier)) < i) {
      throw new LogError('key_invalid', `two keys answer for ${verifier.name}`);
    }
  }
}

/** No control characters but newlines, and no lone surrogates. */
function isPlain(text: string): boolean {
  return text.isWellFormed() && !CONTROL.test(text);
}

function checkText(text: string): void {
  if (!isPlain(text)) throw invalid('note text has a control character');
  if (!text.endsWith('\n')) throw invalid('note text does not end in a newline');
}

function tooLong(): LogError {
  return invalid(`note is over ${String(MAX_NOTE_BYTES)} bytes`);
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('note_invalid', message, options);
}

/** What signs a note: a receipt or checkpoint `Signer`, or a key that a test holds. */
export interface NoteSigner {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /** Ed25519, 64 bytes. */
  sign(message: Uint8Array): Uint8Array;
}

/** A signature line as it stands, nothing verified. */
export interface SignatureLine {
  readonly name: string;
  readonly key_id: number;
  /** Without the key id; at least one byte. */
  readonly signature: Uint8Array;
}

const KEY_ID_BYTES = 4;
const START = '\u2014 ';

/** The text of a line with its newline. */
export function signatureLine(name: string, key_id: number, signature: Uint8Array): string {
  if (!isKeyName(name)) throw invalid('key name is empty or has a space or +');
  return `${START}${name} ${toBase64(concat(u32(key_id), signature))}\n`;
}

/** Reads a line without its newline; `note_invalid` when it is not one. */
export function parseSignatureLine(line: string): SignatureLine {
  if (!line.startsWith(START)) throw invalid('signature line does not begin with an em dash');
  // A second space would stand in the base64, which has none.
  const border = line.indexOf(' ', START.length);
  const name = line.slice(START.length, border);
  if (border < 0 || !isKeyName(name)) throw invalid('signature line has no good key name');
  let bytes: Uint8Array;
  try {
    bytes = fromBase64(line.slice(border + 1));
  } catch (cause) {
    throw invalid('signature line does not end in base64', { cause });
  }
  if (bytes.length <= KEY_ID_BYTES) throw invalid('signature line has no signature');
  const key_id = readU32(bytes);
  return { name, key_id, signature: bytes.subarray(KEY_ID_BYTES) };
}

const TIME_BYTES = 8;
/** u64 time ‖ Ed25519 signature. */
const COSIGNATURE_BYTES = TIME_BYTES + 64;

/**
 * The bytes that a cosigner signs. `checkpoint` is the whole note text with its last newline, without
 * signature lines; time in seconds. They do not name the cosigner, so one key serves one cosigner only.
 */
export function cosignatureMessage(checkpoint: string, time_s: number): Uint8Array {
  return utf8(`cosignature/v1\ntime ${String(time_s)}\n${checkpoint}`);
}

/** The signature line of a cosigner for the text of a checkpoint. Time in seconds, at least 1. */
export function signCosignature(
  suite: Suite,
  signer: NoteSigner,
  name: string,
  checkpoint: string,
  time_s: number,
): string {
  if (!Number.isSafeInteger(time_s) || time_s < 1) {
    throw new LogError('note_invalid', 'cosignature time is not a whole number of seconds over 0');
  }
  const { key_id } = makeVerifier(suite, name, COSIGNER_KEY, signer.publicKey);
  const signature = signer.sign(cosignatureMessage(checkpoint, time_s));
  return signatureLine(name, key_id, concat(u64(time_s), signature));
}

/** The time in seconds of a good cosignature (72 bytes, key id left out), or null for a bad one. */
export function verifyCosignature(
  suite: Suite,
  publicKey: Uint8Array,
  checkpoint: string,
  cosignature: Uint8Array,
): number | null {
  if (cosignature.length !== COSIGNATURE_BYTES) return null;
  let time_s: number;
  try {
    time_s = readU64(cosignature, 0);
  } catch {
    return null; // over 2^53 − 1 seconds
  }
  // 0 stands for "no time" in C2SP, and no witness may send it.
  if (time_s === 0) return null;
  const message = cosignatureMessage(checkpoint, time_s);
  return suite.verify(publicKey, message, cosignature.subarray(TIME_BYTES)) ? time_s : null;
}
