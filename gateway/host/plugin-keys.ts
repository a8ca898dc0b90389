// The keys that plugins sign with: one for each name and kind of log, in files of their own beside the logs' keys
// and with the same protection. gateway/API.md §2.2, §2.3. The key with the highest number signs. Files of older keys
// stay, so that their signatures remain verifiable. A rotation makes the next number. The file of a revoked key is
// renamed so that it is not read any more: its number is never used again, and the key is not published any more.

import { createPublicKey } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import {
  coseThumbprint,
  LOG_KINDS,
  native,
  openSignPool,
  publicJwk,
  toBase64Url,
  Turns,
} from '../../log/index.ts';
import type { KeyAlgorithm, Kind, SignPool } from '../../log/index.ts';
import type { Plugin, PluginSigner } from '../../plugins/contract/index.ts';
import type { KeyFiles } from './key-files.ts';
import type { PluginSettings } from './plugin-settings.ts';

/** One key as it is published. */
export interface PluginKey {
  readonly plugin: string;
  readonly name: string;
  readonly kind: Kind;
  readonly algorithm: KeyAlgorithm;
  readonly jwks: boolean;
  /** Whether it signs COSE messages. */
  readonly cose: boolean;
  /** Whether keys of one name may be of different algorithms, since a setting chooses that of new ones. */
  readonly mixed: boolean;
  readonly signer: PluginSigner;
  /** The name of its file without `.pem`. */
  readonly file: string;
  /** When its file was made. */
  readonly since_ms: number;
}

/** How long a replaced key continues to sign beside the new one, in formats with several signatures. */
const OVERLAP_MS = 86_400_000;

/** Every key of every plugin. */
export class PluginKeys {
  readonly #files: KeyFiles;
  readonly #pool: SignPool;
  readonly #keys: PluginKey[];
  /** Serialises choosing a number and making the file. */
  readonly #turns = new Turns();

  private constructor(files: KeyFiles, pool: SignPool, keys: PluginKey[]) {
    this.#files = files;
    this.#pool = pool;
    this.#keys = keys;
  }

