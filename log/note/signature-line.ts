// The signature lines of a note: `— <name> <base64(key id ‖ signature)>`. C2SP signed-note.

import { concat, fromBase64, readU32, toBase64, u32 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { isKeyName } from './vkey.ts';

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

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('note_invalid', message, options);
}
