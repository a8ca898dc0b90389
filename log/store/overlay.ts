// What rounds in flight have written and the database does not hold yet: later groups read through it,
// a refused group takes its writes back, a durable round leaves it.

interface Pending<V> {
  readonly value: V | null;
  readonly round: number;
}

interface Undo<V> {
  readonly key: string;
  readonly round: number;
  readonly before: Pending<V> | undefined;
  readonly own: V | null | undefined;
}

/** Pending values by key; null stands for a deleted one. */
export class Overlay<V> {
  readonly #newest = new Map<string, Pending<V>>();
  /** Each round keeps its own last values: its batch must not hold what a later round made of a key. */
  readonly #own = new Map<number, Map<string, V | null>>();
  #journal: Undo<V>[] = [];

  /** undefined when no round in flight wrote the key. */
  get(key: string): V | null | undefined {
    return this.#newest.get(key)?.value;
  }

  set(key: string, value: V | null, round: number): void {
    let own = this.#own.get(round);
    if (own === undefined) this.#own.set(round, (own = new Map<string, V | null>()));
    this.#journal.push({ key, round, before: this.#newest.get(key), own: own.get(key) });
    own.set(key, value);
    this.#newest.set(key, { value, round });
  }

  /** From here on `rollback` takes writes back. */
  begin(): void {
    this.#journal = [];
  }

  rollback(): void {
    for (const { key, round, before, own } of this.#journal.reverse()) {
      if (before === undefined) this.#newest.delete(key);
      else this.#newest.set(key, before);
      const values = this.#own.get(round);
      if (own === undefined) values?.delete(key);
      else values?.set(key, own);
    }
    this.#journal = [];
  }

  /** What a round leaves behind, each key once. */
  written(round: number): Iterable<[string, V | null]> {
    return this.#own.get(round)?.entries() ?? [];
  }

  /** The round is durable: the database answers for it now. */
  settle(round: number): void {
    for (const key of this.#own.get(round)?.keys() ?? []) {
      if (this.#newest.get(key)?.round === round) this.#newest.delete(key);
    }
    this.#own.delete(round);
  }

  clear(): void {
    this.#newest.clear();
    this.#own.clear();
    this.#journal = [];
  }
}
