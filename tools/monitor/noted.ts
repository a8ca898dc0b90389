// A checkpoint with the note that contains it. A note that the pinned key has not signed proves nothing. One that it
// has signed proves what its text says of this log. C2SP signed-note, tlog-checkpoint; log/FORMAT.md §7.1.

import { isLogError, native, parseCheckpoint, parseVkey } from '../../log/index.ts';
import { openNote } from '../../log/operate.ts';
import type { Checkpoint } from '../../log/operate.ts';
import { MirrorTrouble } from '../mirror/tiled.ts';
import { Finding } from './finding.ts';

/** A checkpoint and its note. */
export interface Noted extends Checkpoint {
  readonly note: string;
}

/** Opens a note; `Finding` if the log signed a text that is not a checkpoint of it, else `MirrorTrouble`. */
export function openNoted(
  note: string,
  { origin, vkey }: { readonly origin: string; readonly vkey: string },
  mirror: string,
): Noted {
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
    return { ...checkpoint, note };
  } catch (error) {
    if (!isLogError(error)) throw error;
    throw new Finding('checkpoint_form', error.message, proof, evidence);
  }
}
