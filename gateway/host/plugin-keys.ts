// The keys that plugins sign with: one for each name and kind of log, in files of their own beside the logs' keys
// and with the same protection. gateway/API.md §2.2, §2.3. What was signed by an older key stays checkable: its file
// stays, and the one with the highest number signs. A rotation makes the next number. A revoked key's file stays too,
// under a name that nothing reads: its number is never taken again, and the key is published no more.

import { createPublicKey, sign } from 'node:crypto';
import { readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose';
import {
  generateKey,
  LOG_KINDS,
  openSignPool,
  publicJwk,
  readKeyFile,
  makeFolder,
  syncFolder,
  writeKeyFile,
  Turns,
} from '../../log/index.ts';
import type { KeyAlgorithm, Kind, SignPool } from '../../log/index.ts';
import type { Plugin, PluginSigner } from '../../plugins/contract/index.ts';

const signing = promisify(sign);

/** One key as it is published. */
export interface PluginKey {
  readonly plugin: string;
  readonly name: string;
  readonly kind: Kind;
  readonly algorithm: KeyAlgorithm;
  readonly jwks: boolean;
  readonly signer: PluginSigner;
  readonly path: string;
  /** When its file was made. */
  readonly since_ms: number;
}

/** Where keys lie and what signs with them. */
interface KeyPlace {
  readonly folder: string;
  readonly passphrase: string | undefined;
  readonly pool: SignPool;
}

/** What follows the name of a key in that of its file: of one in use, and of any that there ever was. */
const IN_USE = /^-([1-9][0-9]{0,8})\.pem$/;
const ANY = /^-([1-9][0-9]{0,8})\.(?:revoked\.)?pem$/;
const REVOKED = '.revoked.pem';

/** How long a key that was replaced goes on signing beside the new one, where a format takes several signatures. */
const OVERLAP_MS = 86_400_000;

/** Every key of every plugin. */
export class PluginKeys {
  readonly #place: KeyPlace;
  readonly #keys: PluginKey[];
  /** A key's number is looked for before its file is made. */
  readonly #turns = new Turns();

  private constructor(place: KeyPlace, keys: PluginKey[]) {
    this.#place = place;
    this.#keys = keys;
  }

  /**
   * Reads the files of the declared keys, `<plugin>-<name>-<kind>-<number>.pem`; makes what is missing.
   *
   * @param pool signs what comes in batches; on the calling thread unless given
   */
  static async open(
    plugins: readonly Pick<Plugin, 'name' | 'keys'>[],
    folder: string,
    passphrase?: string,
    pool: SignPool = openSignPool({ threads: false }),
  ): Promise<PluginKeys> {
    await makeFolder(folder, 0o700);
    const place = { folder, passphrase, pool };
    const files = await readdir(folder);
    const keys: PluginKey[] = [];
    for (const plugin of plugins) {
      for (const declared of plugin.keys ?? []) {
        for (const kind of LOG_KINDS) {
          const prefix = `${plugin.name}-${declared.name}-${kind}`;
          const there = numbersOf(files, prefix);
          if (there.length === 0) await makeKey(place, `${prefix}-1`, declared.algorithm);
          for (const number of there.length === 0 ? [1] : there) {
            const file = `${prefix}-${String(number)}`;
            keys.push(await readKey(place, file, { ...declared, plugin: plugin.name, kind }));
          }
        }
      }
    }
    return new PluginKeys(place, keys);
  }

  /** All of them, older ones first within a name. */
  all(): readonly PluginKey[] {
    return this.#keys;
  }

  /** The keys of a name, the one that signs first, then older ones, newest first. */
  signers(plugin: string, name: string, kind: Kind): readonly [PluginSigner, ...PluginSigner[]] {
    const [first, ...older] = this.#of(plugin, name, kind)
      .map(({ signer }) => signer)
      .toReversed();
    if (first === undefined) throw new Error(`${plugin} declares no key ${name}`);
    return [first, ...older];
  }

  /** The key of a name that signs, and those that it replaced less than a day ago. */
  overlapping(plugin: string, name: string, kind: Kind, now_ms: number): readonly PluginSigner[] {
    const keys = this.#of(plugin, name, kind);
    return keys
      .filter((_, i) => (keys[i + 1]?.since_ms ?? Infinity) > now_ms - OVERLAP_MS)
      .map(({ signer }) => signer)
      .toReversed();
  }

  /** Makes a key that signs from now on; answers with its kid. Older ones stay for what they have signed. */
  rotate(plugin: string, name: string, kind: Kind): Promise<string> {
    return this.#turns.run(() => this.#rotate(plugin, name, kind));
  }

  async #rotate(plugin: string, name: string, kind: Kind): Promise<string> {
    const last = this.#of(plugin, name, kind).at(-1);
    if (last === undefined) throw new Error(`${plugin} declares no key ${name}`);
    const { folder } = this.#place;
    const prefix = `${plugin}-${name}-${kind}`;
    const number = Math.max(...numbersOf(await readdir(folder), prefix, ANY)) + 1;
    const file = `${prefix}-${String(number)}`;
    await makeKey(this.#place, file, last.algorithm);
    const made = await readKey(this.#place, file, last);
    this.#keys.splice(this.#keys.indexOf(last) + 1, 0, made);
    return made.signer.kid;
  }

  /**
   * Withdraws a key that was stolen: it signs nothing more and is published no more, so that what it signed no longer
   * holds, whoever signed it. Where it is the one that signs, a successor is made before: a crash between the two
   * leaves both, and the same call again ends it.
   *
   * @returns the kid that signs from now on; `undefined` where no key of the name has this one
   */
  revoke(plugin: string, name: string, kind: Kind, kid: string): Promise<string | undefined> {
    return this.#turns.run(() => this.#revoke(plugin, name, kind, kid));
  }

  async #revoke(
    plugin: string,
    name: string,
    kind: Kind,
    kid: string,
  ): Promise<string | undefined> {
    const keys = this.#of(plugin, name, kind);
    const stolen = keys.find(({ signer }) => signer.kid === kid);
    if (stolen === undefined) return undefined;
    const signs =
      stolen === keys.at(-1)
        ? await this.#rotate(plugin, name, kind)
        : this.signers(plugin, name, kind)[0].kid;
    await rename(stolen.path, stolen.path.replace(/\.pem$/, REVOKED));
    await syncFolder(this.#place.folder);
    this.#keys.splice(this.#keys.indexOf(stolen), 1);
    return signs;
  }

  #of(plugin: string, name: string, kind: Kind): PluginKey[] {
    return this.#keys.filter(
      (key) => key.plugin === plugin && key.name === name && key.kind === kind,
    );
  }
}

