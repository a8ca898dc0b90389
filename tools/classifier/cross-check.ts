// Runs whole engines over texts that their training left out: five folds of the public sets, and the fixed test splits.

import type { Engine } from '../../plugins/classify/engine/index.ts';
import type { Row } from './corpus.ts';
import {
  OPTIONS,
  THRESHOLDS,
  bareTables,
  engineWith,
  featuresOf,
  fit,
  vocabularyOf,
} from './fit.ts';
import type { Scored } from './measure.ts';
import { pronounTwin, withTwins } from './pronoun-twins.ts';

const FOLDS = 5;

/** Scores of held-out texts by set: HateCheck (folds of templates) and Surge (folds of texts). */
export function crossCheck(
  measured: readonly Row[],
  say: (line: string) => void,
): Map<string, Scored[]> {
  const rows = withTwins(measured);
  const words = vocabularyOf(rows, 2);
  const features = featuresOf(rows, bareTables(words), OPTIONS.bits);
  const scored = new Map<string, Scored[]>();
  for (let fold = 0; fold < FOLDS; fold++) {
    const learned = fit(
      rows,
      features,
      (row) => row.split === 'train' && row.fold !== fold,
      OPTIONS,
    );
    const { engine } = engineWith(words, learned, THRESHOLDS);
    for (const row of measured) {
      if (row.fold !== fold || row.split !== 'train') continue;
      put(scored, row.set, scoreViolation(engine, row));
    }
    say(`fold ${String(fold + 1)} of ${String(FOLDS)}`);
  }
  return scored;
}

/** Whether the engine says VIOLATION, and how sure it is. */
export function scoreViolation(engine: Engine, row: Row): Scored {
  const { violation_milli } = engine.classify(row.text, row.domain);
  return {
    score: violation_milli,
    positive: row.targets[0] === 1 || row.targets[1] === 1,
    caught: violation_milli >= 500,
    tag: row.tag,
  };
}

/** Whether the engine says CRISIS. */
export function scoreCrisis(engine: Engine, row: Row): Scored {
  const { classification, crisis_milli } = engine.classify(row.text, row.domain);
  return {
    score: crisis_milli,
    positive: row.targets[2] === 1,
    caught: classification === 'CRISIS',
    tag: row.tag,
  };
}

/** Whether the engine says anything but SAFE. */
export function scoreAlarm(engine: Engine, row: Row): Scored {
  const { classification, violation_milli, crisis_milli } = engine.classify(row.text, row.domain);
  return {
    score: Math.max(violation_milli, crisis_milli),
    positive: row.targets.some((target) => target === 1),
    caught: classification !== 'SAFE',
    tag: row.tag,
  };
}

function put(scored: Map<string, Scored[]>, set: string, one: Scored): void {
  const list = scored.get(set);
  if (list === undefined) scored.set(set, [one]);
  else list.push(one);
}

/** How often the same texts alarm when they are about a woman and when about a man. */
export interface Pronouns {
  readonly texts: number;
  readonly alarms_she: number;
  readonly alarms_he: number;
  /** Mean of the score of hers less the score of his, in thousandths. */
  readonly difference_milli: number;
}

/** Reads each text that is about one of them as it is and with the other. */
export function pronounFigures(engine: Engine, rows: readonly Row[]): Pronouns {
  const has = (text: string, words: RegExp): boolean => words.test(text);
  const pairs = rows.flatMap((row) => {
    const [she, he] = [
      has(row.text, /\b(?:she|her|hers)\b/i),
      has(row.text, /\b(?:he|him|his)\b/i),
    ];
    const twin = she === he ? null : pronounTwin(row.text);
    if (twin === null) return [];
    const [own, other] = [scoreAlarm(engine, row), scoreAlarm(engine, { ...row, text: twin })];
    return [she ? { she: own, he: other } : { she: other, he: own }];
  });
  const sum = pairs.reduce((all, { she, he }) => all + she.score - he.score, 0);
  return {
    texts: pairs.length,
    alarms_she: pairs.filter(({ she }) => she.caught).length,
    alarms_he: pairs.filter(({ he }) => he.caught).length,
    difference_milli: Math.round(sum / pairs.length),
  };
}
