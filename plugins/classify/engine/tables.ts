// Loads catalogs/classify and refuses a file whose SHA-256 is not the manifest's.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { catalogUrl, readCatalog, readCatalogBytes } from '../../catalog.ts';
import type { Tables } from './analysis.ts';
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
import { Languages } from './language.ts';
import type { LanguageTables } from './language.ts';
import { Lexicon } from './lexicon.ts';
import { Model } from './model.ts';
import type { ModelTable } from './model.ts';
import { RuleSet } from './rules.ts';
import type { RuleSource } from './rules.ts';
import { compileScope } from './scope.ts';
import { Vocabulary } from './vocabulary.ts';

/** Everything a classification reads. */
export interface EngineTables extends Tables {
  readonly id: string;
  readonly version: string;
  readonly weights_sha256: string;
  readonly languages: Languages;
  readonly rules: ReadonlyMap<string, RuleSet>;
  readonly crisis: RuleSet;
  readonly model: Model;
  readonly featureClasses: FeatureClasses;
}

/** catalogs/classify/manifest.json. */
export interface Manifest {
  readonly id: string;
  readonly version: string;
  /** SHA-256 in hex of each file, by its path below catalogs/classify. */
  readonly files: Readonly<Record<string, string>>;
}

export const WEIGHTS = 'weights.bin';

/** The files that decide a classification, weights last. */
export const TABLE_FILES = [
  'confusables.json',
  'languages.json',
  'scope.json',
  'lexicon/general.json',
  'lexicon/crisis.json',
  'lexicon/work.json',
  'lexicon/hiring.json',
  'lexicon/valence.json',
  'lexicon/trades.json',
  'rules/general.json',
  'rules/hiring.json',
  'rules/insurance.json',
  'rules/lending.json',
  'rules/education.json',
  'rules/justice.json',
  'rules/critical_infrastructure.json',
  'rules/companion.json',
  'rules/animal_welfare.json',
  'rules/crisis.json',
  'vocabulary.txt',
  'model.json',
] as const;

const LEXICA = ['general', 'crisis', 'work', 'hiring', 'valence', 'trades'] as const;

/** Classes whose words are looked for inside misspelt and joined ones. */
const STRONG = [
  'group',
  'subhuman',
  'bad',
  'hate',
  'kill',
  'killed',
  'insult',
  'profanity',
  'self_kill',
] as const;

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

interface RuleFile {
  readonly domain: string;
  readonly rules: readonly RuleSource[];
}

/** Throws on the first file that is not what the manifest says. */
export function checkTables(manifest: Manifest): void {
  for (const file of [...TABLE_FILES, WEIGHTS]) {
    const found = sha256(readCatalogBytes(`classify/${file}`));
    const said = manifest.files[file] ?? 'nothing';
    if (found !== said) {
      throw new Error(`catalogs/classify/${file} has sha256 ${found}, the manifest says ${said}`);
    }
  }
}

/** Reads and checks every table. */
export function loadTables(): EngineTables {
  const manifest = readCatalog('classify/manifest.json') as unknown as Manifest;
  checkTables(manifest);
  const words = readFileSync(catalogUrl('classify/vocabulary.txt'), 'utf8').split('\n');
  const table = readCatalog('classify/model.json') as unknown as ModelTable;
  return buildTables(manifest, words, table, readCatalogBytes(`classify/${WEIGHTS}`));
}

/** Compiles the tables around given weights; the trainer uses it too. */
export function buildTables(
  manifest: Manifest,
  words: readonly string[],
  table: ModelTable,
  weights: Uint8Array,
): EngineTables {
  const languageTables = readCatalog('classify/languages.json') as unknown as LanguageTables & {
    readonly contractions: Readonly<Record<string, string>>;
  };
  const scopeTable = readCatalog('classify/scope.json') as unknown as {
    readonly reported: readonly string[];
  };
  const vocabulary = new Vocabulary(
    new Map(Object.entries(languageTables.contractions).map(([from, to]) => [from, to.split(' ')])),
  );
  const lexicon = new Lexicon(vocabulary);
  for (const name of LEXICA) {
    const { classes } = readCatalog(`classify/lexicon/${name}.json`) as {
      classes: Record<string, readonly string[]>;
    };
    for (const [cls, entries] of Object.entries(classes))
      for (const entry of entries) lexicon.add(cls, entry);
  }
  const functionWords = new Set(
    languageTables.supported.flatMap((code) => languageTables.words[code] ?? []),
  );
  for (const word of functionWords) vocabulary.add(word);
  const scope = compileScope(scopeTable.reported, lexicon, vocabulary);
  const rules = new Map<string, RuleSet>();
  let crisis: RuleSet | undefined;
  for (const file of TABLE_FILES) {
    if (!file.startsWith('rules/')) continue;
    const table = readCatalog(`classify/${file}`) as unknown as RuleFile;
    const set = new RuleSet(table.rules, lexicon, vocabulary, functionWords);
    if (table.domain === 'crisis') crisis = set;
    else rules.set(table.domain, set);
  }
  if (crisis === undefined)
    throw new Error('catalogs/classify/rules/crisis.json is not a table of crisis rules');
  for (const word of words) if (word !== '') vocabulary.add(word);
  const featureClasses = featureClassesOf(lexicon);
  lexicon.seal(featureClasses.kinds);
  if (words.length > 0) vocabulary.seal(STRONG.flatMap((name) => lexicon.wordsIn(name)));
  return {
    id: manifest.id,
    version: manifest.version,
    weights_sha256: sha256(weights),
    vocabulary,
    lexicon,
    scope,
    languages: new Languages(languageTables, vocabulary),
    rules,
    crisis,
    model: new Model(weights, table, featureClasses, vocabulary.words),
    featureClasses,
  };
}

function featureClassesOf(lexicon: Lexicon): FeatureClasses {
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
  return { kinds, telling, tellingTrade: [...telling, ...ids(TRADE_CLASSES)] };
}

/** Hex SHA-256. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
