// What the classes of words are to scope and models: names of the lexicon, gathered under the bits below.
import { hashWord } from './vocabulary.ts';
import type { Lexicon } from './lexicon.ts';

/** What a class is to the models; a class may be several. */
export const GROUP = 1;
export const SLUR = 2;
export const YOU = 4;
export const FIRST = 8;
/** Hostile and kind words. The shape of a sentence is whom it names, and the words next to the name. */
export const HOSTILE = 16;
export const KIND = 32;
/** Words that are an attack by themselves; without one the model must be surer. */
export const HARSH = 64;
/** Coarse words: harsh where a person is meant. */
export const COARSE = 128;
/** Words for those spoken to, and for protected groups: in short texts only these make a coarse word harsh. */
export const ADDRESSED = 256;
/** Words for any person. */
export const PERSON = 512;
/** Words of distress; without one the crisis model must be surer. */
export const DISTRESS = 1024;
/** Words that begin a question or an order to an assistant. */
export const REQUEST = 2048;
/** Words that begin a question to be answered with yes or no. */
export const QUESTION = 4096;
/** Classes whose presence is a feature in itself. */
export const TELLING = 8192;

/** Words that deny, that only look so, and that end a denial: for scope. */
export const NEGATOR = 16384;
export const PSEUDO = 32768;
export const CONTRAST = 65536;

/** The classes as features look at them. */
export interface FeatureClasses {
  /** For each class id, what it is, and `hashWord` of its name: what is learnt of a class may not hang on its place in the tables. */
  readonly kinds: Int32Array;
  readonly hashes: Int32Array;
  /** The ids of the telling classes, in the order of their pairs. */
  readonly telling: readonly number[];
  /** The same in texts of a trade. */
  readonly tellingTrade: readonly number[];
}

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
