// Adoption: before a copied or restored data folder may be written to again, its log is compared with the checkpoint
// register, a mirror and the witnesses, so that a folder that lost entries cannot fork the log. Nothing is signed
// (log/FORMAT.md §5.4).

import { join } from 'node:path';
import { LogClock, systemTime } from '../write/clock.ts';
import { Core } from '../write/core.ts';
import { native } from '../crypto/native.ts';
import { equal, fromBase64, toBase64 } from '../encoding/bytes.ts';
import { isLogError, LogError } from '../errors.ts';
import { noteText, ownNote, storedNote } from '../write/last-note.ts';
import { openFold } from '../map/fold.ts';
import { consistencyPath, rootAt } from '../merkle/prove.ts';
import { openCheckpoint, parseCheckpoint } from '../note/checkpoint.ts';
import type { Offer } from '../write/publisher.ts';
import { restore, type RestoreOptions } from './restore.ts';
import { readEntry } from '../write/statement.ts';
import { entryKey } from '../store/layout.ts';
import type { Register } from '../store/register.ts';
import { readRemembered, registerName } from '../store/register.ts';
import { openStore, type Store } from '../store/store.ts';

/** Asks the witnesses of a log to confirm its newest note. Returns null if they do, else the reason. */
export type AskWitnesses = (offer: Offer) => Promise<string | null>;

/** The log, and what it is compared with. `register` is also written: it gets the state of the log at the end. */
export interface AdoptionOptions extends Omit<RestoreOptions, 'mirror'> {
  readonly origin: string;
  readonly mirror?: RestoreOptions['mirror'];
  /** Absent when the log has no witnesses. */
  readonly witnesses?: AskWitnesses;
}

/** The result: the size of the log, and what it was compared with. */
export interface Adopted {
  readonly origin: string;
  readonly size: number;
  /** How many entries were copied from the mirror. */
  readonly restored: number;
  readonly compared: readonly ('mirror' | 'witnesses')[];
}

/** The origin in entry 0 of a database; null if there is no database or it has no entries. */
export async function originIn(folder: string): Promise<string | null> {
  const store = await openStore(join(folder, 'db'), { existing: true }).catch((error: unknown) => {
    if (!isLogError(error) || error.code !== 'not_found') throw error;
    return null;
  });
  if (store === null) return null;
  try {
    const first = store.get(entryKey(0));
    if (first === undefined) return null;
    return readEntry(Buffer.from(first).toString()).statement['origin'] as string;
  } finally {
    await store.close();
  }
}

/**
 * Compares a log with the register, the mirror and the witnesses. If the database has fewer entries than the mirror,
 * the missing ones are first copied from the mirror.
 *
 * @throws LogError `log_rolled_back` if the register or a witness has seen more entries than the database and the
 *   mirror have; `proof_invalid` if their trees differ; and what `restore` throws
 */
export async function compareForAdoption(options: AdoptionOptions): Promise<Adopted> {
  const { origin, mirror, register, vkey, kind, number } = options;
  const name = registerName(kind, number);
  let restored = 0;
  if (mirror !== undefined) {
    const behind = await withCore(options, (core) => compareMirror(core, options, name));
    if (behind) {
      const { from, to } = await restore({ ...options, mirror });
      restored = to - from;
    }
  }
  return withCore(options, async (core, store) => {
    const note = await compareRegister(core, store, register, name);
    const compared: ('mirror' | 'witnesses')[] = mirror === undefined ? [] : ['mirror'];
    if (options.witnesses !== undefined && note !== null) {
      const { size } = parseCheckpoint(noteText(note));
      const consistency = (from: number) => consistencyPath(core.tiles, from, size);
      const why = await options.witnesses({ origin, vkey, note, size, consistency });
      if (why !== null) throw new LogError('log_rolled_back', `${origin}: ${why}`);
      compared.push('witnesses');
    }
    return { origin, size: core.durable, restored, compared };
  });
}

/**
 * Compares the database with the mirror. Returns true if the mirror has more entries; a register without this log then
 * gets the mirror's note, which `restore` needs.
 */
async function compareMirror(
  core: Core,
  { origin, vkey, mirror, register }: AdoptionOptions,
  name: string,
): Promise<boolean> {
  if (mirror === undefined) return false;
  const note = await mirror.checkpoint();
  const { size, root } = openCheckpoint(native, note, { origin, vkey });
  if (size <= core.durable) {
    sameRoot(core, size, root, mirror.name);
    return false;
  }
  if ((await readRemembered(register, name)) === null) {
    const acknowledged = { size, root: toBase64(root) };
    await register.advance(name, null, { origin, note, acknowledged });
  }
  return true;
}

/**
 * Compares the database with the register; a register without this log gets the state of the database. Returns the
 * newest note of both, with the log's own signature only; null if there is none.
 */
async function compareRegister(
  core: Core,
  store: Store,
  register: Register,
  name: string,
): Promise<string | null> {
  const remembered = await readRemembered(register, name);
  const stored = await storedNote(store);
  if (remembered === null) {
    const root = toBase64(rootAt(core.tiles, native, core.durable));
    const acknowledged = { size: core.durable, root };
    await register.advance(name, null, { origin: core.origin, note: stored, acknowledged });
  }
  let newest: { readonly size: number; readonly note: string } | null = null;
  for (const note of [stored, remembered?.note ?? null]) {
    if (note === null) continue;
    const { size, root } = parseCheckpoint(noteText(note));
    sameRoot(core, size, root, register.where(name));
    if (newest === null || size > newest.size) newest = { size, note };
  }
  if (remembered !== null) {
    const { size, root } = remembered.acknowledged;
    sameRoot(core, size, fromBase64(root, 32), register.where(name));
  }
  return newest === null ? null : ownNote(newest.note, core.origin);
}

function sameRoot(core: Core, size: number, root: Uint8Array, where: string): void {
  if (size > core.durable) {
    throw new LogError(
      'log_rolled_back',
      `${core.origin} has ${String(core.durable)} entries, but ${where} has recorded ${String(size)}: name a mirror ` +
        'that has them (--from)',
    );
  }
  if (!equal(rootAt(core.tiles, native, size), root)) {
    throw new LogError(
      'proof_invalid',
      `${core.origin} and ${where} have different roots at size ${String(size)}: the log has forked, or this folder ` +
        'belongs to another log',
    );
  }
}

async function withCore<T>(
  { folder, origin, kind, types = [] }: AdoptionOptions,
  work: (core: Core, store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(join(folder, 'db'));
  const fold = openFold({ threads: false });
  try {
    const clock = new LogClock(systemTime);
    const core = new Core({ kind, origin, store, clock, fold: fold.trie(origin), types });
    await core.load();
    return await work(core, store);
  } finally {
    await store.close();
    await fold.close();
  }
}
