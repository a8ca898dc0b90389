// Checks a log's database without trusting it: everything again from the entries, compared with what is
// stored. Names each difference and repairs nothing; the log must not be open.

import { join } from 'node:path';
import { native } from '../../crypto/native.ts';
import { openVerifyPool } from '../../crypto/verify-pool.ts';
import { equal, fromBase64, toHex } from '../../encoding/bytes.ts';
import { Differences, type Difference } from './differences.ts';
import { EntryPass } from './entries.ts';
import { compareHeads, compareRows, findStrays, guarded, rowsOf } from './rows.ts';
import { Scratch } from './scratch.ts';
import { EMPTY_ROOT } from '../../merkle/hash.ts';
import { Replay, SignatureChecks } from '../../replay/replay.ts';
import { originParts } from '../../rules/life.ts';
import { formsIn } from '../../write/row-forms.ts';
import type { Position } from '../../write/state.ts';
import { CORE_ROW, ENTRY, entryKey, metaKey, PLUGIN_ROW, readIndex } from '../../store/layout.ts';
import type { Register } from '../../store/register.ts';
import { openStore, type Store } from '../../store/store.ts';
import type { EntryType } from '../../types.ts';
import type { JsonObject } from '../../encoding/json-types.ts';
import { LogError } from '../../errors.ts';
import { parseCheckpoint } from '../../note/checkpoint.ts';
import { readRemembered } from '../../store/register.ts';

export type { Difference, Part } from './differences.ts';

/** What is checked, and against what. */
export interface FsckOptions {
  /** The log's folder, with `db/` in it. */
  readonly folder: string;
  /** The checkpoint register and the name of the log in it; absent: they are not compared. */
  readonly outside?: { readonly register: Register; readonly name: string };
  /** Of the checkpoint key; absent: the signatures of the stored notes are not checked. */
  readonly vkey?: string;
  /** The types that plugins bring: their rows are compared, those of other plugins are not. */
  readonly types?: readonly EntryType[];
  /** Threads that check signatures; 0, as when absent, checks on the calling one. */
  readonly threads?: number;
  readonly onProgress?: (done: number, size: number) => void;
}

/** What fsck found. */
export interface FsckResult {
  /** null for a database without entries. */
  readonly origin: string | null;
  readonly size: number;
  /** Hex of the root over all entries. */
  readonly root: string;
  /** All differences, of which `differences` lists the first thousand. */
  readonly count: number;
  readonly differences: readonly Difference[];
  /** What could not be compared, and why. */
  readonly unchecked: readonly string[];
}

/**
 * Checks one log.
 *
 * @throws LogError `not_found` without a database, `log_locked` while the log is open, `store_corrupt` when a block
 *   of its files does not have its checksum
 */
export async function fsck(options: FsckOptions): Promise<FsckResult> {
  const store = await openStore(join(options.folder, 'db'), { compare: true, existing: true });
  try {
    return await check(store, options);
  } finally {
    await store.close();
  }
}

async function check(store: Store, options: FsckOptions): Promise<FsckResult> {
  const differences = new Differences();
  if (store.get(metaKey('reindex')) !== undefined) {
    differences.add('state', 'reindex', 'a reindex was interrupted: run it again');
  }
  try {
    formsIn(store);
  } catch (error) {
    differences.add('state', 'rows', (error as Error).message);
  }
  const outside =
    options.outside === undefined
      ? null
      : await readOutside(options.outside.register, options.outside.name, differences);
  const size = await sizeOf(store, differences);
  const origin = originOf(store.get(entryKey(0)));
  if (origin === null && size > 0) {
    differences.add('entry', 'entry 0', 'is missing or names no origin');
  }
  const passed =
    origin === null
      ? { root: EMPTY_ROOT, roots: new Map<number, Uint8Array>(), unchecked: [] }
      : await passOver(store, options, {
          origin,
          size,
          differences,
          rootsAt: new Set(outside?.heads.map((head) => head.size)),
        });
  if (outside !== null) compareOutside(outside, { origin, roots: passed.roots }, differences);
  return {
    origin,
    size,
    root: toHex(passed.root),
    count: differences.count,
    differences: differences.listed,
    unchecked: passed.unchecked,
  };
}

