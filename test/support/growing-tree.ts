// A log without a server, as witnesses see it: leaves, signed checkpoints of every size, and consistency paths.

import { native } from '../../log/crypto/native.ts';
import type { Signer } from '../../log/crypto/keys.ts';
import type { Offer } from '../../log/index.ts';
import { leafHash } from '../../log/merkle/hash.ts';
import { RightEdge } from '../../log/merkle/edge.ts';
import { consistencyPath, rootAt } from '../../log/merkle/prove.ts';
import { TileHashes } from '../../log/merkle/tile-hashes.ts';
import { formatAddCheckpoint, signCheckpoint } from '../../log/note/checkpoint.ts';
import { formatVkey, LOG_KEY } from '../../log/note/note.ts';
import { seededSigner } from '../log/note/seeded-signer.ts';

/** A tree with the leaves `<word> <index>`; trees of different words are a fork. */
export class GrowingTree {
  readonly origin: string;
  readonly vkey: string;
  readonly #signer: Signer;
  readonly #edge = new RightEdge();
  readonly #tiles = new Map<string, Uint8Array>();
  readonly #hashes: TileHashes;

  constructor(origin: string, seed: number) {
    this.origin = origin;
    this.#signer = seededSigner(seed);
    this.vkey = formatVkey(native, origin, LOG_KEY, this.#signer.publicKey);
    this.#hashes = new TileHashes(
      (level, n, width) => {
        const tile = this.#tiles.get(`${String(level)}/${String(n)}`);
        return tile?.subarray(0, width * 32) ?? null;
      },
      () => this.#edge.size,
    );
  }

  get size(): number {
    return this.#edge.size;
  }

  grow(leaves: number, word = 'leaf'): this {
    for (let i = 0; i < leaves; i += 1) {
      const data = Buffer.from(`${word} ${String(this.size)}`);
      this.#edge.append(leafHash(native, data));
    }
    for (const { level, n, hashes } of this.#edge.takeDirty()) {
      this.#tiles.set(`${String(level)}/${String(n)}`, hashes);
    }
    return this;
  }

  root(size = this.size): Uint8Array {
    return rootAt(this.#hashes, native, size);
  }

  note(size = this.size): string {
    return signCheckpoint(native, this.#signer, {
      origin: this.origin,
      size,
      root: this.root(size),
    });
  }

  consistency(from: number, to = this.size): Uint8Array[] {
    return consistencyPath(this.#hashes, from, to);
  }

  /** The first `width` hashes of a tile. */
  tile(level: number, n: number, width: number): Uint8Array {
    return this.#hashes.tile(level, n, width);
  }

  /** A valid request for the present size. */
  request(old: number, size = this.size): string {
    return formatAddCheckpoint({
      old,
      path: this.consistency(old, size),
      note: this.note(size),
    });
  }

  /** The parts that the publisher passes to witnesses. */
  offer(size = this.size): Offer {
    return {
      origin: this.origin,
      vkey: this.vkey,
      note: this.note(size),
      size,
      consistency: (from) => this.consistency(from, size),
    };
  }
}
