// A store of published tiles in memory, like folders and buckets, whose writes fail on request.

import { forked } from '../../log/index.ts';
import type { StoredPartial, TileStore } from '../../log/index.ts';

/** Like a bucket: it never replaces a tile, and replaces the checkpoint only if it is the one that was read last. */
export class MemoryTiles implements TileStore {
  readonly name = 'the store';
  readonly files = new Map<string, { readonly bytes: Uint8Array; readonly at_ms: number }>();
  /** The paths of all writes, in order. */
  readonly writes: string[] = [];
  readonly #now: () => number;
  /** The number of writes before one fails; it fails once. */
  left = Infinity;
  /** Whether the failing write takes effect, as if only its answer were lost. */
  effective = false;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async read(path: string): Promise<Uint8Array | null> {
    return this.files.get(path)?.bytes ?? null;
  }

  async put(path: string, bytes: Uint8Array): Promise<void> {
    const there = await this.read(path);
    if (there === null) this.#write(path, bytes);
    else if (!Buffer.from(there).equals(bytes)) throw forked(this.name, path);
  }

  async checkpoint(): Promise<string | null> {
    const bytes = await this.read('checkpoint');
    return bytes === null ? null : Buffer.from(bytes).toString();
  }

  async putCheckpoint(note: string): Promise<void> {
    this.#write('checkpoint', Buffer.from(note));
  }

  async *partials(): AsyncGenerator<StoredPartial> {
    for (const path of this.files.keys()) {
      if (!path.includes('.p/')) continue;
      const full = this.files.get(path.slice(0, path.indexOf('.p/')));
      yield { path, full_at_ms: full?.at_ms ?? null };
    }
  }

  async remove(path: string): Promise<void> {
    this.files.delete(path);
  }

  #write(path: string, bytes: Uint8Array): void {
    const fails = this.left === 0;
    this.left -= 1;
    if (!fails || this.effective) {
      this.files.set(path, { bytes: Uint8Array.from(bytes), at_ms: this.#now() });
      this.writes.push(path);
    }
    if (fails) throw new Error('the write failed');
  }
}
