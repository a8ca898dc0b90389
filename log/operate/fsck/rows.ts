// Compares whole key spaces of a database with the rows that the entries derive, and finds rows that no entry derives.
// At the end, the list of differences.

import { isDeepStrictEqual } from 'node:util';
import { equal, toHex } from '../../encoding/bytes.ts';
import { isLogError } from '../../errors.ts';
import { decodeHead, encodeHead } from '../../map/head.ts';
import { tileWidth } from '../../merkle/tile.ts';
import type { HeadTable } from '../../replay/chains.ts';
import {
  ATTACHED_ROW,
  CHAIN,
  CORE_ROW,
  ENTRY,
  HEAD,
  LEAF,
  META,
  metaKey,
  NOTE,
  PLUGIN_ROW,
  ROUND,
  readIndex,
  readRowKey,
  readTileKey,
  TILE,
} from '../../store/layout.ts';
import type { Store } from '../../store/store.ts';

type Row = [Uint8Array, Uint8Array];

/** All rows under a prefix byte. */
export async function* rowsOf(store: Store, letter: number): AsyncGenerator<Row> {
  yield* store.scan({ gte: Uint8Array.of(letter), lt: Uint8Array.of(letter + 1) });
}

/** Compares the stored head records with the heads that the entries derive. */
export async function compareHeads(
  store: Store,
  heads: HeadTable,
  differences: Differences,
): Promise<void> {
  const seen = new Uint8Array(heads.size);
  for await (const [key, value] of rowsOf(store, HEAD)) {
    const skey = key.subarray(1);
    const where = `head of skey ${toHex(skey)}`;
    const slot = heads.find(skey);
    if (slot < 0) differences.add('head', where, 'belongs to no chain of the entries');
    else {
      seen[slot] = 1;
      if (!equal(value, encodeHead(heads.head(slot)))) {
        differences.add('head', where, `${headText(value)}, but the entries derive another head`);
      }
    }
  }
  for (const [slot, found] of seen.entries()) {
    if (found === 0) {
      differences.add('head', `head of skey ${toHex(heads.skey(slot))}`, 'is missing');
    }
  }
}

function headText(value: Uint8Array): string {
  try {
    const { count, last_index } = decodeHead(value);
    return `has ${String(count)} entries, the last at ${String(last_index)}`;
  } catch {
    return 'is no head record';
  }
}

/**
 * Compares the rows of one key space with those of the scratch database. Rows for which `skip` is true are left out.
 */
export async function compareRows(
  letter: number,
  part: Part,
  stored: Store,
  derived: Store,
  differences: Differences,
  skip: (key: string) => boolean = () => false,
): Promise<void> {
  const theirs = rowsOf(stored, letter);
  const ours = rowsOf(derived, letter);
  let a = await theirs.next();
  let b = await ours.next();
  while (a.done !== true || b.done !== true) {
    const order = a.done === true ? 1 : b.done === true ? -1 : compareKeys(a.value, b.value);
    const row = (order <= 0 ? a.value : b.value) as Row;
    const name = readRowKey(row[0]);
    if (!skip(name)) {
      if (order < 0) differences.add(part, name, 'is derived from no entry');
      else if (order > 0) differences.add(part, name, 'is missing');
      else if (!sameJson((a.value as Row)[1], (b.value as Row)[1])) {
        differences.add(part, name, 'differs from the row that the entries derive');
      }
    }
    if (order <= 0) a = await theirs.next();
    if (order >= 0) b = await ours.next();
  }
}

/** Whether two rows are the same JSON. The order of members depends on the caller or the parser, and has no meaning. */
function sameJson(a: Uint8Array, b: Uint8Array): boolean {
  return equal(a, b) || isDeepStrictEqual(jsonOf(a), jsonOf(b));
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return undefined;
  }
}

const compareKeys = (a: Row, b: Row): number => Buffer.compare(a[0], b[0]);

