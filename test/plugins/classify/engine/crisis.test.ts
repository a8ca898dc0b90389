// The language packs of the crisis rules, each against its own texts in tools/classifier/data/crisis.jsonl.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { loadEngine } from '../../../../plugins/classify/engine/index.ts';

interface Line {
  readonly text: string;
  readonly language: string;
  readonly label: 'CRISIS' | 'SAFE';
  readonly split: 'train' | 'test';
}

const linesOf = (file: string): Line[] =>
  readFileSync(new URL(`../../../../tools/classifier/data/${file}`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

const lines = linesOf('crisis.jsonl');

describe('crisis language packs', () => {
  const engine = loadEngine();
  for (const language of ['en', 'es', 'de', 'fr']) {
    it(`${language}: finds nine of ten and guards four of five`, () => {
      const own = lines.filter((line) => line.language === language);
      const caught = (label: string): number[] => {
        const chosen = own.filter((line) => line.label === label);
        const hits = chosen.filter(
          ({ text }) => engine.classify(text, 'general').classification === 'CRISIS',
        );
        return [hits.length, chosen.length];
      };
      const [found = 0, crises = 0] = caught('CRISIS');
      const [alarms = 0, calm = 0] = caught('SAFE');
      assert.ok(crises >= 14 && calm >= 10);
      assert.ok(found >= 0.9 * crises, `${String(found)} of ${String(crises)}`);
      assert.ok(alarms <= 0.2 * calm, `${String(alarms)} of ${String(calm)}`);
    });
  }

  it('does not alarm for idioms, denials, third persons and fiction', () => {
    for (const text of [
      'How do I kill a child process?',
      'I would never kill myself.',
      'My friend said she wants to kill herself, how can I help her?',
      'In my novel the hero says "I want to die" and leaves.',
      'This traffic is killing me.',
    ]) {
      assert.notEqual(engine.classify(text, 'general').classification, 'CRISIS', text);
    }
  });

  it('finds requests about methods, means, concealment and encouragement, and accepts similar lawful ones', () => {
    const requests = linesOf('harm-requests.jsonl');
    const caught = (split: string, label: string): number[] => {
      const chosen = requests.filter((line) => line.split === split && line.label === label);
      const hits = chosen.filter(
        ({ text }) => engine.classify(text, 'general').classification === 'CRISIS',
      );
      return [hits.length / chosen.length, chosen.length];
    };
    for (const [split, least] of [
      ['train', 0.9],
      ['test', 0.75],
    ] as const) {
      const [found = 0, asked = 0] = caught(split, 'CRISIS');
      const [alarms = 1, calm = 0] = caught(split, 'SAFE');
      assert.ok(asked === 60 && calm >= 40);
      assert.ok(found >= least, `${split}: ${String(found)}`);
      assert.ok(alarms <= 0.05, `${split}: ${String(alarms)}`);
    }
  });
});
