// The numbers in LevelDB's files: LEB128, one after the other. LevelDB, doc/table_format.md.

/** Bytes that are not what LevelDB has written there; the message is `at byte N`. */
export class Damaged extends Error {
  constructor(at: number) {
    super(`at byte ${String(at)}`);
  }
}

/** Where a block of a table is, in bytes of its file. */
export interface Handle {
  readonly offset: number;
  readonly size: number;
}

/** Reads numbers from `at` on, and moves `at` behind them; `Damaged` beyond the end. */
export class Varints {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  get ended(): boolean {
    return this.at >= this.#bytes.length;
  }

  handle(): Handle {
    return { offset: this.next(), size: this.next() };
  }

  /** Bytes that stand behind their length. */
  slice(): Buffer {
    const length = this.next();
    const from = this.at;
    if (from + length > this.#bytes.length) throw new Damaged(from);
    this.at += length;
    return this.#bytes.subarray(from, this.at);
  }

  /** LEB128 of up to 53 bits. */
  next(): number {
    const start = this.at;
    for (let n = 0, scale = 1; scale < Number.MAX_SAFE_INTEGER; scale *= 128) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) break;
      this.at += 1;
      n += (byte & 127) * scale;
      if (byte < 128) return n;
    }
    throw new Damaged(start);
  }
}
