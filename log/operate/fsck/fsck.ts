// fsck: derives everything that a log's database holds from its entries a second time, and compares it with the stored
// rows. It reports each difference and repairs nothing. The log must not be open.
//
// entries.ts is the pass over the entries; rows.ts compares whole key spaces after it.

import { join } from 'node:path';
import { native } from '../../crypto/native.ts';
import { openVerifyPool } from '../../crypto/verify-pool.ts';
import { equal, fromBase64, toHex } from '../../encoding/bytes.ts';
import { Differences, compareHeads, compareRows, findStrays, guarded, rowsOf } from './rows.ts';
import type { Difference } from './rows.ts';
import { EntryPass, Scratch } from './entries.ts';
import { EMPTY_ROOT } from '../../merkle/hash.ts';
import { Replay, SignatureChecks } from '../../replay/replay.ts';
import { originParts } from '../../map/grammar.ts';
import { formsIn } from '../../write/row-forms.ts';
import type { Position } from '../../write/state.ts';
import { CORE_ROW, ENTRY, entryKey, metaKey, PLUGIN_ROW, readIndex } from '../../store/layout.ts';
import type { Register } from '../../store/register.ts';
import { openStore } from '../../store/store.ts';
import type { Store } from '../../store/store.ts';
import type { EntryType } from '../../types.ts';
import type { JsonObject } from '../../encoding/json.ts';
import { isLogError } from '../../errors.ts';
import { parseCheckpoint } from '../../note/checkpoint.ts';
import { readRemembered } from '../../store/register.ts';

export type { Difference, Part } from './rows.ts';

/** The database to check, and what it is compared with. */
export interface FsckOptions {
  /** The log's folder, with `db/` in it. */
  readonly folder: string;
  /** The checkpoint register and the name of the log in it. If absent, they are not compared. */
  readonly outside?: { readonly register: Register; readonly name: string };
  /** Whether the database is a copy that may lack entries of the register: these are unchecked, and no difference. */
  readonly may_lack?: boolean;
  /** Verifier key of the checkpoint key. If absent, the signatures of the stored notes are not verified. */
  readonly vkey?: string;
  /** The entry types of the loaded plugins. The rows of other plugins are not compared. */
  readonly types?: readonly EntryType[];
  /** Threads that verify signatures. With 0, the default, the calling thread does. */
  readonly threads?: number;
  readonly onProgress?: (done: number, size: number) => void;
}

/** What fsck found. */
export interface FsckResult {
  /** Null for a database without entries. */
  readonly origin: string | null;
  readonly size: number;
  /** The root over all entries, in hex. */
  readonly root: string;
  /** The number of differences; `differences` lists the first thousand. */
  readonly count: number;
  readonly differences: readonly Difference[];
  /** The parts that were not compared, each with the reason. */
  readonly unchecked: readonly string[];
}

/**
 * Checks one log.
 *
 * @throws LogError `not_found` if there is no database, `log_locked` while the log is open, `store_corrupt` if a block
 *   of its files does not match its checksum
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
      ? { root: EMPTY_ROOT, roots: new Map<number, Uint8Array>(), unchecked: [] as string[] }
      : await passOver(store, options, {
          origin,
          size,
          differences,
          rootsAt: new Set(outside?.heads.map((head) => head.size)),
        });
  const unchecked = [...passed.unchecked];
  if (outside !== null) {
    const behind = compareOutside(outside, { origin, roots: passed.roots }, differences);
    for (const recorded of behind) {
      if (options.may_lack === true) {
        unchecked.push(
          `entries from ${String(size)} to ${String(recorded - 1)}: this copy lacks them`,
        );
      } else {
        const detail = `has recorded ${String(recorded)} entries: the database is behind`;
        differences.add('checkpoint file', outside.path, detail);
      }
    }
  }
  return {
    origin,
    size,
    root: toHex(passed.root),
    count: differences.count,
    differences: differences.listed,
    unchecked,
  };
}

/** The size in the row `state`; without that row, the index after the last stored entry. */
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
        : [`derived rows: the replay stopped at entry ${String(pass.stopped)}`];
    if (vkey === undefined) unchecked.push('signatures of notes: no verifier key was given');
    return { root: pass.edge.root(), roots: pass.roots, unchecked };
  } finally {
    await scratch.close();
    await pool.close();
  }
}

// Comparison of the heads, the rows of the core and the plugins, and the position with those that the entries derive.

/** The results of a pass that reached the last entry. */
interface Derived {
  readonly store: Store;
  readonly pass: EntryPass;
  readonly scratch: Scratch;
  readonly types: readonly EntryType[];
  readonly differences: Differences;
}

/** Compares all of them, and returns the parts that were not compared. */
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
  if (state === undefined) return; // `sizeOf` reported it
  const stored = JSON.parse(Buffer.from(state).toString()) as JsonObject;
  for (const [name, value] of Object.entries(scratch.core.position)) {
    const [is, should] = [JSON.stringify(stored[name]), JSON.stringify(value)];
    if (is !== should) differences.add('state', name, `is ${is}, but the entries derive ${should}`);
  }
}

// Comparison of the tree with the log's value in the checkpoint register.

/** The tree heads in the register: of the last note, and of the last acknowledged entries. */
interface Outside {
  readonly path: string;
  /** Null if the register does not have the log. */
  readonly origin: string | null;
  readonly heads: readonly { readonly size: number; readonly root: Uint8Array }[];
}

/** Reads the value of the log. A value that cannot be read is recorded as a difference, and the result is null. */
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
    if (!isLogError(error)) throw error;
    differences.add('checkpoint file', path, error.message);
    return null;
  }
}

/** Compares the register with the roots that the pass recorded. Returns the sizes in it that the database has not reached. */
function compareOutside(
  { path, origin, heads }: Outside,
  log: { readonly origin: string | null; readonly roots: ReadonlyMap<number, Uint8Array> },
  differences: Differences,
): readonly number[] {
  const add = (detail: string): void => {
    differences.add('checkpoint file', path, detail);
  };
  if (origin === null) {
    if (log.origin !== null) add('is missing');
    return [];
  }
  if (log.origin !== null && origin !== log.origin) add(`belongs to ${origin}`);
  const behind = new Set<number>();
  for (const { size, root } of heads) {
    const own = size === 0 ? EMPTY_ROOT : log.roots.get(size);
    if (own === undefined) behind.add(size);
    else if (!equal(own, root)) add(`has another root at size ${String(size)}`);
  }
  // A set, because the note and the acknowledged entries usually have the same size.
  return [...behind];
}
