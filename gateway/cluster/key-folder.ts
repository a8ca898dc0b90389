// The folder of private key files of a node: a copy of the files that the cluster keeps as secrets. The leader shares
// each new file before its key is used; the other nodes take over all files before they open their gateway. The files
// are encrypted under the passphrase in the folder too.

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { equal, makeFolder, syncFolder, Turns, writeDurableFile } from '../../log/index.ts';
import type { Secrets } from '../../log/index.ts';

const PREFIX = 'file/';
const KEY_FILE = /^[a-zA-Z0-9_.-]+\.pem$/;

/** The folder of one node. */
export class KeyFolder {
  readonly folder: string;
  readonly #secrets: Secrets;
  readonly #turns = new Turns();
  /** Whether the folder may differ from what is shared. */
  outdated = true;
  /** Whether the database has lost commits or secrets, and may lack files of this folder. */
  #lost = false;

  constructor(folder: string, secrets: Secrets) {
    this.folder = folder;
    this.#secrets = secrets;
  }

  /** Shares what is new or changed in the folder, and removes what is gone. Only the leader may. */
  share(): Promise<void> {
    return this.#turns.run(async () => {
      // A key that the other nodes did not get must not stay here.
      this.outdated = true;
      const [here, shared] = [await this.#files(), await this.#shared()];
      const changed = [...here].filter(([name, bytes]) => {
        const known = shared.get(name);
        return known === undefined || !equal(known, bytes);
      });
      await this.#secrets.put(new Map(changed.map(([name, bytes]) => [PREFIX + name, bytes])));
      const gone = [...shared.keys()].filter((name) => !here.has(name));
      await this.#secrets.delete(gone.map((name) => PREFIX + name));
      this.outdated = false;
    });
  }

  /** The database has lost commits that this node has applied, or secrets that it has put. */
  databaseLost(): void {
    this.#lost = true;
  }

  /** Gives back the files that a database which has lost commits does not have. */
  giveBack(): Promise<void> {
    return this.#turns.run(() => this.#giveBack());
  }

  /**
   * Makes the folder the copy of what is shared, once the database has back what it lost. A file that was never shared has
   * never been used, and is deleted. Returns whether the folder has changed.
   *
   * @param compare rejects if the copies have rounds that the database lacks: it may then lack files that are in use
   */
  take(compare: () => Promise<void>): Promise<boolean> {
    return this.#turns.run(async () => {
      // A change that comes while the files are read is taken the next time.
      this.outdated = false;
      try {
        return await this.#take(compare);
      } catch (error) {
        this.outdated = true;
        throw error;
      }
    });
  }

  async #take(compare: () => Promise<void>): Promise<boolean> {
    await this.#giveBack();
    const [here, shared] = [await this.#files(), await this.#shared()];
    // After the files were read: a database that loses commits later had these files before.
    await compare();
    let changed = false;
    for (const [name, bytes] of shared) {
      const known = here.get(name);
      if (known !== undefined && equal(known, bytes)) continue;
      await writeDurableFile(join(this.folder, name), Buffer.from(bytes), { secret: true });
      changed = true;
    }
    for (const name of here.keys()) {
      if (shared.has(name)) continue;
      await rm(join(this.folder, name), { force: true });
      changed = true;
    }
    await syncFolder(this.folder);
    return changed;
  }

  async #giveBack(): Promise<void> {
    if (!this.#lost) return;
    const [here, shared] = [await this.#files(), await this.#shared()];
    const lost = [...here].filter(([name]) => !shared.has(name));
    await this.#secrets.giveBack(new Map(lost.map(([name, bytes]) => [PREFIX + name, bytes])));
    this.#lost = false;
  }

  async #shared(): Promise<ReadonlyMap<string, Uint8Array>> {
    const all = await this.#secrets.all(PREFIX);
    return new Map([...all].map(([name, bytes]) => [name.slice(PREFIX.length), bytes]));
  }

  async #files(): Promise<ReadonlyMap<string, Uint8Array>> {
    await makeFolder(this.folder, 0o700);
    const names = (await readdir(this.folder)).filter((name) => KEY_FILE.test(name));
    const read = names.map(
      async (name) => [name, await readFile(join(this.folder, name))] as const,
    );
    return new Map(await Promise.all(read));
  }
}
