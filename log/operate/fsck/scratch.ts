// The rows of core and plugins, derived a second time from the entries into a database of their own.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applySigned } from '../apply-signed.ts';
import { LogClock, systemTime } from '../../write/clock.ts';
import { Core } from '../../write/core.ts';
import type { Entry } from '../../write/integrate.ts';
import { openFold } from '../../map/fold.ts';
import { openStore, type Store } from '../../store/store.ts';
import type { EntryType, Kind } from '../../types.ts';

/** Entries whose rows go to disk together. */
const BATCH = 2048;

/** A core over a scratch database: it takes entries and keeps what they derive. */
export class Scratch {
  readonly core: Core;
  readonly store: Store;
  readonly #folder: string;
  #round = 1;
  #inRound = 0;

  private constructor(folder: string, store: Store, core: Core) {
    this.#folder = folder;
    this.store = store;
    this.core = core;
  }

  /** In a new folder under the temporary folder of the system, which `close` removes. */
  static async open(kind: Kind, origin: string, types: readonly EntryType[]): Promise<Scratch> {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-fsck-'));
    const store = await openStore(folder);
    const fold = openFold({ threads: false }).trie(origin);
    const clock = new LogClock(systemTime);
    return new Scratch(folder, store, new Core({ kind, origin, store, clock, fold, types }));
  }

  /** Takes the next entry, which a replay has let through. */
  async take(bytes: Uint8Array): Promise<Entry> {
    this.core.begin();
    const entry = applySigned(this.core, bytes, this.#round);
    this.#inRound += 1;
    if (this.#inRound === BATCH) await this.flush();
    return entry;
  }

  /** Brings all rows so far to the scratch database. */
  async flush(): Promise<void> {
    const { coreRows, pluginRows, position } = this.core;
    await this.store.write([...coreRows.writes(this.#round), ...pluginRows.writes(this.#round)]);
    this.core.settle(this.#round, position.size);
    this.#round += 1;
    this.#inRound = 0;
  }

  async close(): Promise<void> {
    await this.store.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
