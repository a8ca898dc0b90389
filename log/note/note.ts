// Signed notes and verifier keys (C2SP signed-note). A note is a text, a blank line, and signature lines of the form
// `— <name> <base64(key id ‖ signature)>`. At the end, cosignatures: signatures of witnesses and monitors over
// checkpoints, which contain a time (C2SP tlog-cosignature v1).

import {
  concat,
  fromBase64,
  parseDecimal,
  readU32,
  readU64,
  toBase64,
  u32,
  u64,
  utf8,
  u8,
} from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { ML_DSA_KEY_BYTES, ML_DSA_SIGNATURE_BYTES, verifyMlDsa } from '../crypto/ml-dsa.ts';
import type { Suite } from '../crypto/suite.ts';

/** A verified signature by a key that the caller trusts. */
export interface VerifiedSignature {
  readonly verifier: Verifier;
  /**
   * The signature without the key id: 64 bytes, or for a cosignature its time in 8 bytes and a signature of 64 bytes
   * (Ed25519) or 2,420 bytes (ML-DSA-44).
   */
  readonly signature: Uint8Array;
  /** The time of a cosignature, in seconds. */
  readonly time_s?: number;
}

/** A note with at least one verified signature. */
export interface OpenedNote {
  /** The signed text with its final newline. */
  readonly text: string;
  /** One for each trusted key that signed, in the order of the lines. */
  readonly verified: readonly VerifiedSignature[];
  /** The number of lines by other keys. */
  readonly unknown: number;
}

/** Limits on the length of a note and on its signature lines, the same as in Go's package sumdb/note. */
export const MAX_NOTE_BYTES = 1_000_000;
const MAX_SIGNATURES = 100;

/** A control character below U+0020 other than a newline. */
const CONTROL = /[^\n -\uffff]/;

/** The note of a text, which must end with a newline, and lines from `signatureLine`. */
export function formatNote(text: string, lines: readonly string[]): string {
  checkText(text);
  return `${text}\n${lines.join('')}`;
}

/** Splits a note at its last blank line, without verifying signatures. Throws `note_invalid` if it is malformed. */
export function splitNote(
  note: string,
  maxSignatures = MAX_SIGNATURES,
): { readonly text: string; readonly signatures: readonly SignatureLine[] } {
  // The number of characters is checked first, so that a much too long note is not scanned.
  if (note.length > MAX_NOTE_BYTES) throw tooLong();
  if (!isPlain(note)) throw invalid('note has a control character');
  // A UTF-16 unit has at most three bytes in UTF-8.
  if (3 * note.length > MAX_NOTE_BYTES && utf8(note).length > MAX_NOTE_BYTES) throw tooLong();
  if (!note.endsWith('\n')) throw invalid('note does not end in a newline');
  // Signature lines are never empty, so the signatures begin after the last blank line.
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
 * Opens a note with the keys that the caller trusts. Lines by other keys are only counted. At least one line must be by
 * a trusted key, and every such line must be valid. If a cosigner has several lines, the one with the newest time
 * counts.
 *
 * @throws LogError `note_invalid`; `key_invalid` if two of the keys have the same name and key id
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
    const verifier = verifiers.find((known) => isSameKey(known, line));
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
  if (verifier.type === ML_DSA_KEY) {
    const time_s = verifyMlDsaCosignature(verifier, text, signature);
    if (time_s !== null) return { verifier, signature, time_s };
  } else if (verifier.type === COSIGNER_KEY) {
    const time_s = verifyCosignature(suite, verifier.publicKey, text, signature);
    if (time_s !== null) return { verifier, signature, time_s };
  } else if (suite.verify(verifier.publicKey, utf8(text), signature)) {
    return { verifier, signature };
  }
  throw invalid(`signature of ${verifier.name} is not valid`);
}

/** Whether a signature line, or another key, has the name and key id of this key. */
function isSameKey(verifier: Verifier, line: Pick<SignatureLine, 'name' | 'key_id'>): boolean {
  return verifier.key_id === line.key_id && verifier.name === line.name;
}

function checkDistinct(verifiers: readonly Verifier[]): void {
  for (const [i, verifier] of verifiers.entries()) {
    // A key id has 32 bits, so an attacker can make another key with the same one.
    if (verifiers.findIndex((known) => isSameKey(known, verifier)) < i) {
      throw new LogError('key_invalid', `two keys of ${verifier.name} have the same key id`);
    }
  }
}

/** Whether a text has no control characters except newlines, and no lone surrogates. */
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

/** A private key that signs notes, such as a `Signer`. */
export interface NoteSigner {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /** An Ed25519 signature of 64 bytes. */
  sign(message: Uint8Array): Uint8Array;
}

