// The words the tables know, and how a written word becomes one of them: contractions, leet, stretched and joined words.

import { LEET, MASKED, outlines, runsOf, sameLetters, SHORT } from './disguises.ts';

/** The words that one written word means. */
interface Spelling {
  readonly words: readonly string[];
  /** The ids of the words, -1 for one that is unknown. */
  readonly ids: readonly number[];
  readonly disguised: boolean;
}

type Plain = Pick<Spelling, 'words' | 'disguised'>;

/** The two numbers of `hashWord`, for those who hash as they read. */
export const FNV_BASIS = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;

const LONGEST_WORD = 24;
const REMEMBERED = 20_000;
const COMMON_SLOTS = 4096;
/** Word ids are dense and stable for one set of tables. */
export class Vocabulary {
  readonly #ids = new Map<string, number>();
  readonly #words: string[] = [];
  readonly #contractions: ReadonlyMap<string, readonly string[]>;
  readonly #strong = new Set<string>();
  readonly #shortened = new Map<string, string>();
  #sealed = false;
  readonly #remembered = new Map<string, Spelling>();
  /** Ids plus one of the words that mean themselves, by the hash that `plainId` is given. */
  #slots = new Uint16Array(0);
  /** The same for the commonest words only, one a slot: small enough to stay in the cache, and nearly always the answer. */
  readonly #common = new Uint16Array(COMMON_SLOTS);
  /** The letters of those words, one behind the other, and by id where they begin. */
  #letters = new Uint8Array(0);
  #begins = new Int32Array(0);

  constructor(contractions: ReadonlyMap<string, readonly string[]>) {
    this.#contractions = contractions;
  }

  get size(): number {
    return this.#words.length;
  }

  get words(): readonly string[] {
    return this.#words;
  }

  /** The id of a word, -1 when unknown. */
  id(word: string): number {
    return this.#ids.get(word) ?? -1;
  }

  /** The id of a word, made known when it is new; only while the tables load. */
  add(word: string): number {
    const known = this.#ids.get(word);
    if (known !== undefined) return known;
    const id = this.#words.length;
    this.#ids.set(word, id);
    this.#words.push(word);
    this.#remembered.clear();
    return id;
  }

