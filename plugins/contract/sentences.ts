// Sentences: the meaning of an entry in one English sentence, derived only from its signed members. Receipt pages and
// the log browser show it (gateway/API.md §1.1; plugins/GUIDE.md, Entry types).

import { builtinSentence, MAX_SENTENCE, shortName } from '../../log/index.ts';
import type { EntryType as LoggedType, JsonObject } from '../../log/index.ts';
import { usdText } from './decimal.ts';

export { plural, MAX_SENTENCE, shortName, utcOf } from '../../log/index.ts';

/** Describes an entry in one English sentence of at most 200 characters that ends in a full stop. */
export type Sentence = (statement: JsonObject) => string;

/** An entry type of a plugin: its declaration in the log, its projection to rows, and its sentence. */
export interface EntryType extends LoggedType {
  /**
   * A pure function, made by `sentenceOf`. The sentence claims only what the entry proves: what the service did, or
   * that a tenant stated something, but not that the tenant's statement is true. It cannot show values behind
   * commitments.
   */
  readonly sentence: Sentence;
  /** Why the outcome of an entry is what it is: clauses for its page, such as `the hold expired`. Pure. */
  readonly reasons?: Reasons;
}

/** The reasons of an entry's outcome in words, derived only from its statement. */
export type Reasons = (statement: JsonObject) => readonly string[];

/** An entry type that a host accepts. One without a sentence gets a general one, made of `type` and `entity`. */
export type AnyEntryType = LoggedType & Partial<Pick<EntryType, 'sentence' | 'reasons'>>;

/** Reserved members of a statement (log/FORMAT.md §3.1). */
interface Reserved {
  readonly entity?: string;
  readonly surface?: string;
}

/** Types a sentence by the members of its entry type: `sentenceOf<Static<typeof NoteMembers>>(({ topic }) => …)`. */
export const sentenceOf =
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- only the caller knows the members
  <Members>(write: (statement: Members & Reserved) => string): Sentence =>
    (statement) =>
      write(statement as unknown as Members & Reserved); // the schema of the type admitted it

/** ` of entity acme on surface policy_bind`, or the part of it that the statement has. */
export function ofEntity({ entity, surface }: Reserved): string {
  const on = surface === undefined ? '' : ` on surface ${shortName(surface)}`;
  return entity === undefined ? on : ` of entity ${shortName(entity)}${on}`;
}

/** Lists one or two words, or two and the number of the others: `a`, `a and b`, `a, b and 3 more`. */
export function listed(words: readonly string[]): string {
  const [first = '', second] = words;
  if (second === undefined) return first;
  return words.length === 2
    ? `${first} and ${second}`
    : `${first}, ${second} and ${words.length - 2} more`;
}

/** Formats micro-USD as `12.5 USD`. */
export const usdOf = (micro_usd: number | string): string => `${usdText(BigInt(micro_usd))} USD`;

/** The sentences of these types. An entry whose sentence throws or breaks the rules gets the general one. */
export function sentencesOf(types: readonly AnyEntryType[]): Sentence {
  const byName = new Map(types.map(({ name, sentence }) => [name, sentence]));
  return (statement) => {
    const sentence = byName.get(statement['type'] as string);
    try {
      const text = builtinSentence(statement) ?? sentence?.(statement);
      if (isSentence(text)) return text;
    } catch {
      // A defect in a plugin's sentence must not break the receipt page.
    }
    return generalSentence(statement);
  };
}

/** The reasons of entries of these types; none for an entry whose type has none, or whose function throws. */
export function reasonsOf(types: readonly AnyEntryType[]): Reasons {
  const byName = new Map(types.map(({ name, reasons }) => [name, reasons]));
  return (statement) => {
    try {
      const reasons = byName.get(statement['type'] as string)?.(statement) ?? [];
      return reasons.every((reason) => reason.length <= MAX_SENTENCE) ? reasons : [];
    } catch {
      // As above.
      return [];
    }
  };
}

/** Whether a plugin's sentence follows the rules. */
const isSentence = (text: unknown): text is string =>
  typeof text === 'string' && text.length > 1 && text.length <= MAX_SENTENCE && text.endsWith('.');

function generalSentence(statement: JsonObject): string {
  const type = shortName(statement['type'] as string, 64);
  return `An entry of the type ${type}${ofEntity(statement)} was logged.`;
}
