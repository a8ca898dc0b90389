// Tests of plugins/classify/engine/lexicon.ts.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Lexicon } from '../../../../plugins/classify/engine/lexicon.ts';
import { bitOf } from '../../../../plugins/classify/engine/marks.ts';
import type { Marks } from '../../../../plugins/classify/engine/marks.ts';
import { tokenise } from '../../../../plugins/classify/engine/tokens.ts';
import { Vocabulary } from '../../../../plugins/classify/engine/vocabulary.ts';

const WORDS = ['aa', 'ab', 'ba', 'bb', 'abb'];
const word = fc.constantFrom(...WORDS);
const stem = fc.constantFrom('a*', 'ab*', 'bb*', 'zz*');
const phrase = fc.array(word, { minLength: 2, maxLength: 4 }).map((words) => words.join(' '));
const classes = fc.array(fc.uniqueArray(fc.oneof(word, stem, phrase), { maxLength: 6 }), {
  minLength: 1,
  maxLength: 40,
});
/** `zzz` is in the table only through its stem, and `yyy` is in no table. */
const texts = fc.array(fc.array(fc.constantFrom(...WORDS, 'zzz', 'yyy'), { maxLength: 30 }), {
  minLength: 1,
  maxLength: 4,
});

/** Class and length of each class that begins at a word, sorted. */
function marked({ places, lists }: Marks, at: number): string[] {
  const place = places[at] ?? 0;
  const found: string[] = [];
  for (let k = place + 1; k <= place + (lists[place] ?? 0); k += 2)
    found.push(`${String(lists[k])} x${String(lists[k + 1])}`);
  return found.sort();
}

/**
 * The same from a search of all entries: a class occurs once at a word for the word itself, and once for each of its
 * phrases.
 */
function expected(tables: readonly (readonly string[])[], text: readonly string[], at: number) {
  const own = text[at] ?? '';
  return tables
    .flatMap((entries, cls) => {
      const single = entries.filter((entry) =>
        entry.endsWith('*') ? own.startsWith(entry.slice(0, -1)) : entry === own,
      );
      const phrases = entries.filter(
        (entry) =>
          entry.includes(' ') && text.slice(at, at + entry.split(' ').length).join(' ') === entry,
      );
      // For an unknown word, each of its stems yields the class again; duplicates are not removed.
      const times = WORDS.includes(own) ? Math.min(1, single.length) : single.length;
      return [
        ...new Array<string>(times).fill(`${String(cls)} x1`),
        ...phrases.map((entry) => `${String(cls)} x${String(entry.split(' ').length)}`),
      ];
    })
    .sort();
}

describe('classes of words', () => {
  it('are marked at each word, stem and phrase, in each of several texts', () => {
    fc.assert(
      fc.property(classes, texts, (tables, several) => {
        const vocabulary = new Vocabulary(new Map());
        const lexicon = new Lexicon(vocabulary);
        for (const each of WORDS) vocabulary.add(each);
        tables.forEach((entries, cls) => {
          lexicon.cls(String(cls));
          for (const entry of entries) lexicon.add(String(cls), entry);
        });
        const kinds = Int32Array.from(tables, (_entries, cls) => 1 << (cls % 20));
        lexicon.seal(kinds);
        for (const text of several) {
          const marks = lexicon.mark(tokenise(text.join(' '), vocabulary));
          const anywhere = new Set<number>();
          text.forEach((own, at) => {
            const here = marked(marks, at);
            assert.deepEqual(here, expected(tables, text, at));
            const found = here.map((one) => Number.parseInt(one));
            for (const cls of found) anywhere.add(cls);
            assert.equal(
              marks.bits[at],
              found.reduce((bits, cls) => bits | bitOf(cls), 0),
            );
            assert.equal(
              marks.kinds[at],
              found.reduce((all, cls) => all | (kinds[cls] ?? 0), 0),
            );
            if (vocabulary.id(own) >= 0) assert.notEqual(marks.words[vocabulary.id(own)], 0);
          });
          assert.deepEqual(
            tables.flatMap((_entries, cls) => (marks.present[cls] === 0 ? [] : [cls])),
            [...anywhere].sort((a, b) => a - b),
          );
          assert.equal(
            marks.words.filter((sentences) => sentences !== 0).length,
            new Set(text.filter((own) => vocabulary.id(own) >= 0)).size,
          );
        }
      }),
    );
  });
});
