// Stems of word classes: every word with that beginning belongs to the class, be it known or not.

/** Classes by the beginnings of their words. */
export class Stems {
  readonly #classes = new Map<string, number[]>();
  /** How stems begin, as far as the shortest goes: most words begin like none of them. */
  #beginnings = new Set<string>();
  #shortest = Infinity;
  #longest = 0;

  /** Adds a stem of a class. */
  add(stem: string, cls: number): void {
    const classes = this.#classes.get(stem);
    if (classes === undefined) this.#classes.set(stem, [cls]);
    else classes.push(cls);
    this.#longest = Math.max(this.#longest, stem.length);
    if (stem.length < this.#shortest) {
      this.#shortest = stem.length;
      const stems = [...this.#classes.keys()];
      this.#beginnings = new Set(stems.map((known) => known.slice(0, stem.length)));
    } else this.#beginnings.add(stem.slice(0, this.#shortest));
  }

  /** The classes of a word, once for each of its stems, the shortest first. */
  classesOf(word: string): readonly number[] {
    if (!this.#beginnings.has(word.slice(0, this.#shortest))) return NONE;
    const found: number[] = [];
    const longest = Math.min(word.length, this.#longest);
    for (let n = this.#shortest; n <= longest; n++) {
      found.push(...(this.#classes.get(word.slice(0, n)) ?? NONE));
    }
    return found;
  }
}

const NONE: readonly number[] = [];
