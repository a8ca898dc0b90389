// What rounds in flight have written and the database does not hold yet: later groups read through it,
// a refused group takes its writes back, a durable round leaves it.

/** The last values of one round, by key; its batch must not hold what a later round makes of a key. */
interface Layer<V> {
  readonly round: number;
  readonly values: Map<string, V | null>;
}

interface Undo<V> {
  readonly values: Map<string, V | null>;
  readonly key: string;
  readonly before: V | null | undefined;
}

/** Pending values by key; null stands for a deleted one. Rounds write in the order of their numbers. */
export class Overlay<V> {
  /** Oldest first. Rounds in flight are few, so that a read looks through them and a durable one is dropped whole. */
  readonly #layers: Layer<V>[] = [];
  #journal: Undo<V>[] = [];

  /** undefined when no round in flight wrote the key. */
  get(key: string): V | null | undefined {
    for (let at = this.#layers.length - 1; at >= 0; at -= 1) {
      const value = this.#layers[at]?.values.get(key);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  set(key: string, value: V | null, round: number): void {
    const { values } = this.#layer(round);
    this.#journal.push({ values, key, before: values.get(key) });
    values.set(key, value);
  }

  /** From here on `rollback` takes writes back. */
  begin(): void {
    this.#journal = [];
  }

  rollback(): void {
    for (const { values, key, before } of this.#journal.reverse()) {
      if (before === undefined) values.delete(key);
      else values.set(key, before);
    }
    this.#journal = [];
  }

  /** What a round leaves behind, each key once. */
  written(round: number): Iterable<[string, V | null]> {
    return this.#layers.find((layer) => layer.round === round)?.values.entries() ?? [];
  }

  /** The round is durable: the database answers for it now. */
  settle(round: number): void {
    const at = this.#layers.findIndex((layer) => layer.round === round);
    if (at >= 0) this.#layers.splice(at, 1);
  }

  clear(): void {
    this.#layers.length = 0;
    this.#journal = [];
  }

  #layer(round: number): Layer<V> {
    const newest = this.#layers.at(-1);
    if (newest?.round === round) return newest;
    if (newest !== undefined && newest.round > round) {
      throw new Error(`round ${String(round)} writes after round ${String(newest.round)}`);
    }
    const layer = { round, values: new Map<string, V | null>() };
    this.#layers.push(layer);
    return layer;
  }
}