/** A parsed signature line, not verified. */
export interface SignatureLine {
  readonly name: string;
  readonly key_id: number;
  /** The bytes after the key id; at least one. */
  readonly signature: Uint8Array;
}

const KEY_ID_BYTES = 4;
const START = '\u2014 ';

/** The text of a signature line, with its newline. */
export function signatureLine(name: string, key_id: number, signature: Uint8Array): string {
  if (!isKeyName(name)) throw invalid('key name is empty or has a space or +');
  return `${START}${name} ${toBase64(concat(u32(key_id), signature))}\n`;
}

/** Parses a signature line without its newline; throws `note_invalid` if it is malformed. */
export function parseSignatureLine(line: string): SignatureLine {
  if (!line.startsWith(START)) throw invalid('signature line does not begin with an em dash');
  // The name has no space. If there is a second one, decoding the base64 fails.
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
 * The bytes that a cosigner signs. They do not contain the name of the cosigner, so two cosigners must not share a key.
 *
 * @param checkpoint the note text with its final newline, without signature lines
 * @param time_s in seconds
 */
export function cosignatureMessage(checkpoint: string, time_s: number): Uint8Array {
  return utf8(`cosignature/v1\ntime ${String(time_s)}\n${checkpoint}`);
}

/** The signature line of a cosigner for the text of a checkpoint. `time_s` is in seconds and at least 1. */
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

/** Verifies a cosignature of 72 bytes, without its key id. Returns its time in seconds; null if it is not valid. */
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
  // In C2SP, 0 means that a signature has no time; a witness must not send it.
  if (time_s === 0) return null;
  const message = cosignatureMessage(checkpoint, time_s);
  return suite.verify(publicKey, message, cosignature.subarray(TIME_BYTES)) ? time_s : null;
}

/** The most bytes of the name of a cosigner or of an origin that an ML-DSA-44 cosignature can be about. */
const MAX_SUBTREE_NAME = 255;
const SUBTREE_LABEL = 'subtree/v1\n\0';

/**
 * The bytes that an ML-DSA-44 key signs for a checkpoint: the tree from 0 to its size. They do not contain extension
 * lines, so a checkpoint with such lines is refused.
 *
 * @param checkpoint the note text: origin, size and root
 * @throws LogError `note_invalid` for a text that is not of three lines, and for names over 255 bytes
 */
export function mlDsaMessage(name: string, checkpoint: string, time_s: number): Uint8Array {
  const [origin = '', decimal = '', root = '', end, ...rest] = checkpoint.split('\n');
  const size = parseDecimal(decimal);
  if (end !== '' || rest.length > 0 || size === null) {
    throw invalid('an ML-DSA-44 cosignature is of a checkpoint with exactly three lines');
  }
  const names = [utf8(name), utf8(origin)];
  if (names.some(({ length }) => length < 1 || length > MAX_SUBTREE_NAME)) {
    throw invalid('a name is over 255 bytes, the limit of ML-DSA-44 cosignatures');
  }
  const [cosigner, of] = names.map((bytes) => concat(u8(bytes.length), bytes)) as [
    Uint8Array,
    Uint8Array,
  ];
  const label = utf8(SUBTREE_LABEL);
  return concat(label, cosigner, u64(time_s), of, u64(0), u64(size), fromBase64(root, 32));
}

/** The time of an ML-DSA-44 cosignature in seconds, 0 for one without a time; null if it is not valid. */
export function verifyMlDsaCosignature(
  { name, publicKey }: Pick<Verifier, 'name' | 'publicKey'>,
  checkpoint: string,
  cosignature: Uint8Array,
): number | null {
  if (cosignature.length !== TIME_BYTES + ML_DSA_SIGNATURE_BYTES) return null;
  try {
    const time_s = readU64(cosignature, 0);
    const message = mlDsaMessage(name, checkpoint, time_s);
    return verifyMlDsa(publicKey, message, cosignature.subarray(TIME_BYTES)) ? time_s : null;
  } catch {
    return null; // a time over 2^53 − 1 seconds, or a text that no such key signs
  }
}

/** The signature line of an ML-DSA-44 key: of a witness, or of a log with the time 0. */
export function mlDsaLine(
  suite: Suite,
  name: string,
  publicKey: Uint8Array,
  time_s: number,
  signature: Uint8Array,
): string {
  const { key_id } = makeVerifier(suite, name, ML_DSA_KEY, publicKey);
  return signatureLine(name, key_id, concat(u64(time_s), signature));
}

// Verifier keys `<name>+<8 hex key id>+<base64(type ‖ public key)>`. C2SP signed-note.

