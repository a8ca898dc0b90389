// Restores the entries that a database has lost, from a mirror that has them.
//
// The database has fewer entries than the checkpoint register says that the log had. Before anything is written, the
// tree of the database together with the mirror's leaves is compared with the mirror's signed note and with the
// register (log/FORMAT.md §5). The restored log therefore continues the tree for which receipts exist, and never forks.

import { join } from 'node:path';
import { applySigned } from './apply-signed.ts';
import { LogClock, systemTime } from '../write/clock.ts';
import { Core } from '../write/core.ts';
import { native } from '../crypto/native.ts';
import { openVerifyPool } from '../crypto/verify-pool.ts';
import { equal, fromBase64, toBase64 } from '../encoding/bytes.ts';
import { textOfEntry, isViolation, Replay, SignatureChecks } from '../replay/replay.ts';
import { LogError } from '../errors.ts';
import { integrate } from '../write/integrate.ts';
import { openFold } from '../map/fold.ts';
import { HASH_BYTES } from '../merkle/hash.ts';
import { rootAt } from '../merkle/prove.ts';
import { TILE_WIDTH, tileWidth } from '../merkle/tile.ts';
import type { Mirror } from './mirror.ts';
import { openCheckpoint, parseCheckpoint } from '../note/checkpoint.ts';
import type { Checkpoint } from '../note/checkpoint.ts';
import { checkRowForms } from '../write/row-forms.ts';
import { leafHashOf } from '../write/statement.ts';
import { noteKey } from '../store/layout.ts';
import type { Register, Remembered } from '../store/register.ts';
import { readRemembered, registerName } from '../store/register.ts';
import { openStore, put } from '../store/store.ts';
import type { Store } from '../store/store.ts';
import type { EntryType, Kind } from '../types.ts';

/** The log to restore, and the mirror to restore it from. */
export interface RestoreOptions {
  readonly kind: Kind;
  readonly number: number;
  /** The log's folder. If it has no database, a new one is made and gets every entry. */
  readonly folder: string;
  readonly register: Register;
  /** Verifier key of the log's checkpoint key. */
  readonly vkey: string;
  readonly mirror: Mirror;
  /** The entry types of the loaded plugins, whose rows are derived from the restored entries. */
  readonly types?: readonly EntryType[];
  readonly threads?: number;
  readonly onProgress?: (done: number, size: number) => void;
}

/** The size of the log before (`from`) and after (`to`). */
export interface Restored {
  readonly origin: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Copies the missing entries from the mirror. They are written in batches of one bundle; after a crash, the same call
 * continues with the next one.
 *
 * @throws LogError `not_found` if the register does not have the log; `log_rolled_back` if the mirror lacks entries
 *   for which receipts were given out; `proof_invalid` if the mirror has another tree; `log_locked`, `store_corrupt`
 */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { register } = options;
  const name = registerName(options.kind, options.number);
  const remembered = await readRemembered(register, name);
  if (remembered === null) {
    throw new LogError(
      'not_found',
      `${register.where(name)} is missing: the number of entries that the log had is unknown`,
    );
  }
  const { types = [] } = options;
  const store = await openStore(join(options.folder, 'db'));
  const fold = openFold({ threads: false });
  const core = new Core({
    kind: options.kind,
    origin: remembered.origin,
    store,
    clock: new LogClock(systemTime),
    fold: fold.trie(remembered.origin),
    types,
  });
  try {
    await core.load();
    await checkRowForms(core, types);
    return await catchUp(core, store, remembered, options);
  } finally {
    await store.close();
    await fold.close();
  }
}

async function catchUp(
  core: Core,
  store: Store,
  remembered: Remembered,
  options: RestoreOptions,
): Promise<Restored> {
  const { mirror, vkey, register } = options;
  const { origin } = remembered;
  const from = core.durable;
  const note = await mirror.checkpoint();
  const target = openCheckpoint(native, note, { origin, vkey });
  const heads = headsOf(remembered);
  const most = Math.max(...heads.map(({ size }) => size));
  if (target.size < most) {
    throw new LogError(
      'log_rolled_back',
      `${mirror.name} has ${String(target.size)} entries, but the log gave out receipts for ${String(most)}: ` +
        'use a mirror that has all of them, or open a successor log',
    );
  }
  if (from > target.size) {
    throw new LogError(
      'out_of_range',
      `the database has ${String(from)} entries, ${mirror.name} only ${String(target.size)}: there is nothing to restore`,
    );
  }
  const leaves = await leavesOf(core, mirror, target, heads);
  await copyEntries(core, store, leaves, options);
  if (!equal(core.edge.root(), target.root)) throw new Error('the restored tree has another root');
  await store.write([put(noteKey(target.size), Buffer.from(note))]);
  if (target.size > remembered.acknowledged.size) {
    const acknowledged = { size: target.size, root: toBase64(target.root) };
    const name = registerName(options.kind, options.number);
    await register.advance(name, remembered, { origin, note, acknowledged });
  }
  return { origin, from, to: target.size };
}

