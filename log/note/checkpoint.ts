// Checkpoints: signed notes whose text is exactly origin, size and root (C2SP tlog-checkpoint; log/FORMAT.md §5). At
// the end, the request with which a log asks a witness to cosign one (C2SP tlog-witness).

import { equal, fromBase64, toBase64, utf8, parseDecimal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Suite } from '../crypto/suite.ts';
import {
  formatNote,
  openNote,
  signatureLine,
  asVerifier,
  COSIGNER_KEY,
  isKeyName,
  LOG_KEY,
  makeVerifier,
  ML_DSA_KEY,
} from './note.ts';
import type { NoteSigner, Verifier } from './note.ts';

/** A tree head with the name of its log. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
}

/** A verified cosignature by one of the caller's cosigner keys. */
export interface Cosigned {
  readonly name: string;
  readonly key_id: number;
  /** When it was made, in seconds. */
  readonly time_s: number;
  /** Whether the cosigner is a monitor, which has checked every entry up to this size (log/FORMAT.md §5). */
  readonly map: boolean;
}

/** A checkpoint whose log signature was verified. */
export interface OpenedCheckpoint extends Checkpoint {
  readonly cosignatures: readonly Cosigned[];
  /** Whether the log signed it with the ML-DSA-44 key that the caller names as well. */
  readonly ml_dsa: boolean;
  /** The three lines of the note text, which cosigners sign. */
  readonly text: string;
}

/**
 * Whether a cosigner is a monitor, by its name. The cosignature of a monitor states that the log keeps its rules; that
 * of a witness states that it has seen the checkpoint. A quorum counts witnesses only.
 */
export function isMapCosigner(name: string): boolean {
  return name.endsWith('/map');
}

/** The note text of a checkpoint; throws `note_invalid` for an origin, size or root that no checkpoint can have. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  if (!isKeyName(origin)) throw invalid('origin is empty or has a space or +');
  if (!Number.isSafeInteger(size) || size < 0) throw invalid('size is not a safe integer from 0');
  if (root.length !== 32) throw invalid(`root is ${String(root.length)} bytes, not 32`);
  return `${origin}\n${String(size)}\n${toBase64(root)}\n`;
}

/** Parses a note text. Throws `note_invalid` unless it has exactly the three lines; extension lines are not allowed. */
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

/** Signs a checkpoint and returns the signed note. The name of the key is the origin. */
export function signCheckpoint(suite: Suite, signer: NoteSigner, checkpoint: Checkpoint): string {
  const text = formatCheckpoint(checkpoint);
  const { name, key_id } = makeVerifier(suite, checkpoint.origin, LOG_KEY, signer.publicKey);
  return formatNote(text, [signatureLine(name, key_id, signer.sign(utf8(text)))]);
}

/**
 * Opens a checkpoint of one log. It must have a valid Ed25519 signature of the log. The signatures of the log's ML-DSA-44
 * key and of the given cosigners may be missing, but those that are there must be valid; the caller decides whether they
 * are enough (`ml_dsa`, `countQuorum`).
 *
 * @throws LogError `note_invalid`; `key_invalid` if `vkey` or `vkey_ml_dsa` is not a key of the log, or a cosigner key is not of
 *   type 4 or 6 or is given twice
 */
export function openCheckpoint(
  suite: Suite,
  note: string,
  keys: {
    readonly origin: string;
    readonly vkey: string | Verifier;
    readonly vkey_ml_dsa?: string | Verifier | null | undefined;
    readonly cosigners?: readonly (string | Verifier)[];
  },
): OpenedCheckpoint {
  const log = asVerifier(suite, keys.vkey);
  if (log.type !== LOG_KEY || log.name !== keys.origin) {
    throw new LogError('key_invalid', 'vkey is not a log key with the name of the origin');
  }
  const { vkey_ml_dsa } = keys;
  const second =
    vkey_ml_dsa === undefined || vkey_ml_dsa === null ? null : asVerifier(suite, vkey_ml_dsa);
  if (second !== null && (second.type !== ML_DSA_KEY || second.name !== keys.origin)) {
    throw new LogError('key_invalid', 'vkey_ml_dsa is not an ML-DSA-44 key of the log');
  }
  const own = second === null ? [log] : [log, second];
  const cosigners = (keys.cosigners ?? []).map((key) => asVerifier(suite, key));
  checkCosigners(own, cosigners);
  const { text, verified } = openNote(suite, note, [...own, ...cosigners]);
  const { origin, size, root } = parseCheckpoint(text);
  if (origin !== keys.origin) throw invalid('checkpoint is of another origin');
  if (size === 0 && !equal(root, suite.sha256(new Uint8Array(0)))) {
    throw invalid('checkpoint of size 0 does not have the root of the empty tree');
  }
  if (!verified.some(({ verifier }) => verifier === log)) {
    throw invalid('checkpoint has no signature of its log');
  }
  const cosignatures: Cosigned[] = [];
  let ml_dsa = false;
  for (const { verifier, time_s } of verified) {
    if (verifier === second) ml_dsa = true;
    // Time 0 says that there is none, as under a log's own checkpoint; a witness must not answer with it.
    if (verifier === second || time_s === undefined || time_s === 0) continue;
    const { name, key_id } = verifier;
    cosignatures.push({ name, key_id, time_s, map: isMapCosigner(name) });
  }
  // Members are listed one by one, because a spread costs a microsecond here.
  return { origin, size, root, cosignatures, ml_dsa, text };
}

/** Refuses a key with two names: the signed bytes of a cosignature do not contain the name, so it would count twice. */
function checkCosigners(own: readonly Verifier[], cosigners: readonly Verifier[]): void {
  const seen = own.map(({ publicKey }) => publicKey);
  for (const { name, type, publicKey } of cosigners) {
    if (type !== COSIGNER_KEY && type !== ML_DSA_KEY) {
      throw new LogError('key_invalid', `${name} is not a cosigner key (type 4 or 6)`);
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

// The request with which a log asks a witness for a cosignature (C2SP tlog-witness).

/** The longest path that fits a tree of 2^63 leaves. */
const MAX_PATH = 63;

/** `POST <prefix>/add-checkpoint`. */
export interface AddCheckpoint {
  /** Size of the newest checkpoint of which the log knows that the witness has cosigned it; 0 for none. */
  readonly old: number;
  /** The consistency path from `old` to the size of the note. */
  readonly path: readonly Uint8Array[];
  /** The signed note as the log made it. */
  readonly note: string;
}

/** The body of the request. */
export function formatAddCheckpoint({ old, path, note }: AddCheckpoint): string {
  const lines = path.map((hash) => `${toBase64(hash)}\n`).join('');
  return `old ${String(old)}\n${lines}\n${note}`;
}

/** Parses an untrusted body; throws `note_invalid` if it is malformed. */
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
