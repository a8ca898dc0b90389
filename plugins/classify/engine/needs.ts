// The classes that each pattern requires, in one array of numbers: read for every rule whose key word occurs in a text, so it must be
// close together in memory.
import type { Marks } from './marks.ts';
import type { Pattern, Step } from './patterns.ts';
import type { Sentence } from './marks.ts';

/** The needs of many patterns. */
export class Needs {
  readonly #written: number[] = [];
  #row = new Int32Array(0);

  /** Files a pattern, without the step that its index has asked for already; gives its place. */
  add(pattern: Pattern, asked?: Step): number {
    const place = this.#written.length;
    for (const step of pattern.needed) {
      if (step === asked) continue;
      const { words, classes, wordBits, classBits } = step;
      const needed = [...words, ...classes.map((cls) => ~cls)];
      this.#written.push(needed.length, wordBits, classBits, ...needed);
    }
    this.#written.push(0);
    return place;
  }

  /** To be called once, when every pattern is filed. */
  seal(): void {
    this.#row = Int32Array.from(this.#written);
  }

  /** The bits of words and of classes that the first need of the pattern at `place` asks for; all bits when it has no needs. */
  bits(place: number): readonly [number, number] {
    if (this.#row[place] === 0) return [-1, -1];
    return [this.#row[place + 1] ?? 0, this.#row[place + 2] ?? 0];
  }

  /**
   * False when a word or class that the pattern at `place` cannot do without is in no sentence of the window, or its bit not
   * among those of the window.
   */
  met(
    place: number,
    { words, present }: Marks,
    window: Pick<Sentence, 'words' | 'classes' | 'mask'>,
  ): boolean {
    const { mask } = window;
    const row = this.#row;
    let i = place;
    for (;;) {
      const count = row[i++] ?? 0;
      if (count === 0) return true;
      const wordBits = row[i++] ?? 0;
      const classBits = row[i++] ?? 0;
      if (((wordBits & window.words) | (classBits & window.classes)) === 0) return false;
      const end = i + count;
      for (; i < end; i++) {
        const need = row[i] ?? 0;
        if (((need >= 0 ? words[need] : present[~need]) ?? 0) & mask) break;
      }
      if (i === end) return false;
      i = end;
    }
  }
}