/** The numbers of the files of a key, lowest first. */
function numbersOf(files: readonly string[], prefix: string, form = IN_USE): number[] {
  return files
    .filter((file) => file.startsWith(`${prefix}-`))
    .map((file) => form.exec(file.slice(prefix.length))?.[1])
    .filter((number) => number !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}

async function makeKey(
  { folder, passphrase }: KeyPlace,
  file: string,
  algorithm: KeyAlgorithm,
): Promise<void> {
  await writeKeyFile(join(folder, `${file}.pem`), generateKey(algorithm), passphrase);
}

async function readKey(
  { folder, passphrase, pool }: KeyPlace,
  file: string,
  {
    plugin,
    name,
    kind,
    algorithm,
    jwks,
  }: Pick<PluginKey, 'plugin' | 'name' | 'kind' | 'algorithm' | 'jwks'>,
): Promise<PluginKey> {
  const path = join(folder, `${file}.pem`);
  const key = await readKeyFile(path, passphrase, algorithm);
  const jwk = publicJwk(createPublicKey(key).export({ format: 'jwk' }));
  const kid = await calculateJwkThumbprint(jwk);
  const digest = algorithm === 'ES256' ? 'sha256' : null;
  const signer: PluginSigner = {
    kid,
    jwk,
    async sign(bytes) {
      const { buffer, byteOffset, length } = await signing(digest, bytes, {
        key,
        dsaEncoding: 'ieee-p1363',
      });
      return new Uint8Array(buffer, byteOffset, length);
    },
    signAll(messages) {
      pool.addKey(kid, key);
      return pool.signAll(kid, messages);
    },
  };
  const { mtimeMs } = await stat(path);
  return { plugin, name, kind, algorithm, jwks, signer, path, since_ms: mtimeMs };
}
