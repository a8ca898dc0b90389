// The checkpoint file outside the database against the tree of the entries.

import { equal, fromBase64 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { EMPTY_ROOT } from '../merkle/hash.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import { readCheckpointFile } from '../store/checkpoint-file.ts';
import type { Differences } from './differences.ts';

/** What the file remembers: the heads of its note and of the last receipts. */
export interface Outside {
  readonly path: string;
  /** null when there is no file. */
  readonly origin: string | null;
  readonly heads: readonly { readonly size: number; readonly root: Uint8Array }[];
}

/** Reads the file; null, and a difference, when it is none of ours. */
export async function readOutside(path: string, differences: Differences): Promise<Outside | null> {
  try {
    const remembered = await readCheckpointFile(path);
    if (remembered === null) return { path, origin: null, heads: [] };
    const { origin, note, acknowledged } = remembered;
    const heads = [{ size: acknowledged.size, root: fromBase64(acknowledged.root, 32) }];
    if (note !== null) heads.push(parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)));
    return { path, origin, heads };
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    differences.add('checkpoint file', path, error.message);
    return null;
  }
}

/** Compares it with the roots that the pass kept at its sizes. */
export function compareOutside(
  { path, origin, heads }: Outside,
  log: { readonly origin: string | null; readonly roots: ReadonlyMap<number, Uint8Array> },
  differences: Differences,
): void {
  const add = (detail: string): void => {
    differences.add('checkpoint file', path, detail);
  };
  if (origin === null) {
    if (log.origin !== null) add('is missing');
    return;
  }
  if (log.origin !== null && origin !== log.origin) add(`is of ${origin}`);
  const behind = new Set<number>();
  for (const { size, root } of heads) {
    const own = size === 0 ? EMPTY_ROOT : log.roots.get(size);
    if (own === undefined) behind.add(size);
    else if (!equal(own, root)) add(`has another root at size ${String(size)}`);
  }
  // The note and what was acknowledged are of one size as a rule.
  for (const size of behind) add(`knows of ${String(size)} entries: the database is behind`);
}
