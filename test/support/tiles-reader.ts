// A reader of logs that supports only C2SP signed-note, tlog-checkpoint and tlog-tiles, and shares no code with the
// project. Written from the specifications, as a third party would write it.

import { createHash, createPublicKey, verify } from 'node:crypto';

const sha256 = (...parts: (Buffer | string)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const leaf = (data: Buffer): Buffer => sha256(Buffer.of(0), data);
const node = (left: Buffer, right: Buffer): Buffer => sha256(Buffer.of(1), left, right);

/** RFC 6962 §2.1, by its definition. */
function treeHash(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0]!;
  let half = 1;
  while (half * 2 < leaves.length) half *= 2;
  return node(treeHash(leaves.slice(0, half)), treeHash(leaves.slice(half)));
}

const path = (n: number): string => {
  const groups = [String(n % 1000).padStart(3, '0')];
  for (let rest = Math.floor(n / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(`x${String(rest % 1000).padStart(3, '0')}`);
  }
  return groups.join('/');
};

/** A tree head whose signature the reader has verified. */
export interface Head {
  readonly size: number;
  readonly root: Buffer;
}

/** Reads the log under a URL. Throws for anything that breaks the specifications. */
export class TilesReader {
  readonly #prefix: string;
  readonly #vkey: string;

  constructor(prefix: string, vkey: string) {
    this.#prefix = prefix;
    this.#vkey = vkey;
  }

  /** The checkpoint, after its signature was verified. */
  async head(): Promise<Head> {
    const note = (await this.#get('checkpoint')).toString('utf8');
    const [text = '', signatures = ''] = note.split('\n\n');
    // Base64 may contain plus signs; names and ids do not.
    const [, name = '', id = '', key = ''] = /^([^+]+)\+([^+]+)\+(.+)$/.exec(this.#vkey) ?? [];
    const spki = Buffer.concat([
      Buffer.from('302a300506032b6570032100', 'hex'),
      Buffer.from(key, 'base64').subarray(1),
    ]);
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    const good = signatures.split('\n').some((line) => {
      const [dash, signer, base64 = ''] = line.split(' ');
      const bytes = Buffer.from(base64, 'base64');
      if (dash !== '\u2014' || signer !== name || bytes.toString('hex', 0, 4) !== id) return false;
      return verify(null, Buffer.from(`${text}\n`), publicKey, bytes.subarray(4));
    });
    if (!good) throw new Error('checkpoint without a good signature');
    const [origin, size, root = ''] = text.split('\n');
    if (origin !== name) throw new Error(`checkpoint of ${String(origin)}`);
    return { size: Number(size), root: Buffer.from(root, 'base64') };
  }

  /** Every entry under a head, each verified against its leaf hash, and all tiles against the root. */
  async entries({ size, root }: Head): Promise<Buffer[]> {
    const leaves = await this.leaves(size);
    if (!treeHash(leaves).equals(root)) throw new Error('tiles do not lead to the root');
    await this.#checkAbove(leaves);
    const entries: Buffer[] = [];
    for (let n = 0; n * 256 < size; n += 1) {
      const bundle = await this.#tile('entries', n, Math.min(256, size - n * 256));
      for (let at = 0; at < bundle.length;) {
        const end = at + 2 + bundle.readUInt16BE(at);
        entries.push(bundle.subarray(at + 2, end));
        at = end;
      }
    }
    if (entries.length !== size) throw new Error(`bundles hold ${String(entries.length)} entries`);
    for (const [i, entry] of entries.entries()) {
      if (!leaf(entry).equals(leaves[i]!)) throw new Error(`entry ${String(i)} is another`);
    }
    return entries;
  }

  /** Whether the entries under an older head are a prefix of those under the newer one. */
  async isConsistent(older: Head, newer: Head): Promise<boolean> {
    const leaves = await this.leaves(newer.size);
    const whole = treeHash(leaves).equals(newer.root);
    return whole && treeHash(leaves.slice(0, older.size)).equals(older.root);
  }

  /** The leaf hashes of the first `size` entries, from level 0. */
  async leaves(size: number): Promise<Buffer[]> {
    const leaves: Buffer[] = [];
    for (let n = 0; n * 256 < size; n += 1) {
      leaves.push(...(await this.#hashes(0, n, Math.min(256, size - n * 256))));
    }
    return leaves;
  }

  /** Asserts that each hash of a higher tile is the root of the full tile under it. */
  async #checkAbove(leaves: readonly Buffer[]): Promise<void> {
    let below = leaves;
    for (let level = 1; below.length >= 256; level += 1) {
      const above: Buffer[] = [];
      for (let i = 0; i + 256 <= below.length; i += 256)
        above.push(treeHash(below.slice(i, i + 256)));
      for (let n = 0; n * 256 < above.length; n += 1) {
        const wanted = above.slice(n * 256, (n + 1) * 256);
        const served = await this.#hashes(level, n, wanted.length);
        if (!Buffer.concat(wanted).equals(Buffer.concat(served))) {
          throw new Error(`tile ${String(level)}/${String(n)} is another`);
        }
      }
      below = above;
    }
  }

  async #hashes(level: number, n: number, width: number): Promise<Buffer[]> {
    const tile = await this.#tile(String(level), n, width);
    if (tile.length !== width * 32) throw new Error(`tile of ${String(tile.length)} bytes`);
    return Array.from({ length: width }, (_, i) => tile.subarray(i * 32, (i + 1) * 32));
  }

  #tile(level: string, n: number, width: number): Promise<Buffer> {
    const partial = width === 256 ? '' : `.p/${String(width)}`;
    return this.#get(`tile/${level}/${path(n)}${partial}`);
  }

  async #get(name: string): Promise<Buffer> {
    const response = await fetch(`${this.#prefix}/${name}`);
    if (response.status !== 200) throw new Error(`${name}: HTTP ${String(response.status)}`);
    return Buffer.from(await response.arrayBuffer());
  }
}
