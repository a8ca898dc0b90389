// A checkpoint with the note that contains it. A note that the pinned key has not signed proves nothing. One that it
// has signed proves what its text says of this log. C2SP signed-note, tlog-checkpoint; log/FORMAT.md §7.1.

import { isLogError, native, openCheckpoint, parseCheckpoint, parseVkey } from '../../log/index.ts';
import { openNote } from '../../log/operate.ts';
import type { Checkpoint } from '../../log/operate.ts';
import { MirrorTrouble } from '../mirror/tiled.ts';
import { Finding } from './finding.ts';

/** A checkpoint and its note. */
export interface Noted extends Checkpoint {
  readonly note: string;
  /** Whether the log signed it with ML-DSA-44 too; absent for a log without such a key. */
  readonly ml_dsa?: boolean;
}

/** The keys of a log. */
interface Keys {
  readonly origin: string;
  readonly vkey: string;
  readonly vkey_ml_dsa?: string;
  readonly requireMlDsa?: boolean;
}

/**
 * Opens a note. Throws `Finding` if the log signed a text that is not a checkpoint of it, or if the line of its ML-DSA-44
 * key is not valid, or required and missing; else `MirrorTrouble`.
 */
export function openNoted(note: string, keys: Keys, mirror: string): Noted {
  const { origin, vkey } = keys;
  let text: string;
  try {
    ({ text } = openNote(native, note, [parseVkey(native, vkey)]));
  } catch (error) {
    if (!isLogError(error)) throw error;
    throw new MirrorTrouble(`${mirror}/checkpoint is not signed by ${origin}: ${error.message}`);
  }
  const evidence = { notes: [note], entries: [] };
  // A signature does not cover the name in its line. A successor may keep the checkpoint key, so a text that names
  // another log may be that of the successor, with its line put under the name of this log.
  const proof = text.split('\n', 1)[0] === origin ? 'signed' : 'observed';
  try {
    const checkpoint = parseCheckpoint(text);
    if (checkpoint.origin !== origin) {
      throw new Finding('checkpoint_origin', 'the note names another log', proof, evidence);
    }
    // Every checkpoint ends with a map head, so none is of an empty tree. log/FORMAT.md §4
    if (checkpoint.size === 0) {
      throw new Finding('checkpoint_size', 'the note is of size 0', proof, evidence);
    }
    return { ...checkpoint, note, ...secondSignature(note, keys) };
  } catch (error) {
    if (!isLogError(error)) throw error;
    throw new Finding('checkpoint_form', error.message, proof, evidence);
  }
}

/**
 * Whether a checkpoint has the signature of the log's ML-DSA-44 key (log/FORMAT.md §5.2). What is wrong with that line is
 * an observation: a signature does not cover the other lines of a note, so a proxy can add or remove one.
 */
function secondSignature(
  note: string,
  { origin, vkey, vkey_ml_dsa, requireMlDsa }: Keys,
): Pick<Noted, 'ml_dsa'> {
  if (vkey_ml_dsa === undefined) return {};
  const wrong = (detail: string): Finding =>
    new Finding('checkpoint_ml_dsa', detail, 'observed', { notes: [note], entries: [] });
  let ml_dsa: boolean;
  try {
    ({ ml_dsa } = openCheckpoint(native, note, { origin, vkey, vkey_ml_dsa }));
  } catch (error) {
    if (!isLogError(error)) throw error;
    throw wrong(`the line of the log's ML-DSA-44 key: ${error.message}`);
  }
  if (!ml_dsa && requireMlDsa === true) {
    throw wrong('checkpoint has no ML-DSA-44 signature of its log');
  }
  return { ml_dsa };
}
