// Tests of plugins/classify/engine/tokens.ts.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { normalise } from '../../../../plugins/classify/engine/normalise.ts';
import { loadTables } from '../../../../plugins/classify/engine/tables.ts';
import { tokenise } from '../../../../plugins/classify/engine/tokens.ts';

describe('normalising and cutting', () => {
  const { vocabulary } = loadTables();
  const cut = (text: string): string[] => tokenise(normalise(text).text, vocabulary).words;

  it('normalises leet, spaced, stretched, masked and joined words', () => {
    assert.deepEqual(cut('h4te'), ['hate']);
    assert.deepEqual(cut('k i l l them'), ['kill', 'them']);
    assert.deepEqual(cut('k.i.l.l them'), ['kill', 'them']);
    assert.deepEqual(cut('kiiilll'), ['kill']);
    assert.deepEqual(cut('f*ck f**k b!tch $hit'), ['fuck', 'fuck', 'bitch', 'shit']);
    assert.deepEqual(cut('stupidestpeople'), ['stupidest', 'people']);
  });

  it('expands contractions', () => {
    assert.deepEqual(cut("don't"), ['do', 'not']);
    assert.deepEqual(cut('can’t dont'), ['can', 'not', 'do', 'not']);
    assert.deepEqual(cut("I'm she'll"), ['i', 'am', 'she', 'will']);
  });

  it('does not change ordinary words and other scripts', () => {
    assert.deepEqual(cut('Covid19 H1B 401k'), ['covid19', 'h1b', '401k']);
    assert.deepEqual(cut('Привет мир'), ['привет', 'мир']);
  });

  it('reads a known word in the same way whatever follows it', () => {
    // A space ends a word immediately; before an apostrophe the text is read letter by letter.
    for (const word of vocabulary.words) {
      assert.deepEqual(cut(`so ${word} so`), cut(`so ${word}' so`));
    }
  });

  it('drops accents and invisible characters', () => {
    assert.deepEqual(cut('T\u00f6ten na\u00efve'), ['toten', 'naive']);
    assert.equal(normalise('a\u200bb\ufeffc\u0301').text, 'abc');
  });

  it('marks sentences and words quoted inside one', () => {
    const tokens = tokenise(normalise('He said "go away". Then left.').text, vocabulary);
    assert.deepEqual(
      tokens.words.filter((_word, k) => tokens.quoted[k] === true),
      ['go', 'away'],
    );
    assert.deepEqual(
      tokens.words.filter((_word, k) => tokens.breaks[k] === 2),
      ['he', 'then'],
    );
  });

  it('gives every word its position in the text, in order', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 120 }), (original) => {
        const { text } = normalise(original);
        const { words, ids, starts, ends } = tokenise(text, vocabulary);
        assert.ok(words.length <= ids.length);
        for (let k = 0; k < words.length; k++) {
          assert.ok((starts[k] ?? -1) < (ends[k] ?? -1) && (ends[k] ?? 0) <= text.length);
          if (k > 0) assert.ok((starts[k] ?? 0) >= (starts[k - 1] ?? 0));
        }
      }),
    );
  });
});
