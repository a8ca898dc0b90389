// Which entry has an id. Ids strictly increase with the index, so the log itself is their index: no row has to be
// written for each. RFC 9562 §5.7; log/write/entry-id.ts.

import { LRUCache } from 'lru-cache';
import { LogError } from '../errors.ts';

/** Ids that are remembered by their index: the first steps of every search, and the last ones of most. */
const REMEMBERED = 16_384;

/** Ids that were found are remembered by their text: a decision is named by all that follow from it. */
const FOUND = 4096;

/** Reads the id of an entry. */
export type IdAt = (index: number) => string;

/** Searches the ids of one log, whose entries never change. */
export class IdSearch {
  readonly #ids = new LRUCache<number, string>({ max: REMEMBERED });
  readonly #found = new LRUCache<string, number>({ max: FOUND });
  readonly #stored: IdAt;
  readonly #compared: IdAt;

  /** `stored` reads an entry as the disk has it; `compared` only what is of its leaf hash. */
  constructor(stored: IdAt, compared: IdAt) {
    this.#stored = stored;
    this.#compared = compared;
  }

  /**
   * The index of an id among the first `size` entries, or null.
   *
   * @throws LogError `store_corrupt` where entries on disk are not those of the log
   */
  find(entry_id: string, size: number): number | null {
    const found = this.#found.get(entry_id);
    if (found !== undefined && found < size) return found;
    // Steps of powers of two come to the same places at every size, so that the upper ones are remembered.
    let last = -1;
    for (let step = 2 ** Math.floor(Math.log2(size)); step >= 1; step /= 2) {
      const at = last + step;
      if (at < size && this.#idAt(at) <= entry_id) last = at;
    }
    // What led here was not compared with the tree: what stands here is, and its neighbour where it is no answer.
    const before = last < 0 ? '' : this.#compared(last);
    if (before === entry_id) {
      this.#found.set(entry_id, last);
      return last;
    }
    const next = last + 1;
    if (before < entry_id && (next >= size || this.#compared(next) > entry_id)) return null;
    throw new LogError('store_corrupt', `the ids around entry ${String(next)} are out of order`);
  }

  #idAt(index: number): string {
    const known = this.#ids.get(index);
    if (known !== undefined) return known;
    const id = this.#stored(index);
    this.#ids.set(index, id);
    return id;
  }
}
