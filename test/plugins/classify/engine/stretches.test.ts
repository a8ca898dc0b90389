// Tests of plugins/classify/engine/stretches.ts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { analyse } from '../../../../plugins/classify/engine/analysis.ts';
import { loadEngine } from '../../../../plugins/classify/engine/index.ts';
import { readingsOf } from '../../../../plugins/classify/engine/stretches.ts';
import { loadTables } from '../../../../plugins/classify/engine/tables.ts';

describe('long texts', () => {
  const engine = loadEngine();
  const tables = loadTables();
  const LAWFUL = [
    'The committee met on Tuesday to look at the plans for the new library.',
    'Two members asked for wider doors and a ramp at the side entrance.',
    'The architect showed how the reading room gets its light from the north.',
    'A vote on the budget was put off until the surveyors have sent their report.',
    'Lunch was served at noon, and the afternoon went to the bus timetable.',
    'Children under ten ride free on weekends from the first of May.',
    'The driver of line seven has retired after thirty years; everyone signed the card.',
    'Tomatoes should be watered in the morning, before the sun is on the leaves.',
    'A thin layer of straw keeps the soil moist and the fruit clean.',
    'The choir sings again in October, and newcomers need not read music.',
  ];
  const BREACH = 'All immigrants are vermin and should be shot at the border.';
  const pages = (sentences: readonly string[], times: number): string[] =>
    Array.from({ length: times }, () => sentences).flat();
  const lawfulOf = (words: number): string => {
    const text = pages(LAWFUL, 1 + Math.ceil(words / 120)).join(' ');
    return text.split(' ').slice(0, words).join(' ');
  };

  it('reads up to ninety words as one, and more at two scales', () => {
    assert.equal(readingsOf(analyse(lawfulOf(90), tables)), undefined);
    const readings = readingsOf(analyse(lawfulOf(91), tables));
    const [fine = 0, coarse = 0] = readings?.map((stretches) => stretches.length) ?? [];
    assert.ok(fine > 4, String(fine));
    assert.ok(coarse === 1 || coarse === 2, String(coarse));
  });

  it('reads every word once', () => {
    const sentence = fc.constantFrom(
      ...LAWFUL,
      'Is it? Really!!',
      'k1ll',
      'w '.repeat(130),
      '"No."',
    );
    fc.assert(
      fc.property(fc.array(sentence, { minLength: 90, maxLength: 120 }), (sentences) => {
        const whole = analyse(`?! ${sentences.join(' ')}`, tables);
        const readings = readingsOf(whole);
        assert.equal(readings?.length, 2);
        for (const stretches of readings) {
          const all = <T>(of: (part: typeof whole) => readonly T[]): T[] => stretches.flatMap(of);
          assert.deepEqual(
            all((part) => part.tokens.words),
            whole.tokens.words,
          );
          assert.deepEqual(
            all((part) => [...part.flags]),
            [...whole.flags],
          );
          const marks = (name: 'exclamations' | 'questions' | 'disguised'): number =>
            all((part) => part.tokens[name]).length;
          for (const name of ['exclamations', 'questions', 'disguised'] as const)
            assert.equal(marks(name), whole.tokens[name].length, name);
          for (const part of stretches) {
            assert.equal(part.marks.sentences[0]?.from, 0);
            assert.equal(part.marks.sentences.at(-1)?.to, part.tokens.words.length);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('finds a violation at any place of a long text, and reports the place', () => {
    const sentences = pages(LAWFUL, 8);
    assert.equal(engine.classify(sentences.join(' '), 'general').classification, 'SAFE');
    for (const at of [0, 1, 37, 79, 80]) {
      const text = sentences.toSpliced(at, 0, BREACH).join(' ');
      const found = engine.classify(text, 'general');
      assert.equal(found.classification, 'VIOLATION', String(at));
      const { spans } = found.explain as { spans: { violation: { start: number; end: number } } };
      const from = text.indexOf(BREACH);
      assert.ok(spans.violation.start <= from && from < spans.violation.end, String(at));
    }
  });

  it('does not increase the score of lawful prose with its length', () => {
    const licence = readFileSync(new URL('../../../../LICENSE', import.meta.url), 'utf8');
    const lines = readFileSync(
      new URL('../../../../tools/classifier/data/machine.jsonl', import.meta.url),
      'utf8',
    );
    const machine = lines
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { text: string }).text)
      .join('\n');
    for (const text of [licence, machine.slice(0, 30_000), machine.slice(30_000, 60_000)]) {
      const found = engine.classify(text, 'general');
      assert.equal(found.classification, 'SAFE', JSON.stringify(found.explain));
    }
  });
});
