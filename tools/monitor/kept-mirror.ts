// A mirror that keeps the bundles which were read last. Evidence is made of the bytes that the replay judged, also
// when the service does not hand them out a second time.

import { LRUCache } from 'lru-cache';
import { TILE_WIDTH } from '../../log/index.ts';
import { encodeBundle, parseBundle } from '../../log/operate.ts';
import type { Mirror } from '../../log/operate.ts';

const KEPT_BYTES = 64 * 1024 * 1024;

/** Reads through, and remembers bundles. */
export class KeptMirror implements Mirror {
  readonly #mirror: Mirror;
  /** Encoded, because a view of each entry would cost the garbage collector more than the bytes. */
  readonly #bundles = new LRUCache<number, Uint8Array>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ length }) => length + 1,
  });

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
  }

  get name(): string {
    return this.#mirror.name;
  }

  checkpoint(): Promise<string> {
    return this.#mirror.checkpoint();
  }

  tile(level: number, n: number, width: number): Promise<Uint8Array> {
    return this.#mirror.tile(level, n, width);
  }

  async bundle(n: number, width: number): Promise<readonly Uint8Array[]> {
    const bundle = await this.#mirror.bundle(n, width);
    this.#bundles.set(n, encodeBundle(bundle));
    return bundle;
  }

  /** Reads a bundle once more, and leaves the one that is kept alone. */
  again(n: number, width: number): Promise<readonly Uint8Array[]> {
    return this.#mirror.bundle(n, width);
  }

  /** A bundle of at least this width as it was read before; null when it is not kept. */
  keptBundle(n: number, width: number): readonly Uint8Array[] | null {
    const bundle = this.#kept(n);
    return bundle.length >= width ? bundle.slice(0, width) : null;
  }

  /** An entry as it was read before; null when it is not kept. */
  keptEntry(index: number): Uint8Array | null {
    return this.#kept(Math.floor(index / TILE_WIDTH))[index % TILE_WIDTH] ?? null;
  }

  #kept(n: number): readonly Uint8Array[] {
    return parseBundle(this.#bundles.get(n) ?? new Uint8Array(0));
  }
}
