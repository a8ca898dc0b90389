// Tests of plugins/classify/engine/patterns.ts.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Lexicon } from '../../../../plugins/classify/engine/lexicon.ts';
import { bitOf } from '../../../../plugins/classify/engine/marks.ts';
import { Matcher } from '../../../../plugins/classify/engine/matcher.ts';
import { Needs } from '../../../../plugins/classify/engine/needs.ts';
import { compile } from '../../../../plugins/classify/engine/patterns.ts';
import { tokenise } from '../../../../plugins/classify/engine/tokens.ts';
import { Vocabulary } from '../../../../plugins/classify/engine/vocabulary.ts';

const vocabulary = new Vocabulary(new Map());
const lexicon = new Lexicon(vocabulary);
lexicon.add('pet', 'cat');
lexicon.add('pet', 'guinea pig');
lexicon.add('pet', 'dog*');
for (const word of ['aa', 'bb', 'cc', 'dd']) vocabulary.add(word);
const MANY = Array.from({ length: 90 }, (_hole, k) =>
  String.fromCharCode(0x65 + Math.floor(k / 18), 0x65 + (k % 18)),
);
for (const word of MANY) vocabulary.add(word);
lexicon.seal(new Int32Array(lexicon.size));

function match(source: string, text: string): string | undefined {
  const pattern = compile(source, lexicon, vocabulary);
  const tokens = tokenise(text, vocabulary);
  const marks = lexicon.mark(tokens);
  const matcher = new Matcher();
  const steps = matcher.add(pattern);
  matcher.seal();
  const span = matcher.find(steps, tokens, marks, { from: 0, to: tokens.words.length });
  const needs = new Needs();
  const place = needs.add(pattern);
  needs.seal();
  const ids = [...tokens.ids.slice(0, tokens.words.length)];
  const known = ids.filter((id) => id >= 0);
  const words = known.reduce((bits, id) => bits | bitOf(id), 0);
  const classes = ids.reduce((bits, _id, k) => bits | (marks.bits[k] ?? 0), 0);
  const mask = marks.sentences.reduce((bits, sentence) => bits | sentence.mask, 0);
  if (span !== undefined) assert.ok(needs.met(place, marks, { words, classes, mask }));
  return span && tokens.words.slice(span.from, span.to).join(' ');
}

describe('rule patterns', () => {
  it('match words, classes, phrases and stems', () => {
    assert.equal(match('aa @pet', 'bb aa guinea pig cc'), 'aa guinea pig');
    assert.equal(match('aa @pet', 'aa doggies'), 'aa doggies');
    assert.equal(match('aa @pet', 'aa guinea bb pig'), undefined);
  });

  it('match gaps, options and ends', () => {
    assert.equal(match('aa ~2 bb', 'aa cc cc bb'), 'aa cc cc bb');
    assert.equal(match('aa ~2 bb', 'aa cc cc cc bb'), undefined);
    assert.equal(match('aa cc? bb', 'aa bb'), 'aa bb');
    assert.equal(match('^ aa', 'bb aa'), undefined);
    assert.equal(match('bb $', 'aa bb'), 'bb');
    assert.equal(match('bb $', 'bb aa'), undefined);
  });

  it('match any of many words, and no other', () => {
    fc.assert(
      fc.property(fc.subarray(MANY, { minLength: 1 }), fc.constantFrom(...MANY), (any, word) => {
        const span = match(`aa ${any.join('|')}`, `aa ${word}`);
        assert.equal(span, any.includes(word) ? `aa ${word}` : undefined);
      }),
    );
  });

  it('refuse classes and words that do not exist', () => {
    assert.throws(() => compile('@nobody', lexicon, vocabulary), /unknown class/);
    assert.throws(() => compile('aa ~99 bb', lexicon, vocabulary), /bad gap/);
    assert.throws(() => compile('ab*', lexicon, vocabulary), /not one word/);
  });

  it('agree with a backtracking matcher', () => {
    const step = fc.oneof(
      fc.constantFrom('aa', 'bb', 'aa|cc', 'bb?', 'dd'),
      fc.constantFrom('~1', '~3'),
    );
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 6 }).map((steps) => ['aa', ...steps, 'cc']),
        fc.array(fc.constantFrom('aa', 'bb', 'cc', 'dd'), { minLength: 1, maxLength: 12 }),
        (steps, text) => {
          assert.equal(match(steps.join(' '), text.join(' ')) !== undefined, naive(steps, text));
        },
      ),
    );
  });
});

function naive(steps: readonly string[], text: readonly string[]): boolean {
  const from = (s: number, t: number): boolean => {
    const step = steps[s];
    if (step === undefined) return true;
    if (step.startsWith('~')) {
      for (let skip = 0; skip <= Number(step.slice(1)) && t + skip <= text.length; skip++) {
        if (from(s + 1, t + skip)) return true;
      }
      return false;
    }
    const optional = step.endsWith('?');
    const fits = (optional ? step.slice(0, -1) : step).split('|').includes(text[t] ?? '');
    return (fits && from(s + 1, t + 1)) || (optional && from(s + 1, t));
  };
  return text.some((_word, t) => from(0, t));
}