  /**
   * Reads the files of the declared keys, `<plugin>-<name>-<kind>-<number>.pem`. Makes a key where there is none yet,
   * where the newest was given up, and where the newest is not of the algorithm that the settings of the plugin name.
   *
   * @param settings of each plugin, by its name
   * @param pool signs batches; without it, they are signed on the calling thread
   * @throws LogError `key_lost` if a file that was in use is missing
   */
  static async open(
    plugins: readonly Pick<Plugin, 'name' | 'keys'>[],
    files: KeyFiles,
    pool: SignPool = openSignPool({ threads: false }),
    settings: PluginSettings = new Map(),
  ): Promise<PluginKeys> {
    const all = plugins.flatMap(({ name: plugin, keys = [] }) =>
      keys.flatMap((declared) => {
        const chosen = settings.get(plugin)?.[declared.algorithm_setting ?? ''];
        const algorithm = (chosen ?? declared.algorithm) as KeyAlgorithm;
        const cose = declared.cose ?? !declared.jwks;
        const mixed = declared.algorithm_setting !== undefined;
        return LOG_KINDS.map((kind) => ({ ...declared, algorithm, cose, mixed, plugin, kind }));
      }),
    );
    // Before any key is made: a start that ends because of a missing file leaves the folder as it was.
    for (const key of all) await numbersOf(files, key);
    const keys: PluginKey[] = [];
    for (const key of all) {
      const { inUse, next } = await numbersOf(files, key);
      if (inUse.at(-1) !== next - 1) {
        await files.make(fileOf(key, next), key.algorithm);
        inUse.push(next);
      }
      const read: PluginKey[] = [];
      for (const number of inUse) read.push(await readKey(files, pool, fileOf(key, number), key));
      if (read.at(-1)?.algorithm !== key.algorithm) {
        const { next: another } = await numbersOf(files, key);
        await files.make(fileOf(key, another), key.algorithm);
        read.push(await readKey(files, pool, fileOf(key, another), key));
      }
      keys.push(...read);
    }
    await files.remember(keys.map(({ file }) => file));
    return new PluginKeys(files, pool, keys);
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

  /**
   * Makes a key that signs from now on, and returns its kid. Older keys stay published, so that their signatures remain
   * verifiable.
   */
  rotate(plugin: string, name: string, kind: Kind): Promise<string> {
    return this.#turns.run(() => this.#rotate(plugin, name, kind));
  }

  async #rotate(plugin: string, name: string, kind: Kind): Promise<string> {
    const last = this.#of(plugin, name, kind).at(-1);
    if (last === undefined) throw new Error(`${plugin} declares no key ${name}`);
    const { next } = await numbersOf(this.#files, last);
    const file = fileOf(last, next);
    await this.#files.make(file, last.algorithm);
    await this.#files.remember([file]);
    const made = await readKey(this.#files, this.#pool, file, last);
    this.#keys.splice(this.#keys.indexOf(last) + 1, 0, made);
    return made.signer.kid;
  }

  /**
   * Revokes a stolen key: it signs nothing more and is not published any more, so that all its signatures become
   * invalid. If it is the signing key, a successor is made first. A crash between the two steps leaves both keys;
   * repeating the call completes it.
   *
   * @returns the kid that signs from now on; `undefined` if no key of the name has this kid
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
    await this.#files.revoke(stolen.file);
    this.#keys.splice(this.#keys.indexOf(stolen), 1);
    return signs;
  }

  #of(plugin: string, name: string, kind: Kind): PluginKey[] {
    return this.#keys.filter(
      (key) => key.plugin === plugin && key.name === name && key.kind === kind,
    );
  }
}

/** What `readKey` needs of a declaration, or of another key of the same name. */
type Declared = Pick<
  PluginKey,
  'plugin' | 'name' | 'kind' | 'algorithm' | 'jwks' | 'cose' | 'mixed'
>;

const NUMBER = /^[1-9][0-9]{0,8}$/;

/** What the name of a key file has, but for the number. */
type Named = Pick<PluginKey, 'plugin' | 'name' | 'kind'>;

const fileOf = ({ plugin, name, kind }: Named, number: number): string =>
  `${plugin}-${name}-${kind}-${String(number)}`;

/** The numbers of the files of a key in use, lowest first, and the number of the next one, which no key has had. */
async function numbersOf(files: KeyFiles, key: Named): Promise<{ inUse: number[]; next: number }> {
  const prefix = fileOf(key, 1).slice(0, -1);
  const { inUse, ended } = await files.names(
    (file) => file.startsWith(prefix) && NUMBER.test(file.slice(prefix.length)),
  );
  const numberOf = (file: string): number => Number(file.slice(prefix.length));
  return {
    inUse: inUse.map(numberOf).sort((a, b) => a - b),
    next: Math.max(0, ...inUse.map(numberOf), ...ended.map(numberOf)) + 1,
  };
}

async function readKey(
  files: KeyFiles,
  pool: SignPool,
  file: string,
  { plugin, name, kind, jwks, cose, mixed, ...declared }: Declared,
): Promise<PluginKey> {
  const { key, since_ms } = await files.read(file, mixed ? undefined : declared.algorithm);
  const jwk = publicJwk(createPublicKey(key).export({ format: 'jwk' }));
  const kid = jwks ? await calculateJwkThumbprint(jwk) : toBase64Url(coseThumbprint(native, jwk));
  const algorithm = jwk.kty === 'EC' ? 'ES256' : 'Ed25519';
  pool.addKey(kid, key);
  const signer: PluginSigner = {
    kid,
    jwk,
    async sign(bytes) {
      const [signature] = await pool.signAll(kid, [bytes]);
      if (signature === undefined) throw new Error('a message has one signature');
      return signature;
    },
    signAll: (messages) => pool.signAll(kid, messages),
  };
  return { plugin, name, kind, algorithm, jwks, cose, mixed, signer, file, since_ms };
}
