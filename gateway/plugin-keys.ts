// The keys that plugins sign with: one for each name and kind of log, in files of their own beside the logs' keys
// and with the same protection. behaviour.md §2.2, §2.3. What was signed by an older key stays checkable: its file
// stays, and the one with the highest number signs.

import { createPublicKey, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose';
import { generateKey, publicJwk, readKeyFile, writeKeyFile } from '../log/index.ts';
import type { KeyAlgorithm, Kind } from '../log/index.ts';
import type { KeyDeclaration, Plugin, PluginSigner } from '../plugins/contract.ts';

const signing = promisify(sign);
const KINDS: readonly Kind[] = ['live', 'sandbox'];

/** One key as it is published. */
export interface PluginKey {
  readonly plugin: string;
  readonly name: string;
  readonly kind: Kind;
  readonly algorithm: KeyAlgorithm;
  readonly jwks: boolean;
  readonly signer: PluginSigner;
}

/** Every key of every plugin. */
export class PluginKeys {
  readonly #keys: readonly PluginKey[];

  private constructor(keys: readonly PluginKey[]) {
    this.#keys = keys;
  }

  /** Reads the files of the declared keys, `<plugin>-<name>-<kind>-<number>.pem`; makes what is missing. */
  static async open(
    plugins: readonly Pick<Plugin, 'name' | 'keys'>[],
    folder: string,
    passphrase?: string,
  ): Promise<PluginKeys> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const files = await readdir(folder);
    const keys: PluginKey[] = [];
    for (const plugin of plugins) {
      for (const declared of plugin.keys ?? []) {
        for (const kind of KINDS) {
          const found = await keysOf(folder, files, `${plugin.name}-${declared.name}-${kind}`, {
            algorithm: declared.algorithm,
            passphrase,
          });
          for (const key of found) keys.push(await published(plugin.name, declared, kind, key));
        }
      }
    }
    return new PluginKeys(keys);
  }

  /** All of them, older ones first within a name. */
  all(): readonly PluginKey[] {
    return this.#keys;
  }

  /** The keys of a name, the one that signs first, then older ones, newest first. */
  signers(plugin: string, name: string, kind: Kind): readonly [PluginSigner, ...PluginSigner[]] {
    const [first, ...older] = this.#keys
      .filter((key) => key.plugin === plugin && key.name === name && key.kind === kind)
      .map(({ signer }) => signer)
      .toReversed();
    if (first === undefined) throw new Error(`${plugin} declares no key ${name}`);
    return [first, ...older];
  }
}

async function keysOf(
  folder: string,
  files: readonly string[],
  prefix: string,
  how: { readonly algorithm: KeyAlgorithm; readonly passphrase: string | undefined },
): Promise<KeyObject[]> {
  const numbers = files
    .filter((file) => file.startsWith(`${prefix}-`))
    .map((file) => /^-([1-9][0-9]{0,8})\.pem$/.exec(file.slice(prefix.length))?.[1])
    .filter((number) => number !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
  if (numbers.length === 0) {
    const key = generateKey(how.algorithm);
    await writeKeyFile(join(folder, `${prefix}-1.pem`), key, how.passphrase);
    return [key];
  }
  const path = (number: number): string => join(folder, `${prefix}-${String(number)}.pem`);
  return Promise.all(
    numbers.map((number) => readKeyFile(path(number), how.passphrase, how.algorithm)),
  );
}

async function published(
  plugin: string,
  { name, algorithm, jwks }: KeyDeclaration,
  kind: Kind,
  key: KeyObject,
): Promise<PluginKey> {
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
  };
  return { plugin, name, kind, algorithm, jwks, signer };
}
