// What the classes of words are to scope and models: names of the lexicon, gathered under the bits of features.ts.
import {
  ADDRESSED,
  COARSE,
  CONTRAST,
  DISTRESS,
  FIRST,
  GROUP,
  HARSH,
  HOSTILE,
  KIND,
  NEGATOR,
  PERSON,
  PSEUDO,
  QUESTION,
  REQUEST,
  SLUR,
  TELLING,
  YOU,
} from './features.ts';
import type { FeatureClasses } from './features.ts';
import { hashWord } from './vocabulary.ts';
import type { Lexicon } from './lexicon.ts';

/** Classes that are features of the models by themselves. */
const TELLING_CLASSES = [
  'group',
  'slur',
  'slur_ambiguous',
  'subhuman',
  'bad',
  'hate',
  'kill_strong',
  'killed',
  'insult',
  'profanity',
  'praise',
  'good_word',
  'bad_word',
  'self_kill',
  'reject',
  'hire_act',
  'verdict',
  'condition',
  'hide_words',
  'shady_pay',
  'watcher',
  'prefer',
  'pgroup',
  'trait',
  'private_fact',
  'complain',
  'retaliate',
  'destroy',
  'record',
  'offbook',
  'evade',
  'quidpro',
  'preferred',
  'lawful',
  'ask_about',
  'pry',
  'secret',
  'voice',
  'reprisal',
  'fabricate',
  'unpaid',
  'shady',
  'weapon_make',
  'crime',
  'defend',
  'thing',
];

/** What the classes are to the models. */
const KINDS: readonly (readonly [number, readonly string[]])[] = [
  [GROUP, ['group']],
  [SLUR, ['slur']],
  [YOU, ['you']],
  [FIRST, ['first']],
  [HOSTILE, ['slur', 'subhuman', 'bad', 'hate', 'kill_strong', 'killed', 'insult', 'bad_word']],
  [KIND, ['praise', 'good_word']],
  [HARSH, ['slur', 'insult']],
  [COARSE, ['bad', 'profanity', 'slur_ambiguous']],
  [ADDRESSED, ['group', 'you']],
  [PERSON, ['aimed', 'group', 'you']],
  [
    DISTRESS,
    [
      'bad_word',
      'self_kill',
      'self_harm',
      'hopeless',
      'burden',
      'farewell',
      'die',
      'insult',
      'bad',
    ],
  ],
  [REQUEST, ['request_start']],
  [QUESTION, ['question_start']],
  [TELLING, TELLING_CLASSES],
  [NEGATOR, ['negator']],
  [PSEUDO, ['pseudo_negation']],
  [CONTRAST, ['contrast']],
];

/** More of them, in texts of a trade: elsewhere their words are too common to tell anything. */
const TRADE_CLASSES = ['adverse', 'mark', 'fair', 'worse_off', 'unseen', 'pressed', 'bend'];

/** The classes of a lexicon as features look at them. */
export function featureClassesOf(lexicon: Lexicon): FeatureClasses {
  const kinds = new Int32Array(lexicon.size);
  const mark = (kind: number, names: readonly string[]): void => {
    for (const name of names) {
      const cls = lexicon.known(name);
      kinds[cls] = (kinds[cls] ?? 0) | kind;
    }
  };
  for (const [kind, names] of KINDS) mark(kind, names);
  const ids = (names: readonly string[]): number[] => names.map((name) => lexicon.known(name));
  const telling = ids(TELLING_CLASSES);
  const hashes = Int32Array.from(lexicon.names, hashWord);
  return { kinds, hashes, telling, tellingTrade: [...telling, ...ids(TRADE_CLASSES)] };
}
