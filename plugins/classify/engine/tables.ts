// Loads catalogs/classify and refuses a file whose SHA-256 is not the manifest's.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { catalogUrl, readCatalog, readCatalogBytes } from '../../contract/index.ts';
import type { Tables } from './analysis.ts';
import type { FeatureClasses } from './kinds.ts';
import { compileRules, rulesByDomain } from './domains.ts';
import { featureClassesOf } from './kinds.ts';
import { Languages } from './language.ts';
import type { LanguageTables } from './language.ts';
import { Lexicon } from './lexicon.ts';
import { Model } from './model.ts';
import type { ModelTable } from './model.ts';
import type { RuleSet } from './rules.ts';
import { compileScope } from './scope.ts';
import { Vocabulary } from './vocabulary.ts';

/** Everything a classification reads. */
export interface EngineTables extends Tables {
  readonly id: string;
  readonly version: string;
  readonly weights_sha256: string;
  readonly languages: Languages;
  /** For each domain the rules that its texts are read with: general ones, its own, those of crisis. */
  readonly rules: ReadonlyMap<string, RuleSet>;
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

const RULE_FILES = TABLE_FILES.filter((file) => file.startsWith('rules/'));
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
  // First, in their order: an id is a place in every table.
  for (const word of words) if (word !== '') vocabulary.add(word);
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
  const compiled = compileRules(RULE_FILES, lexicon, vocabulary);
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
    rules: rulesByDomain(compiled, lexicon, vocabulary, functionWords),
    model: new Model(weights, table, featureClasses, vocabulary.words),
    featureClasses,
  };
}

/** Hex SHA-256. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
