// The key files that belong to no log: those of plugins and the one that seals webhook secrets. gateway/API.md §2.3.
//
// The gateway's database remembers the name of each key file that was in use. If such a file is missing at a start, the
// start ends: a key that is made in its place would replace the published one without anybody's decision, and leave
// what the old one sealed or signed unreadable. The operator restores the file, or gives the key up by an empty file
// `<name>.revoked.pem` in its place.

import type { KeyObject } from 'node:crypto';
import { readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import {
  generateKey,
  LogError,
  makeFolder,
  readKeyFile,
  syncFolder,
  writeKeyFile,
} from '../../log/index.ts';
import type { KeyAlgorithm } from '../../log/index.ts';

const PEM = '.pem';
const REVOKED = '.revoked.pem';

/** Options of `KeyFiles.open`. */
export interface KeyFilesOptions {
  readonly passphrase?: string | undefined;
  /** Remembers the names of the files that were in use, durably. Without it, a missing file is always made. */
  readonly used?: {
    readonly keyFiles: ReadonlySet<string>;
    putKeyFiles(names: readonly string[]): Promise<void>;
  };
  /** Called after each change of the folder, before a new key is used. */
  readonly changed?: (() => Promise<void>) | undefined;
}

/** A key and the file that it was read from. */
export interface FoundKey {
  readonly key: KeyObject;
  /** When the file was made. */
  readonly since_ms: number;
}

/** The folder of private keys. Names are those of the files without `.pem`. */
export class KeyFiles {
  readonly #folder: string;
  readonly #passphrase: string | undefined;
  readonly #used: KeyFilesOptions['used'];
  readonly #changed: KeyFilesOptions['changed'];

  private constructor(folder: string, { passphrase, used, changed }: KeyFilesOptions) {
    this.#folder = folder;
    this.#passphrase = passphrase;
    this.#used = used;
    this.#changed = changed;
  }

  /** Opens the folder, which is made if it is missing. */
  static async open(folder: string, options: KeyFilesOptions = {}): Promise<KeyFiles> {
    await makeFolder(folder, 0o700);
    return new KeyFiles(folder, options);
  }

  /**
   * The names that are meant: those in use, and those that were revoked or given up.
   *
   * @throws LogError `key_lost` if a file that is meant was in use, is missing and was not given up
   */
  async names(
    meant: (name: string) => boolean,
  ): Promise<{ readonly inUse: string[]; readonly ended: string[] }> {
    const files = await readdir(this.#folder);
    const ended = cut(files, REVOKED).filter(meant);
    const inUse = cut(files, PEM).filter(meant);
    for (const name of this.#used?.keyFiles ?? []) {
      if (!meant(name) || inUse.includes(name) || ended.includes(name)) continue;
      throw new LogError(
        'key_lost',
        `key file ${join(this.#folder, name)}${PEM} is missing, and this data folder has used it. Restore it from your ` +
          `copy of the keys and start again. If there is no copy, give the key up: create the empty file ` +
          `${name}${REVOKED} in the same folder, and the next start makes a new key`,
      );
    }
    return { inUse, ended };
  }

  /**
   * Reads a key, of one algorithm or of any.
   *
   * @throws LogError `key_invalid`: see `readKeyFile`
   */
  async read(name: string, algorithm?: KeyAlgorithm): Promise<FoundKey> {
    const path = this.#path(name, PEM);
    const key = await readKeyFile(path, this.#passphrase, algorithm ?? ['ES256', 'Ed25519']);
    return { key, since_ms: (await stat(path)).mtimeMs };
  }

  /** Makes a key file. It is durable when the promise resolves. */
  async make(name: string, algorithm: KeyAlgorithm): Promise<void> {
    await writeKeyFile(this.#path(name, PEM), generateKey(algorithm), this.#passphrase);
    await this.#changed?.();
  }

  /**
   * Remembers files that are in use, durably. A crash before that leaves files that the next start finds and remembers.
   */
  async remember(names: readonly string[]): Promise<void> {
    const fresh = names.filter((name) => this.#used?.keyFiles.has(name) === false);
    if (fresh.length > 0) await this.#used?.putKeyFiles(fresh);
  }

  /** Ends the use of a key: its file is kept under a name that is not read any more. */
  async revoke(name: string): Promise<void> {
    await rename(this.#path(name, PEM), this.#path(name, REVOKED));
    await syncFolder(this.#folder);
    await this.#changed?.();
  }

  /** Removes the empty file by which a key was given up, after another key was made under the same name. */
  async forgetEnd(name: string): Promise<void> {
    const path = this.#path(name, REVOKED);
    if ((await stat(path)).size > 0) return;
    await unlink(path);
    await syncFolder(this.#folder);
    await this.#changed?.();
  }

  #path(name: string, end: typeof PEM | typeof REVOKED): string {
    return join(this.#folder, name + end);
  }
}

/** The names of the files with an ending, without it. */
const cut = (files: readonly string[], end: string): string[] =>
  files.filter((file) => file.endsWith(end)).map((file) => file.slice(0, -end.length));