  /**
   * Ends loading. From now on unknown words are taken for disguises of known ones; `strong` are the words worth
   * looking for inside misspelt and joined ones.
   */
  seal(strong: Iterable<string>): void {
    this.#sealed = true;
    this.#remembered.clear();
    for (const word of strong) {
      if (!/^[a-z]{4,}$/.test(word)) continue;
      this.#strong.add(word);
      for (let cut = 1; cut < word.length; cut++) {
        const shorter = word.slice(0, cut) + word.slice(cut + 1);
        if (!this.#shortened.has(shorter)) this.#shortened.set(shorter, word);
      }
    }
    this.#fillSlots();
  }

  /** Fills the slots: a table that is asked without cutting the word out of its text first. */
  #fillSlots(): void {
    // A word over the range of the slots is found the slow way.
    const words = this.#words.slice(0, 0xffff);
    this.#slots = new Uint16Array(2 ** Math.ceil(Math.log2(words.length * 3 + 1)));
    this.#letters = Uint8Array.from(Buffer.from(words.join(''), 'latin1'));
    this.#begins = new Int32Array(words.length + 1);
    words.forEach((word, id) => {
      this.#begins[id + 1] = (this.#begins[id] ?? 0) + word.length;
      if (!/^[a-z]+$/.test(word) || this.#contractions.has(word)) return;
      let slot = hashWord(word);
      while (this.#slots[slot & (this.#slots.length - 1)] !== 0) slot++;
      this.#slots[slot & (this.#slots.length - 1)] = id + 1;
      const common = hashWord(word) & (COMMON_SLOTS - 1);
      if (this.#common[common] === 0) this.#common[common] = id + 1;
    });
  }

  /** The id of the letters a to z from `from` to `to`, whose `hashWord` is given; -1 when `spell` must be asked. */
  plainId(codes: Uint16Array, from: number, to: number, hash: number): number {
    const common = (this.#common[hash & (COMMON_SLOTS - 1)] ?? 0) - 1;
    if (common >= 0 && this.#isWord(common, codes, from, to)) return common;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hash; ; slot++) {
      const id = (slots[slot & mask] ?? 0) - 1;
      if (id < 0 || this.#isWord(id, codes, from, to)) return id;
    }
  }

  #isWord(id: number, codes: Uint16Array, from: number, to: number): boolean {
    const letters = this.#letters;
    let at = this.#begins[id] ?? 0;
    if ((this.#begins[id + 1] ?? 0) - at !== to - from) return false;
    let k = from;
    while (k < to && codes[k] === letters[at]) {
      k++;
      at++;
    }
    return k === to;
  }

  /** The word of an id. */
  word(id: number): string {
    return this.#words[id] ?? '';
  }

  /** The plain words behind one written word. */
  spell(raw: string): Spelling {
    const known = this.#remembered.get(raw);
    if (known !== undefined) return known;
    const { words, disguised } = this.#work(raw);
    const spelling = { words, ids: words.map((word) => this.id(word)), disguised };
    // Bounded, and emptied whole: the answer does not depend on what was asked before.
    if (raw.length <= LONGEST_WORD) {
      if (this.#remembered.size >= REMEMBERED) this.#remembered.clear();
      this.#remembered.set(raw, spelling);
    }
    return spelling;
  }

  #work(raw: string): Plain {
    const parts = this.#contractions.get(raw);
    if (parts !== undefined) return { words: parts, disguised: false };
    if (this.#ids.has(raw)) return { words: [raw], disguised: false };
    if (raw.includes("'")) return this.#apostrophe(raw);
    if (!this.#sealed) return { words: [raw], disguised: false };
    if (raw.length > LONGEST_WORD) return { words: [raw.slice(0, LONGEST_WORD)], disguised: false };
    const plain = this.#undisguise(raw);
    if (plain !== undefined)
      return { words: this.#contractions.get(plain) ?? [plain], disguised: true };
    const joined = this.#unjoin(raw);
    if (joined !== undefined) return { words: joined, disguised: true };
    const meant = this.#misspelt(raw);
    if (meant !== undefined) return { words: [meant], disguised: true };
    return { words: [raw], disguised: false };
  }

  #apostrophe(raw: string): Plain {
    const words: string[] = [];
    let disguised = false;
    for (const piece of raw.split("'")) {
      if (piece === '') continue;
      const spelled = this.spell(piece);
      words.push(...spelled.words);
      disguised ||= spelled.disguised;
    }
    return { words, disguised };
  }

  #undisguise(raw: string): string | undefined {
    let letters = 0;
    let mapped = '';
    let mask = -1;
    let changed = false;
    for (let i = 0; i < raw.length; i++) {
      const c = raw.charAt(i);
      const to = LEET.get(c);
      if (to !== undefined) {
        mapped += to;
        changed = true;
      } else if (c === '*') {
        if (mask < 0) mask = mapped.length;
        mapped += '*';
        changed = true;
      } else {
        mapped += c;
        letters++;
      }
    }
    if (changed) {
      if (letters === 0) return undefined;
      if (mask >= 0) return this.#unmask(mapped);
      if (this.#ids.has(mapped)) return mapped;
      const withL =
        mapped === raw
          ? mapped
          : raw.replaceAll('1', 'l').replace(/[^a-z]/g, (c) => LEET.get(c) ?? c);
      if (this.#ids.has(withL)) return withL;
    }
    return this.#unstretch(changed ? mapped : raw);
  }

  /** "f*ck", "sh**": the words of equal outline, then a vowel for each star. */
  #unmask(masked: string): string | undefined {
    const { length } = masked;
    const often = outlines().get(length + masked.charAt(0) + masked.replaceAll('*', '').slice(1));
    if (often !== undefined) return often;
    for (const vowel of MASKED) {
      const word = masked.replaceAll('*', vowel);
      if (this.#ids.has(word)) return word;
    }
    return undefined;
  }

  /** "kiiilll", "sooo": each run of a letter cut to two or to one, for up to four runs. */
  #unstretch(word: string): string | undefined {
    const runs = /(.)\1/.test(word) ? runsOf(word) : [];
    const long = runs.filter((run) => run.length > 1).length;
    if (long === 0 || long > 4) return undefined;
    for (let choice = 0; choice < 2 ** long; choice++) {
      let bit = 0;
      let cut = '';
      for (const run of runs) {
        if (run.length === 1) cut += run;
        else cut += (choice >> bit++) & 1 ? run.charAt(0) : run.slice(0, 2);
      }
      if (cut !== word && cut.length > 1 && this.#ids.has(cut)) return cut;
    }
    return undefined;
  }

  /** "stupidestpeople": two known words of three letters or more, or a short function word and a long one. */
  #unjoin(word: string): readonly string[] | undefined {
    if (word.length < 5) return undefined;
    let best: readonly string[] | undefined;
    let balance = 0;
    for (let cut = 2; cut <= word.length - 3; cut++) {
      const left = word.slice(0, cut);
      const right = word.slice(cut);
      if (!this.#ids.has(left) || !this.#ids.has(right)) continue;
      if (cut < 3 && !SHORT.has(left)) continue;
      if (!this.#strong.has(left) && !this.#strong.has(right)) continue;
      const weight = Math.min(cut, word.length - cut);
      if (weight > balance) {
        balance = weight;
        best = [left, right];
      }
    }
    return best;
  }

  /** One letter dropped, added, changed or two swapped in a strong word; the first letter must be unchanged. */
  #misspelt(word: string): string | undefined {
    if (word.length < 5 || word.length > 14 || !/^[a-z]+$/.test(word)) return undefined;
    const dropped = this.#shortened.get(word);
    if (dropped !== undefined) return dropped;
    for (let cut = 1; cut < word.length; cut++) {
      const shorter = word.slice(0, cut) + word.slice(cut + 1);
      if (shorter.length >= 6 && this.#strong.has(shorter)) return shorter;
      const near = this.#shortened.get(shorter);
      if (near?.length !== word.length) continue;
      if (word.length >= 8 || sameLetters(near, word)) return near;
    }
    return undefined;
  }

  /** Letters written apart, cut into known words; the fewest pieces win, one piece when nothing fits. */
  segment(letters: string): readonly string[] {
    if (letters.length > 40) return [letters.slice(0, LONGEST_WORD)];
    const whole = this.spell(letters);
    if (whole.words.length === 1 && this.#ids.has(whole.words[0] ?? '')) return whole.words;
    for (const head of ['a', 'i', 'u']) {
      if (!letters.startsWith(head)) continue;
      const rest = this.spell(letters.slice(1));
      if (rest.words.every((word) => this.#ids.has(word))) return [head, ...rest.words];
    }
    return whole.words;
  }
}

/** FNV-1a over UTF-16 units. */
export function hashWord(word: string): number {
  let h = FNV_BASIS;
  for (let i = 0; i < word.length; i++) h = Math.imul(h ^ word.charCodeAt(i), FNV_PRIME);
  return h | 0;
}
