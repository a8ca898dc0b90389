// What an absence document denies, and whether that takes in the entry of a receipt. log/FORMAT.md §6.

import { canonical, isJsonObject } from '../../log/index.ts';
import type { ChainKey, Json, JsonObject } from '../../log/index.ts';
import { chainKeys, sameKey } from '../../log/operate.ts';
import type { Question } from '../../log/verify.ts';

/** The entry that a receipt is of. */
export interface Shown {
  readonly index: number;
  /** Log time. */
  readonly ms: number;
  readonly statement: JsonObject;
  /** The signed text, which is what the tree has. */
  readonly text: string;
}

/** The entry of a receipt whose signature and hash were checked. */
export function entryOf(receipt: JsonObject, statement: JsonObject): Shown {
  const { signature = null } = receipt;
  return {
    index: statement['index'] as number,
    ms: statement['issued_at_ms'] as number,
    statement,
    text: canonical({ ...statement, signature }),
  };
}

/** The question of a document that holds, where all of this has its form. */
export const questionOf = (document: JsonObject): Question =>
  document['question'] as unknown as Question;

/** Why a document that holds does not deny that the entry is there; null when it denies it. */
export function whyNotDenied(document: JsonObject, entry: Shown): string | null {
  const { key, from_ms, to_ms } = questionOf(document);
  if (!standsOn(entry.statement, key)) {
    return `the entry is not on the chain ${JSON.stringify(key)} that the document speaks of`;
  }
  if (entry.ms < from_ms || entry.ms > to_ms) {
    const window = `${String(from_ms)} to ${String(to_ms)}`;
    return `the entry is of ${String(entry.ms)}, and the document speaks of ${window}`;
  }
  if (document['verdict'] !== 'PRESENT') return null;
  if (openedIn(document).some(({ entry: text }) => text === entry.text)) {
    return 'the document shows the entry itself';
  }
  if (document['more'] === true && entry.index >= nextOf(document)) {
    return 'the document is one page of several, and the entry would be on a later one';
  }
  return null;
}

/** An opened entry of the document with the index of ours and another text: two entries of one place. */
export function rivalOf(document: JsonObject, entry: Shown): JsonObject | null {
  const all = [document['map_head'] ?? null, successorOf(document), ...openedIn(document)];
  const rival = all.find((opened) => isJsonObject(opened) && opened['index'] === entry.index);
  return isJsonObject(rival ?? null) && (rival as JsonObject)['entry'] !== entry.text
    ? (rival as JsonObject)
    : null;
}

/** By its links, or by the members that must have given it one. */
function standsOn(statement: JsonObject, key: ChainKey): boolean {
  const { links } = statement;
  const linked = (Array.isArray(links) ? (links as readonly Json[]) : []).some(
    (link) =>
      isJsonObject(link) && Array.isArray(link['key']) && sameKey(link['key'] as ChainKey, key),
  );
  return linked || chainKeys(statement, []).some((own) => sameKey(own, key));
}

const openedIn = (document: JsonObject): readonly JsonObject[] =>
  (document['entries'] ?? []) as readonly JsonObject[];

const successorOf = (document: JsonObject): Json =>
  (document['proof'] as JsonObject)['successor'] ?? null;

/** Of a page with more behind it: the index of the entry that the next one begins with. */
const nextOf = (document: JsonObject): number =>
  (successorOf(document) as JsonObject)['index'] as number;
