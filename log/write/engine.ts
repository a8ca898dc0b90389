// Starts a log: loads its core, refuses a database that has lost entries, opens the keys, restores the head map, and
// starts the sequencer and the publisher. A new log gets its keys and entry 0.

import { join } from 'node:path';
import type { Replica } from '../cluster/replica.ts';
import { asInvalid } from '../rules/admission.ts';
import { catchUp, cutAhead, type FoldedAt } from './catch-up.ts';
import type { LogClock } from './clock.ts';
import { Core } from './core.ts';
import { native } from '../crypto/native.ts';
import type { SignPool } from '../crypto/sign-pool.ts';
import { removeLeftovers } from '../store/durable-file.ts';
import { equal, fromBase64, toBase64 } from '../encoding/bytes.ts';
import type { JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import { Keyring } from './keyring.ts';
import { lastVisible, newestNote, noteText, ownNote } from './last-note.ts';
import { Follower } from './follower.ts';
import type { FoldHost } from '../map/fold.ts';
import { consistencyPath, rootAt } from '../merkle/prove.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import { formatVkey, ML_DSA_KEY } from '../note/note.ts';
import { Publisher, type Offer, type PublisherOptions, type Visible } from './publisher.ts';
import { FOLLOWS, readOnlyOf, verifierKeyOf, type ReadOnly } from './read-only.ts';
import { checkPredecessor } from '../rules/life.ts';
import { checkRowForms } from './row-forms.ts';
import { Sequencer } from './sequencer.ts';
import { readEntry } from './statement.ts';
import { entryKey, metaKey } from '../store/layout.ts';
import type { Register } from '../store/register.ts';
import { readRemembered, registerName, type Remembered } from '../store/register.ts';
import { openStore, type Store } from '../store/store.ts';
import { FORMAT } from '../rules/builtin.ts';
import type { EntryType, Kind } from '../types.ts';

/** The last checkpoint of the log before this one. */
export interface Predecessor {
  readonly origin: string;
  readonly size: number;
  /** Lower-case hex of 32 bytes. */
  readonly root: string;
}

/** Everything an engine is started with. */
export interface EngineOptions {
  readonly kind: Kind;
  readonly number: number;
  /** The log's folder: `db/` and the map's snapshot are in it. */
  readonly folder: string;
  readonly keys_folder: string;
  readonly passphrase?: string;
  readonly register: Register;
  /** Origin of a log that is created now, without the `/log/<kind>/<n>` part. */
  readonly origin_base: string;
  /** True when the operator set it; an existing log must then have this origin. */
  readonly origin_fixed: boolean;
  readonly predecessor?: Predecessor;
  /** Time of the last entry of the predecessor; entry 0 of a log that is created now is later (log/FORMAT.md §1.3). */
  readonly begins_after_ms?: number;
  /** Whether the log has a successor. Nothing is appended to it any more, even if its keys are present. */
  readonly has_successor: boolean;
  readonly checkpoint_interval_ms: number;
  /** Longest time without a checkpoint. Default: the constant of the format; tests set a shorter one. */
  readonly idle_ms?: number;
  readonly max_waiting: number;
  readonly clock: LogClock;
  readonly types: readonly EntryType[];
  readonly sign: SignPool;
  readonly fold: FoldHost;
  /** Opens the database. Tests pass one that fails on purpose. */
  readonly store?: (folder: string) => Promise<Store>;
  /** The node's copy of the log in a cluster, in place of a database of its own. If it does not lead, the log follows. */
  readonly replica?: Replica;
  /** Called after a key file was made, before the key is used. */
  readonly onKeyFile?: () => Promise<void>;
  readonly cosign?: PublisherOptions['cosign'];
  readonly ml_dsa?: PublisherOptions['ml_dsa'];
  /**
   * Asked at each start of a log that has published, before anything is appended: by how many milliseconds the wall
   * clock is ahead of an independent one; null when that is unknown. `last_ms` is the time of the last entry.
   */
  readonly judgeClock?: (offer: Offer, last_ms: number) => Promise<number | null>;
  readonly onVisible?: (visible: Visible, before: Visible) => void;
  /**
   * Called when a write of the sequencer or the publisher failed, after which the log takes no entries until it has
   * recovered, and when the clock kept a checkpoint from being published (`clock_untrusted`).
   */
  readonly onFailure?: (error: unknown) => void;
  readonly onClosed?: () => Promise<void>;
}

/** A started log. */
export interface Engine {
  readonly core: Core;
  readonly keyring: Keyring;
  readonly vkey: string;
  /** Verifier key of its ML-DSA-44 key; null unless it signs with one. */
  readonly vkey_ml_dsa: string | null;
  /** Why the log is read-only; null when it takes entries. */
  readonly read_only: ReadOnly | null;
  readonly sequencer: Sequencer;
  readonly publisher: Publisher;
  /** The map at the last published checkpoint. */
  folded: FoldedAt;
  /** Writes a snapshot of the published map, so that the next start need not rebuild it from the entries. */
  saveMap(): Promise<void>;
}

/** A snapshot is written after this many entries, or an eighth of the keys if that is more. */
const SNAPSHOT_ENTRIES = 20_000;

/**
 * Opens the database of a log and starts its engine.
 *
 * @throws LogError `log_rolled_back`, `log_locked`, `store_corrupt`, `key_invalid`, `key_lost`
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const store =
    options.replica?.open() ?? (await (options.store ?? openStore)(join(options.folder, 'db')));
  try {
    return await startOn(store, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function startOn(store: Store, options: EngineOptions): Promise<Engine> {
  const { kind, number } = options;
  const origin = originOf(store, options);
  const core = new Core({
    kind,
    origin,
    store,
    clock: options.clock,
    fold: options.fold.trie(`${kind}/${String(number)}`),
    types: options.types,
  });
  await core.load();
  const follows = options.replica !== undefined && !options.replica.leads;
  if (store.get(metaKey('reindex')) !== undefined) {
    throw new LogError(
      'store_corrupt',
      `the plugin rows of ${origin} are not completely rebuilt: run "actlog reindex" again`,
    );
  }
  await checkRowForms(core, options.types, { follows });
  await removeLeftovers(options.folder);
  const { register } = options;
  const name = registerName(kind, number);
  // A follower's copy may be behind, because the leader advances the register before the follower has the rounds.
  const remembered = follows ? null : await readRemembered(register, name);
  if (!follows) checkNotBehind(core, remembered, register.where(name));

  const keyring = await Keyring.open(
    {
      folder: options.keys_folder,
      kind,
      number,
      ...(options.passphrase === undefined ? {} : { passphrase: options.passphrase }),
      ...(options.onKeyFile === undefined ? {} : { changed: options.onKeyFile }),
    },
    options.sign,
  );
  if (core.durable === 0) {
    if (follows) throw new LogError('log_unavailable', `no node has made ${origin} yet`);
    asInvalid(() => {
      const { predecessor = null } = options;
      checkPredecessor({ predecessor } as unknown as JsonObject, origin, null);
    });
    await createKeys(keyring);
    const { begins_after_ms } = options;
    // The clock may have been set back since the predecessor's last entry.
    if (begins_after_ms !== undefined) {
      core.position = { ...core.position, last_ms: begins_after_ms + 1 };
    }
  }
  const vkey = await verifierKeyOf(core, keyring);
  const read_only = follows ? FOLLOWS : readOnlyOf(core, keyring, options.has_successor);

  // The register must hold the log from its first entry on.
  const entered = async () => (follows ? NEVER : enter(core, register, name));
  const held = remembered ?? (await entered());

  // A log that signs nothing more publishes the last note that it signed, because no later one will replace it.
  const unwitnessed = options.cosign === undefined || read_only !== null;
  const visible = await lastVisible(core, vkey, unwitnessed ? remembered : null);
  if (follows && visible.size === 0) {
    throw new LogError('log_unavailable', `the copy of ${origin} has no checkpoint yet`);
  }
  if (read_only !== null && visible.size === 0) throw new LogError('key_lost', read_only.reason);
  if (read_only === null && visible.size > 0 && options.judgeClock !== undefined) {
    const { size, note } = visible;
    const consistency = (from: number) => consistencyPath(core.tiles, from, size);
    const offer = { origin, vkey, note: ownNote(note, origin), size, consistency };
    const ahead = await options.judgeClock(offer, core.position.last_ms);
    if (ahead !== null) options.clock.compared(ahead);
  }
  const snapshot = join(options.folder, 'map');
  const { at: folded, ahead } = follows
    ? await cutAhead(core, snapshot, visible.size)
    : { at: await catchUp(core, snapshot, visible.size), ahead: null };
  const sequencer = new Sequencer(core, options.sign, options.max_waiting, (error) => {
    options.onFailure?.(error);
  });
  let saved = visible.size;
  const publisher = new Publisher(
    core,
    keyring,
    sequencer,
    { ...visible, version: folded.version },
    {
      interval_ms: options.checkpoint_interval_ms,
      idle_ms: options.idle_ms ?? FORMAT.idle_ms,
      read_only: read_only !== null,
      number,
      register,
      held,
      signed: newestNote(remembered, visible),
      ...(options.cosign === undefined ? {} : { cosign: options.cosign }),
      ...(options.ml_dsa === undefined ? {} : { ml_dsa: options.ml_dsa }),
      onVisible: (next, before) => {
        engine.folded = { version: next.version, keys: next.keys };
        options.onVisible?.(next, before);
        if (next.size - saved >= Math.max(SNAPSHOT_ENTRIES, next.keys / 8)) {
          saved = next.size;
          // A snapshot only makes the next start faster, so a failure to write one is ignored.
          core.fold.save(snapshot, next.size - 1).catch(() => undefined);
        }
      },
      onFailure: (error) => {
        options.onFailure?.(error);
      },
    },
  );
  const engine: Engine = {
    core,
    keyring,
    vkey,
    vkey_ml_dsa:
      options.ml_dsa === undefined || (read_only !== null && !(follows && keyring.hasCheckpoint))
        ? null
        : formatVkey(native, origin, ML_DSA_KEY, keyring.mlDsa().publicKey),
    read_only,
    sequencer,
    publisher,
    folded,
    saveMap: async () => {
      const { size } = publisher.visible;
      if (size > 0) await core.fold.save(snapshot, size - 1);
    },
  };
  if (follows) {
    const follower = new Follower(core, vkey, publisher, ahead);
    options.replica.follow((writes) => follower.apply(writes));
  }
  if (core.durable === 0) await open(engine, options);
  return engine;
}

/** The origin of entry 0; for a new log, the one of the configuration. */
function originOf(store: Store, options: EngineOptions): string {
  const wanted = `${options.origin_base}/log/${options.kind}/${String(options.number)}`;
  const first = store.get(entryKey(0));
  if (first === undefined) return wanted;
  const origin = readEntry(Buffer.from(first).toString()).statement['origin'] as string;
  if (options.origin_fixed && origin !== wanted) {
    throw new LogError(
      'entry_invalid',
      `LOG_ORIGIN makes this log ${wanted}, but it was created as ${origin}: an origin never changes`,
    );
  }
  return origin;
}

/**
 * Refuses a database with fewer entries than the register records: appending to a restored backup would fork the log.
 */
function checkNotBehind(core: Core, remembered: Remembered | null, path: string): void {
  const behind = (what: string): LogError =>
    new LogError(
      'log_rolled_back',
      `the database of ${core.origin} ${what}: it lacks entries for which receipts were given out, so the log refuses ` +
        'to write. Run "actlog restore" to copy them from a mirror or to open a successor log',
    );
  if (remembered === null) {
    if (core.durable > 0) throw behind(`has entries, but its checkpoint file ${path} is missing`);
    return;
  }
  if (core.durable > 0 && remembered.origin !== core.origin) {
    throw behind(`is not the log of ${path}, which is ${remembered.origin}`);
  }
  const heads = [
    { size: remembered.acknowledged.size, root: fromBase64(remembered.acknowledged.root, 32) },
    ...(remembered.note === null ? [] : [parseCheckpoint(noteText(remembered.note))]),
  ];
  for (const { size, root } of heads) {
    if (size > core.durable) {
      throw behind(`has ${String(core.durable)} entries, but ${path} has recorded ${String(size)}`);
    }
    if (!equal(rootAt(core.tiles, native, size), root)) {
      throw behind(`has another root than ${path} at size ${String(size)}`);
    }
  }
}

/** A follower does not write to the register. */
const NEVER: Remembered = { origin: '', note: null, acknowledged: { size: 0, root: '' } };

async function createKeys(keyring: Keyring): Promise<void> {
  await keyring.addCheckpoint();
  if (keyring.kids.length === 0) await keyring.addReceipt();
}

/** Adds a new log to the register. */
async function enter(core: Core, register: Register, name: string): Promise<Remembered> {
  const entered: Remembered = {
    origin: core.origin,
    note: null,
    acknowledged: { size: 0, root: toBase64(rootAt(core.tiles, native, 0)) },
  };
  await register.advance(name, null, entered);
  return entered;
}

/** Writes entry 0. */
async function open({ keyring, sequencer }: Engine, options: EngineOptions): Promise<void> {
  const [kid = ''] = keyring.kids;
  const { kty, crv, x } = keyring.receipt(kid).jwk;
  const predecessor = options.predecessor === undefined ? null : { ...options.predecessor };
  await sequencer.append(
    [{ type: 'log.open.v1', members: { ...FORMAT, jwk: { kty, crv, x }, predecessor } }],
    {},
  );
}
