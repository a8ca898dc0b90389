// What the checkpoint register holds of a log against the tree of the entries.

import { equal, fromBase64 } from '../../encoding/bytes.ts';
import { LogError } from '../../errors.ts';
import { EMPTY_ROOT } from '../../merkle/hash.ts';
import { parseCheckpoint } from '../../note/checkpoint.ts';
import type { Register } from '../../store/register.ts';
import { readRemembered } from '../../store/remembered.ts';
import type { Differences } from './differences.ts';

/** What the register holds: the heads of its note and of the last receipts. */
export interface Outside {
  readonly path: string;
  /** null when it does not hold the log. */
  readonly origin: string | null;
  readonly heads: readonly { readonly size: number; readonly root: Uint8Array }[];
}

/** Reads the value of a log; null, and a difference, when it is none. */
export async function readOutside(
  register: Register,
  name: string,
  differences: Differences,
): Promise<Outside | null> {
  const path = register.where(name);
  try {
    const remembered = await readRemembered(register, name);
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