/** Finds rows that no entry derives: by the number of rows, indexes beyond the size, tile widths and unknown keys. */
export async function findStrays(
  store: Store,
  expected: { readonly size: number; readonly chainRows: number },
  differences: Differences,
): Promise<void> {
  const { size, chainRows } = expected;
  await count(store, CHAIN, chainRows, 'chain row', differences);
  await count(store, LEAF, size, 'finding row', differences);
  for await (const [key] of rowsOf(store, ENTRY)) {
    if (readIndex(key) >= size) {
      differences.add('entry', `entry ${String(readIndex(key))}`, 'is beyond the size');
    }
  }
  for await (const [key, hashes] of rowsOf(store, TILE)) {
    const { level, n } = readTileKey(key);
    if (hashes.length !== tileWidth(size, level, n) * 32) {
      differences.add(
        'tile',
        `tile ${String(level)}/${String(n)}`,
        'has another width than the size requires',
      );
    }
  }
  for await (const [key] of rowsOf(store, META)) {
    const known = (['version', 'state', 'rows', 'vkey', 'round'] as const).some((name) =>
      equal(key, metaKey(name)),
    );
    if (!known)
      differences.add('unknown row', readRowKey(key), 'is nothing that this version knows');
  }
  await findUnknown(store, differences);
}

async function count(
  store: Store,
  letter: number,
  expected: number,
  part: Part,
  differences: Differences,
): Promise<void> {
  let rows = 0;
  for await (const _ of rowsOf(store, letter)) rows += 1;
  if (rows !== expected) {
    const counted = `has ${String(rows)} rows, the entries ask for ${String(expected)}`;
    differences.add(part, `prefix ${String.fromCharCode(letter)}`, counted);
  }
}

/** Finds rows whose prefix this version does not have. */
async function findUnknown(store: Store, differences: Differences): Promise<void> {
  const known = [
    ...[ENTRY, TILE, HEAD, CHAIN, LEAF],
    ...[NOTE, CORE_ROW, PLUGIN_ROW, ATTACHED_ROW, META, ROUND],
  ].sort((a, b) => a - b);
  let from = 0;
  for (const letter of [...known, 256]) {
    const lt = letter < 256 ? Uint8Array.of(letter) : new Uint8Array(64).fill(255);
    if (letter > from) {
      for await (const [key] of store.scan({ gte: Uint8Array.of(from), lt })) {
        differences.add('unknown row', toHex(key), 'is nothing that this version knows');
      }
    }
    from = letter + 1;
  }
}

/** Runs a comparison. An unreadable block ends it and is recorded as a difference. */
export async function guarded(
  part: Part,
  differences: Differences,
  compare: () => Promise<void>,
): Promise<void> {
  try {
    await compare();
  } catch (error) {
    if (!isLogError(error)) throw error;
    differences.add(part, 'database', error.message);
  }
}

// The list of differences.

/** The part of a data folder that a difference is in. A `finding row` finds an index by the leaf hash. */
export type Part =
  | 'entry'
  | 'rule'
  | 'tile'
  | 'head'
  | 'chain row'
  | 'finding row'
  | 'core row'
  | 'plugin row'
  | 'note'
  | 'state'
  | 'checkpoint file'
  | 'unknown row';

/** A stored row, file or entry that differs from what the entries derive, or that breaks a rule. */
export interface Difference {
  readonly part: Part;
  /** For example `entry 812`, `tile 0/3`, `head of ["session", …]`. */
  readonly where: string;
  readonly detail: string;
}

/** How many differences are listed; a database with more of them is restored, not repaired by hand. */
const LISTED = 1000;

/** Counts all differences and lists the first ones. */
export class Differences {
  readonly listed: Difference[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(part: Part, where: string, detail: string): void {
    this.#count += 1;
    if (this.listed.length < LISTED) this.listed.push({ part, where, detail });
  }
}
