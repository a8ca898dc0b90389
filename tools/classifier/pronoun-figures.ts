// Whether the classifier says the same of a woman and of a man, measured on texts that it has not learnt from.
import type { Engine } from '../../plugins/classify/engine/index.ts';
import type { Row } from './corpus.ts';
import { scoreAlarm } from './cross-check.ts';
import { pronounTwin } from './pronoun-twins.ts';

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
