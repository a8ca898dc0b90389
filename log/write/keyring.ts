// The private keys of one log: its checkpoint key, which never rotates, and its receipt keys (gateway/API.md §2). The
// files are PKCS #8 with mode 0600, in a folder that backups of the database do not contain.

import { readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { native } from '../crypto/native.ts';
import {
  generateKey,
  isUnfinishedFile,
  readKeyFile,
  Signer,
  writeKeyFile,
} from '../crypto/keys.ts';
import { mlDsaPublicKey } from '../crypto/ml-dsa.ts';
import type { SignPool } from '../crypto/sign-pool.ts';
import { makeFolder, syncFolder } from '../store/durable-file.ts';
import { LogError } from '../errors.ts';
import { formatVkey, LOG_KEY } from '../note/note.ts';
import type { Kind } from '../types.ts';

/** The folder and the names of the key files of a log. */
export interface KeyFolder {
  readonly folder: string;
  readonly kind: Kind;
  readonly number: number;
  readonly passphrase?: string;
  /** Called after a file was made, before the key is used. */
  readonly changed?: () => Promise<void>;
}

/** The opened key files of a log. */
export class Keyring {
  readonly #where: KeyFolder;
  readonly #pool: SignPool;
  readonly #receipt = new Map<string, Signer>();
  /** Key files without a readable key. They matter only if the log needs the key that should be in them. */
  readonly #unfinished = new Set<string>();
  #checkpoint: Signer | null = null;

  private constructor(where: KeyFolder, pool: SignPool) {
    this.#where = where;
    this.#pool = pool;
  }

  static async open(where: KeyFolder, pool: SignPool): Promise<Keyring> {
    const ring = new Keyring(where, pool);
    await makeFolder(where.folder, 0o700);
    // A process that was killed may have made a key file and not synced the folder.
    await syncFolder(where.folder);
    for (const name of (await readdir(where.folder)).sort()) {
      if (!name.startsWith(ring.#name('')) || !name.endsWith('.pem')) continue;
      const path = join(where.folder, name);
      if (await isUnfinishedFile(path)) {
        ring.#unfinished.add(name);
        continue;
      }
      const key = await readKeyFile(path, where.passphrase);
      if (name === ring.#name('checkpoint.pem')) ring.#checkpoint = new Signer(key);
      else ring.#addReceipt(new Signer(key), key);
    }
    return ring;
  }

  /** The kids of the receipt keys that are present, unordered. */
  get kids(): readonly string[] {
    return [...this.#receipt.keys()];
  }

  /** Whether the file of the checkpoint key exists. */
  get hasCheckpoint(): boolean {
    return this.#checkpoint !== null;
  }

  receipt(kid: string): Signer {
    const signer = this.#receipt.get(kid);
    if (signer === undefined) {
      throw new LogError(
        'key_lost',
        `the file of receipt key ${kid} ${this.#lost(`receipt-${kid}.pem`)}`,
      );
    }
    return signer;
  }

  /**
   * Makes a receipt key. Its file is on disk before the promise resolves, so nothing is signed with a key that could be
   * lost.
   */
  async addReceipt(): Promise<Signer> {
    const key = generateKey();
    const signer = new Signer(key);
    await writeKeyFile(
      join(this.#where.folder, this.#name(`receipt-${signer.kid}.pem`)),
      key,
      this.#where.passphrase,
    );
    await this.#where.changed?.();
    this.#addReceipt(signer, key);
    return signer;
  }

  /** Makes the checkpoint key of a new log. */
  async addCheckpoint(): Promise<void> {
    if (this.#checkpoint !== null) return;
    const key = generateKey();
    const name = this.#name('checkpoint.pem');
    const path = join(this.#where.folder, name);
    if (this.#unfinished.delete(name)) await unlink(path);
    await writeKeyFile(path, key, this.#where.passphrase);
    await this.#where.changed?.();
    this.#checkpoint = new Signer(key);
  }

  /** Verifier key of the log. Requires the file of the checkpoint key. */
  vkey(origin: string): string {
    return formatVkey(native, origin, LOG_KEY, this.checkpoint().publicKey);
  }

  /** The checkpoint key, which signs checkpoints and nothing else. Throws `key_lost` if its file is missing. */
  checkpoint(): Signer {
    if (this.#checkpoint === null) {
      throw new LogError(
        'key_lost',
        `${this.#name('checkpoint.pem')} ${this.#lost('checkpoint.pem')}`,
      );
    }
    return this.#checkpoint;
  }

  /**
   * The seed and public key of the log's ML-DSA-44 key. It follows from the checkpoint key, so it is lost, restored and
   * replaced together with that key. Ed25519 hashes its seed, so whoever computes the Ed25519 scalar from the public
   * key, as a quantum computer could, does not have the seed that this key follows from.
   */
  mlDsa(): { readonly seed: Uint8Array; readonly publicKey: Uint8Array } {
    const seed = this.checkpoint().derive('actlog checkpoint key ML-DSA-44 v1');
    return { seed, publicKey: mlDsaPublicKey(seed) };
  }

  #addReceipt(signer: Signer, key: ReturnType<typeof generateKey>): void {
    this.#receipt.set(signer.kid, signer);
    this.#pool.addKey(signer.kid, key);
  }

  /** Why a key file cannot be read, as the predicate of a sentence about the file. */
  #lost(rest: string): string {
    const how = this.#unfinished.has(this.#name(rest)) ? 'is empty or cut off' : 'is missing';
    return `${how} in ${this.#where.folder}`;
  }

  #name(rest: string): string {
    return `${this.#where.kind}-${String(this.#where.number)}-${rest}`;
  }
}