/** The tree heads in the register: the last acknowledged size, and the last note. */
function headsOf({ note, acknowledged }: Remembered): Pick<Checkpoint, 'size' | 'root'>[] {
  return [
    { size: acknowledged.size, root: fromBase64(acknowledged.root, HASH_BYTES) },
    ...(note === null ? [] : [parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1))]),
  ];
}

/**
 * Reads the leaf hashes that the database lacks from the mirror's tiles. They are verified: appended to the stored
 * tree, they give the root that the log signed, and every root in the register.
 *
 * @throws LogError `proof_invalid` if a root differs
 */
async function leavesOf(
  core: Core,
  mirror: Mirror,
  target: Checkpoint,
  heads: readonly Pick<Checkpoint, 'size' | 'root'>[],
): Promise<Uint8Array[]> {
  const compare = (size: number, root: Uint8Array): void => {
    for (const head of [...heads, target]) {
      if (head.size === size && !equal(head.root, root)) {
        throw new LogError(
          'proof_invalid',
          `the entries of the database and of ${mirror.name} give another root at size ${String(size)} than the log ` +
            'signed: the mirror has another tree, or the database is damaged (fsck finds that)',
        );
      }
    }
  };
  for (const { size } of heads) {
    if (size <= core.durable) compare(size, rootAt(core.tiles, native, size));
  }
  const edge = core.edge.clone();
  const leaves: Uint8Array[] = [];
  for (let n = Math.floor(core.durable / TILE_WIDTH); edge.size < target.size; n += 1) {
    const tile = await mirror.tile(0, n, tileWidth(target.size, 0, n));
    for (let at = edge.size - n * TILE_WIDTH; at * HASH_BYTES < tile.length; at += 1) {
      const leaf = tile.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES);
      edge.append(leaf);
      leaves.push(leaf);
      if (heads.some(({ size }) => size === edge.size)) compare(edge.size, edge.root());
    }
    edge.takeDirty();
  }
  compare(target.size, edge.root());
  return leaves;
}

/** Replays the stored entries, then replays and writes the missing ones, bundle by bundle. */
async function copyEntries(
  core: Core,
  store: Store,
  leaves: readonly Uint8Array[],
  { mirror, threads = 0, onProgress }: RestoreOptions,
): Promise<void> {
  const from = core.durable;
  const size = from + leaves.length;
  const pool = openVerifyPool({ threads });
  try {
    const replay = new Replay({
      suite: native,
      origin: core.origin,
      verifySignatures: 'deferred',
    });
    const signatures = new SignatureChecks(pool);
    await replayed('of the database', async () => {
      for (let index = 0; index < from; index += 1) {
        replay.add(core.entryText(index));
        await signatures.take(replay);
        if (index % TILE_WIDTH === 0) onProgress?.(index, size);
      }
      await signatures.settle();
    });
    for (let round = 1; core.durable < size; round += 1) {
      const n = Math.floor(core.durable / TILE_WIDTH);
      const bundle = await mirror.bundle(n, tileWidth(size, 0, n));
      const missing = bundle.slice(core.durable - n * TILE_WIDTH);
      for (const [i, bytes] of missing.entries()) {
        if (!equal(leafHashOf(bytes), leaves[core.durable - from + i] ?? bytes)) {
          throw new LogError(
            'proof_invalid',
            `bundle ${String(n)} of ${mirror.name} does not match its tile`,
          );
        }
      }
      await replayed(`of ${mirror.name}`, async () => {
        for (const bytes of missing) {
          replay.add(textOfEntry(bytes, replay.size));
          await signatures.take(replay);
        }
        await signatures.settle();
      });
      await writeEntries(core, store, round, missing);
      onProgress?.(core.durable, size);
    }
  } finally {
    await pool.close();
  }
}

/** Writes entries with their rows as one batch, so that after a crash the database ends with a whole bundle. */
async function writeEntries(
  core: Core,
  store: Store,
  round: number,
  entries: readonly Uint8Array[],
): Promise<void> {
  core.begin();
  const adopted = entries.map((bytes) => applySigned(core, bytes, round));
  const { writes } = integrate(core, [{ id: round, position: core.position }], adopted, []);
  await store.write(writes);
  core.settle(round, core.position.size);
}

/** Reports a violation as `store_corrupt`: the log itself signed a bad entry, and restoring it would not repair it. */
async function replayed(where: string, replay: () => Promise<void>): Promise<void> {
  try {
    await replay();
  } catch (error) {
    if (!isViolation(error)) throw error;
    throw new LogError(
      'store_corrupt',
      `entry ${String(error.index)} ${where} breaks ${error.rule}: ${error.detail}`,
      { cause: error },
    );
  }
}
