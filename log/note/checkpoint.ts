// Checkpoints: a note text of exactly origin, size and root. C2SP tlog-checkpoint; log/FORMAT.md §5.

import { equal, fromBase64, toBase64, utf8 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Suite } from '../crypto/suite.ts';
import { parseDecimal } from '../encoding/spelling.ts';
import { formatNote, openNote, signatureLine } from './note.ts';
import type { NoteSigner } from './note.ts';
import { asVerifier, COSIGNER_KEY, isKeyName, LOG_KEY, makeVerifier } from './vkey.ts';
import type { Verifier } from './vkey.ts';

/** A tree head with the name of its log. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
}

/** A good cosignature of a key that the caller named. */
export interface Cosigned {
  readonly name: string;
  readonly key_id: number;
  /** Seconds. */
  readonly time_s: number;
  /** A monitor that checked everything up to this size: its name ends in `/map` (log/FORMAT.md §5). */
  readonly map: boolean;
}

/** A checkpoint whose log signature holds. */
export interface OpenedCheckpoint extends Checkpoint {
  readonly cosignatures: readonly Cosigned[];
  /** The note text, three lines: what cosigners sign. */
  readonly text: string;
}

/** True for cosigners that answer for the rules of the log, not for its being seen; counted apart. */
export function isMapCosigner(name: string): boolean {
  return name.endsWith('/map');
}

/** The three lines. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  if (!isKeyName(origin)) throw invalid('origin is empty or has a space or +');
  if (!Number.isSafeInteger(size) || size < 0) throw invalid('size is not a safe integer from 0');
  if (root.length !== 32) throw invalid(`root is ${String(root.length)} bytes, not 32`);
  return `${origin}\n${String(size)}\n${toBase64(root)}\n`;
}

/** Reads a note text of exactly three lines; an extension line is `note_invalid` like any other. */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', decimal = '', base64 = '', end, ...rest] = text.split('\n');
  if (end !== '' || rest.length > 0) throw invalid('checkpoint has not exactly three lines');
  if (!isKeyName(origin)) throw invalid('origin is empty or has a space or +');
  const size = parseDecimal(decimal);
  if (size === null) throw invalid('size is not a decimal up to 2^53 - 1 without leading zeros');
  try {
    return { origin, size, root: fromBase64(base64, 32) };
  } catch (cause) {
    throw invalid('root is not 32 bytes in base64', { cause });
  }
}

/** The signed note of a checkpoint; the key's name is the origin. */
export function signCheckpoint(suite: Suite, signer: NoteSigner, checkpoint: Checkpoint): string {
  const text = formatCheckpoint(checkpoint);
  const { name, key_id } = makeVerifier(suite, checkpoint.origin, LOG_KEY, signer.publicKey);
  return formatNote(text, [signatureLine(name, key_id, signer.sign(utf8(text)))]);
}

/**
 * Opens a checkpoint of one log: its own signature must be there and hold, and so must those of the
 * given cosigners that are there. How many are enough is for the policy to say.
 *
 * @throws LogError `note_invalid`; `key_invalid` for keys that may not stand in their place.
 */
export function openCheckpoint(
  suite: Suite,
  note: string,
  keys: {
    readonly origin: string;
    readonly vkey: string | Verifier;
    readonly cosigners?: readonly (string | Verifier)[];
  },
): OpenedCheckpoint {
  const log = asVerifier(suite, keys.vkey);
  if (log.type !== LOG_KEY || log.name !== keys.origin) {
    throw new LogError('key_invalid', 'vkey is not a log key with the name of the origin');
  }
  const cosigners = (keys.cosigners ?? []).map((key) => asVerifier(suite, key));
  checkCosigners(log, cosigners);
  const { text, verified } = openNote(suite, note, [log, ...cosigners]);
  const { origin, size, root } = parseCheckpoint(text);
  if (origin !== keys.origin) throw invalid('checkpoint is of another origin');
  if (size === 0 && !equal(root, suite.sha256(new Uint8Array(0)))) {
    throw invalid('checkpoint of size 0 has not the empty root');
  }
  if (!verified.some(({ verifier }) => verifier === log)) {
    throw invalid('checkpoint has no signature of its log');
  }
  const cosignatures: Cosigned[] = [];
  for (const { verifier, time_s } of verified) {
    if (time_s === undefined) continue;
    const { name, key_id } = verifier;
    cosignatures.push({ name, key_id, time_s, map: isMapCosigner(name) });
  }
  // Not a spread: the runtime takes a microsecond to add members to one.
  return { origin, size, root, cosignatures, text };
}

/** A cosignature does not name its cosigner: a key under two names would count twice. */
function checkCosigners(log: Verifier, cosigners: readonly Verifier[]): void {
  const seen = [log.publicKey];
  for (const { name, type, publicKey } of cosigners) {
    if (type !== COSIGNER_KEY) {
      throw new LogError('key_invalid', `${name} is not a cosigner key (type 4)`);
    }
    if (seen.some((other) => equal(other, publicKey))) {
      throw new LogError('key_invalid', `the key of ${name} has another name as well`);
    }
    seen.push(publicKey);
  }
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('note_invalid', message, options);
}

// The request by which a log asks a witness for a cosignature (C2SP tlog-witness).

/** The longest path that fits a tree of 2^63 leaves. */
const MAX_PATH = 63;

/** `POST <prefix>/add-checkpoint`. */
export interface AddCheckpoint {
  /** Size of the newest checkpoint that the witness is thought to have cosigned; 0 for none. */
  readonly old: number;
  readonly path: readonly Uint8Array[];
  /** The signed note, untouched. */
  readonly note: string;
}

/** The body of the request. */
export function formatAddCheckpoint({ old, path, note }: AddCheckpoint): string {
  const lines = path.map((hash) => `${toBase64(hash)}\n`).join('');
  return `old ${String(old)}\n${lines}\n${note}`;
}

/** Reads a body that may be hostile; `note_invalid` when it is not of the form. */
export function parseAddCheckpoint(body: string): AddCheckpoint {
  const end = body.indexOf('\n\n');
  if (end < 0) throw invalid('request has no blank line');
  const [first = '', ...lines] = body.slice(0, end).split('\n');
  const old = first.startsWith('old ') ? parseDecimal(first.slice('old '.length)) : null;
  if (old === null) throw invalid('first line is not old and a size');
  if (lines.length > MAX_PATH) throw invalid(`path is longer than ${String(MAX_PATH)} hashes`);
  try {
    return { old, path: lines.map((line) => fromBase64(line, 32)), note: body.slice(end + 2) };
  } catch (cause) {
    throw invalid('path has a line that is not 32 bytes in base64', { cause });
  }
}
