// The entries that became durable last, in memory as they were written: what has just been appended is asked for
// at once, by who checks a receipt, by the act that names its decision, by monitors at the end of the log.

/** How many entries, and how many bytes of them at the most. */
const MOST_ENTRIES = 4096;
const MOST_BYTES = 8 * 1024 * 1024;

/** An entry as it is on disk. */
export interface Written {
  readonly index: number;
  readonly entry_id: string;
  readonly bytes: Buffer;
}

/** A run of entries without a gap, which ends with the last durable one. */
export class RecentEntries {
  readonly #slots = new Array<Written | undefined>(MOST_ENTRIES).fill(undefined);
  /** Index of the first, and of the one after the last. */
  #from = 0;
  #to = 0;
  #bytes = 0;

  /** The next entry is durable; one that does not follow the last begins a new run. */
  add(entry: Written): void {
    const { index, bytes } = entry;
    if (index !== this.#to) {
      while (this.#from < this.#to) this.#dropFirst();
      this.#from = this.#to = index;
    }
    if (this.#to - this.#from === MOST_ENTRIES) this.#dropFirst();
    this.#slots[index % MOST_ENTRIES] = entry;
    this.#to += 1;
    this.#bytes += bytes.length;
    while (this.#bytes > MOST_BYTES) this.#dropFirst();
  }

  /** The bytes of an entry; undefined when it is not among them. */
  at(index: number): Buffer | undefined {
    return this.#entry(index)?.bytes;
  }

  /** The index of an id; null where there is none, undefined where an older entry may have it. */
  indexOf(entry_id: string): number | null | undefined {
    const first = this.#entry(this.#from);
    if (first === undefined || entry_id < first.entry_id) return undefined;
    let [low, high] = [this.#from, this.#to];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.#entry(middle)?.entry_id ?? '') <= entry_id) low = middle;
      else high = middle;
    }
    return this.#entry(low)?.entry_id === entry_id ? low : null;
  }

  #entry(index: number): Written | undefined {
    return index >= this.#from && index < this.#to ? this.#slots[index % MOST_ENTRIES] : undefined;
  }

  #dropFirst(): void {
    const slot = this.#from % MOST_ENTRIES;
    this.#bytes -= this.#slots[slot]?.bytes.length ?? 0;
    this.#slots[slot] = undefined;
    this.#from += 1;
  }
}