/**
 * The type byte of a key: 1 signs the note text with Ed25519; 4 makes cosignatures with a time (cosignature/v1); 6 makes
 * ML-DSA-44 cosignatures, also those of a log under its own checkpoints.
 */
export type KeyType = 1 | 4 | 6;

/** The type of a log's checkpoint key. */
export const LOG_KEY = 1;
/** The type of the Ed25519 key of a witness or monitor. */
export const COSIGNER_KEY = 4;
/** The type of an ML-DSA-44 key. */
export const ML_DSA_KEY = 6;

/** A parsed verifier key. A signature line is by this key if it has its name and key id. */
export interface Verifier {
  readonly name: string;
  /** First four bytes, big-endian, of SHA-256(name ‖ LF ‖ type ‖ public key). */
  readonly key_id: number;
  readonly type: KeyType;
  /** 32 bytes, or 1,312 of type 6. */
  readonly publicKey: Uint8Array;
}

/** Fits a key of type 6, whose base64 has 1,752 characters, with a name of 255 bytes. */
const MAX_VKEY_LENGTH = 2560;
// A note must not contain U+0000 to U+001F except newlines, and lone surrogates have no UTF-8.
const NOT_IN_NAMES = /[^ -\u{10ffff}]|[\p{White_Space}\p{Surrogate}+]/u;

/** Whether a key may have this name: it is not empty, and has no Unicode space, plus sign or control character. */
export function isKeyName(name: string): boolean {
  return name !== '' && !NOT_IN_NAMES.test(name);
}

/** The key id of a key, which its signature lines contain. */
export function keyId(suite: Suite, name: string, type: KeyType, publicKey: Uint8Array): number {
  return readU32(suite.sha256(concat(utf8(`${name}\n`), Uint8Array.of(type), publicKey)));
}

/** Makes a verifier from its parts; throws `key_invalid` for a bad name or a key of another length. */
export function makeVerifier(
  suite: Suite,
  name: string,
  type: KeyType,
  publicKey: Uint8Array,
): Verifier {
  if (!isKeyName(name)) throw new LogError('key_invalid', 'key name is empty or has a space or +');
  const length = type === ML_DSA_KEY ? ML_DSA_KEY_BYTES : 32;
  if (publicKey.length !== length) {
    const has = `public key is ${String(publicKey.length)} bytes, not ${String(length)}`;
    throw new LogError('key_invalid', has);
  }
  return { name, key_id: keyId(suite, name, type, publicKey), type, publicKey };
}

/** The text of a verifier key. */
export function formatVkey(
  suite: Suite,
  name: string,
  type: KeyType,
  publicKey: Uint8Array,
): string {
  const { key_id } = makeVerifier(suite, name, type, publicKey);
  return `${name}+${formatKeyId(key_id)}+${toBase64(concat(u8(type), publicKey))}`;
}

/**
 * Parses a verifier key of type 1, 4 or 6.
 *
 * @throws LogError `key_invalid`, also if the key id does not match the name and the key
 */
export function parseVkey(suite: Suite, text: string): Verifier {
  if (text.length > MAX_VKEY_LENGTH) {
    throw new LogError('key_invalid', `vkey is over ${String(MAX_VKEY_LENGTH)} characters`);
  }
  // Only the first two plus signs separate the parts; base64 may contain more.
  const first = text.indexOf('+');
  const second = text.indexOf('+', first + 1);
  if (first < 0 || second < 0) throw new LogError('key_invalid', 'vkey does not have three parts');
  const key = decodeKey(text.slice(second + 1));
  const [type] = key;
  if (type !== LOG_KEY && type !== COSIGNER_KEY && type !== ML_DSA_KEY) {
    throw new LogError('key_invalid', `vkey has type ${String(type)}, known are 1, 4 and 6`);
  }
  const verifier = makeVerifier(suite, text.slice(0, first), type, key.slice(1));
  if (text.slice(first + 1, second) !== formatKeyId(verifier.key_id)) {
    throw new LogError('key_invalid', 'vkey has the key id of another name or key');
  }
  return verifier;
}

/** The last parsed text, cached because a caller that opens many notes usually uses one key. */
let last: { readonly text: string; readonly verifier: Verifier } | undefined;

/** The verifier itself, or the one parsed from its text. */
export function asVerifier(suite: Suite, key: string | Verifier): Verifier {
  if (typeof key !== 'string') return key;
  if (last?.text !== key) last = { text: key, verifier: parseVkey(suite, key) };
  return last.verifier;
}

function formatKeyId(key_id: number): string {
  return key_id.toString(16).padStart(8, '0');
}

function decodeKey(text: string): Uint8Array {
  try {
    return fromBase64(text);
  } catch (cause) {
    throw new LogError('key_invalid', 'vkey does not end in base64', { cause });
  }
}
