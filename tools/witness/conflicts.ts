// Checkpoints that a log has signed and that contradict the one that this witness cosigned. Each is kept as a finding
// that others can check without the witness (log/FORMAT.md §7.1).

import type { Level } from 'level';
import { equal, fromBase64, isLogError, native, toBase64 } from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import { formatVkey, LOG_KEY, openNote, provenPrefix } from '../../log/operate.ts';
import type { AddCheckpoint, Checkpoint, Verifier } from '../../log/operate.ts';

/** The checkpoint that was cosigned. */
export interface Cosigned {
  readonly size: number;
  /** Base64. */
  readonly root: string;
  /** The note of the log with the line of the witness. */
  readonly note: string;
}

/** Conflicts that are kept of one log. The first ones prove what later ones can prove. */
export const MOST_KEPT = 100;

const rowsOf = (db: Level<string, Cosigned>) =>
  db.sublevel<string, JsonObject>('conflicts', { valueEncoding: 'json' });

/** The conflicts of the logs of one witness. */
export class Conflicts {
  readonly #rows: ReturnType<typeof rowsOf>;
  readonly #now_ms: () => number;

  /** Rows of their own in the database of the witness. */
  constructor(db: Level<string, Cosigned>, now_ms: () => number) {
    this.#rows = rowsOf(db);
    this.#now_ms = now_ms;
  }

  /**
   * Compares a checkpoint that the log signed with the cosigned one, and keeps the conflict on disk before it returns.
   *
   * @param logNote the submitted note with the signatures of the log alone
   * @returns the finding; null if there is no conflict that the two notes and the path prove, or it is kept already
   */
  async compare(
    cosigned: Cosigned,
    submitted: AddCheckpoint & Checkpoint,
    logNote: string,
    keys: readonly Verifier[],
  ): Promise<JsonObject | null> {
    const shown = contradiction(cosigned, submitted);
    if (shown === null) return null;
    const { origin, size, root } = submitted;
    const row = `${origin}\n${String(size)}\n${toBase64(root)}`;
    const kept = await this.#keysOf(origin);
    if (kept.includes(row)) return null;
    const notes = [cosigned.note, logNote];
    const vkey = keys.find(
      (key) => key.type === LOG_KEY && notes.every((note) => opens(note, key)),
    );
    const finding = {
      ...{ schema: 'actlog-violation-v1', origin, vkey: textOf(vkey ?? keys[0]) },
      ...shown,
      // Notes by two keys of one log are of interest to its operator alone.
      proof: vkey === undefined ? 'observed' : 'signed',
      ...{ found_at_ms: this.#now_ms(), notes, entries: [] },
    };
    if (kept.length < MOST_KEPT) {
      // What was kept proves the conflict, so a crash must not lose it.
      const batch = this.#rows.batch().put(row, finding);
      await batch.write({ sync: true });
    }
    return finding;
  }

  /** The findings that are kept, by log. */
  list(): Promise<JsonObject[]> {
    return this.#rows.values().all();
  }

  #keysOf(origin: string): Promise<string[]> {
    return this.#rows.keys({ gt: `${origin}\n`, lt: `${origin}\v` }).all();
  }
}

/** What the two notes and the path prove, without the notes. */
function contradiction(
  cosigned: Cosigned,
  { old, size, root, path }: AddCheckpoint & Checkpoint,
): JsonObject | null {
  const own = fromBase64(cosigned.root, 32);
  if (size === cosigned.size) {
    if (equal(root, own)) return null;
    return { rule: 'two_roots', detail: `two roots for ${String(size)} entries` };
  }
  // A path that proves nothing may be anybody's: the notes of a log are public.
  if (old !== cosigned.size) return null;
  const prefix = provenPrefix(native, { from: old, to: size, toRoot: root, path });
  if (prefix === null || equal(prefix, own)) return null;
  const sizes = `the tree of ${String(size)} entries does not have that of ${String(old)} in it`;
  const from_root = toBase64(prefix);
  const consistency = { from: old, to: size, from_root, path: path.map(toBase64) };
  return { rule: 'inconsistent', detail: sizes, consistency };
}

function opens(note: string, key: Verifier): boolean {
  try {
    openNote(native, note, [key]);
    return true;
  } catch (error) {
    if (isLogError(error)) return false;
    throw error;
  }
}

const textOf = (key: Verifier | undefined): string =>
  key === undefined ? '' : formatVkey(native, key.name, key.type, key.publicKey);
