// The rules of each domain, from catalogs/classify/rules: texts of every domain are read with the general rules and those of
// crisis, all in one pass.
import { readCatalog } from '../../contract/index.ts';
import type { Lexicon } from './lexicon.ts';
import { Matcher } from './matcher.ts';
import { compile } from './patterns.ts';
import type { Pattern } from './patterns.ts';
import { RuleSet } from './rules.ts';
import type { RuleSource } from './rules.ts';
import type { Vocabulary } from './vocabulary.ts';

interface RuleFile {
  readonly domain: string;
  readonly rules: readonly RuleSource[];
}

/** The tables of rules and their patterns; a pattern is compiled once for all domains. */
interface CompiledRules {
  readonly sources: ReadonlyMap<string, readonly RuleSource[]>;
  readonly patterns: ReadonlyMap<string, Pattern>;
}

/** The offset of each table in each set of rules. */
export const GENERAL = 0;
export const OWN = 1;
export const CRISIS = 2;

/** Reads tables of rules, given by their names in catalogs/classify; their words become known to the vocabulary. */
export function compileRules(
  files: readonly string[],
  lexicon: Lexicon,
  vocabulary: Vocabulary,
): CompiledRules {
  const sources = new Map<string, readonly RuleSource[]>();
  const patterns = new Map<string, Pattern>();
  for (const file of files) {
    const { domain, rules } = readCatalog(`classify/${file}`) as unknown as RuleFile;
    sources.set(domain, rules);
    for (const { any, unless = [] } of rules) {
      for (const source of [...any, ...unless])
        if (!patterns.has(source)) patterns.set(source, compile(source, lexicon, vocabulary));
    }
  }
  return { sources, patterns };
}

/** The rules that each domain's texts are read with; to be made when every word is known. */
export function rulesByDomain(
  { sources, patterns }: CompiledRules,
  lexicon: Lexicon,
  vocabulary: Vocabulary,
  common: ReadonlySet<string>,
): Map<string, RuleSet> {
  const own = (domain: string): readonly RuleSource[] => {
    const found = sources.get(domain);
    if (found === undefined) throw new Error(`catalogs/classify/rules has no table of ${domain}`);
    return found;
  };
  const sets = new Map<string, RuleSet>();
  const matcher = new Matcher();
  for (const domain of sources.keys()) {
    if (domain === 'crisis') continue;
    const tables: (readonly RuleSource[])[] = [];
    tables[GENERAL] = own('general');
    tables[OWN] = domain === 'general' ? [] : own(domain);
    tables[CRISIS] = own('crisis');
    sets.set(domain, new RuleSet(tables, patterns, matcher, lexicon, vocabulary, common));
  }
  matcher.seal();
  return sets;
}