/** What the state row says; without it, what the entries look like. */
async function sizeOf(store: Store, differences: Differences): Promise<number> {
  const state = store.get(metaKey('state'));
  if (state !== undefined) {
    const { size } = JSON.parse(Buffer.from(state).toString()) as Position;
    if (Number.isSafeInteger(size) && size >= 0) return size;
  }
  let size = 0;
  for await (const [key] of rowsOf(store, ENTRY)) size = readIndex(key) + 1;
  if (size > 0) differences.add('state', 'state', 'is missing or says no size');
  return size;
}

function originOf(entry: Uint8Array | undefined): string | null {
  try {
    const { origin } = JSON.parse(Buffer.from(entry ?? []).toString()) as { origin?: unknown };
    return typeof origin === 'string' && originParts(origin) !== null ? origin : null;
  } catch {
    return null;
  }
}

interface Log {
  readonly origin: string;
  readonly size: number;
  readonly differences: Differences;
  readonly rootsAt: ReadonlySet<number>;
}

async function passOver(
  store: Store,
  { vkey, types = [], threads = 0, onProgress }: FsckOptions,
  { origin, size, differences, rootsAt }: Log,
): Promise<{ root: Uint8Array; roots: ReadonlyMap<number, Uint8Array>; unchecked: string[] }> {
  const pool = openVerifyPool({ threads });
  const scratch = await Scratch.open(originParts(origin)?.kind ?? 'live', origin, types);
  try {
    const pass = new EntryPass({
      store,
      size,
      replay: new Replay({ suite: native, origin, verifySignatures: 'deferred' }),
      signatures: new SignatureChecks(pool),
      scratch,
      differences,
      rootsAt,
      vkey,
      onProgress: (done) => onProgress?.(done, size),
    });
    await pass.run();
    const unchecked =
      pass.stopped === null
        ? await compareDerived({ store, pass, scratch, types, differences })
        : [`derived rows: entry ${String(pass.stopped)} stands in the way`];
    if (vkey === undefined) unchecked.push('signatures of notes: no verifier key was given');
    return { root: pass.edge.root(), roots: pass.roots, unchecked };
  } finally {
    await scratch.close();
    await pool.close();
  }
}

// Everything that the entries determine (heads, rows of the core and of plugins, position), compared with the database.

/** What is compared, after a pass that nothing stopped. */
interface Derived {
  readonly store: Store;
  readonly pass: EntryPass;
  readonly scratch: Scratch;
  readonly types: readonly EntryType[];
  readonly differences: Differences;
}

/** Compares all of it; answers with what could not be. */
async function compareDerived(derived: Derived): Promise<string[]> {
  const { store, pass, scratch, types, differences } = derived;
  const { heads, chainRows } = pass;
  const { size } = pass.edge;
  const absent = scratch.core.declarations.absent(types.map(({ name }) => name));
  const foreign = (key: string): boolean => absent.has(key.slice(0, key.indexOf('/')));
  await guarded('head', differences, () => compareHeads(store, heads, differences));
  await guarded('core row', differences, () =>
    compareRows(CORE_ROW, 'core row', store, scratch.store, differences),
  );
  await guarded('plugin row', differences, () =>
    compareRows(PLUGIN_ROW, 'plugin row', store, scratch.store, differences, foreign),
  );
  await guarded('unknown row', differences, () =>
    findStrays(store, { size, chainRows }, differences),
  );
  comparePosition(derived);
  return [...absent].map((plugin) => `rows of plugin ${plugin}: it is not loaded`);
}

function comparePosition({ store, scratch, differences }: Derived): void {
  const state = store.get(metaKey('state'));
  if (state === undefined) return; // said already
  const stored = JSON.parse(Buffer.from(state).toString()) as JsonObject;
  for (const [name, value] of Object.entries(scratch.core.position)) {
    const [is, should] = [JSON.stringify(stored[name]), JSON.stringify(value)];
    if (is !== should) differences.add('state', name, `is ${is}, by the entries ${should}`);
  }
}

// The value of the log in the checkpoint register, compared with the tree of the entries.

/** What the register holds: the heads of its note and of the last receipts. */
interface Outside {
  readonly path: string;
  /** null when it does not hold the log. */
  readonly origin: string | null;
  readonly heads: readonly { readonly size: number; readonly root: Uint8Array }[];
}

/** Reads the value of a log; null, and a difference, when it is none. */
async function readOutside(
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
function compareOutside(
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
