// What a check of a document comes to, in one shape for every document type, and what a verifier of a type is.
//
// A verifier is a pure function of the document, the trust and the question. `actlog verify`, the page /verify and
// callers of `actlog/verify` print its findings; none of them decides anything.

import { portable } from '../crypto/portable.ts';
import type { Suite } from '../crypto/suite.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { LogError } from '../errors.ts';
import { checkInclusion, stepsOfInclusion } from '../merkle/check.ts';
import { fromBase64, toHex } from '../encoding/bytes.ts';
import { EMPTY_ROOT, leafOf, nodeHash } from '../merkle/hash.ts';
import type { Question } from './document.ts';
import type { Trust } from './trust.ts';

/** Most bytes of a document: a full page of the largest entries, and room for the rest. */
export const MAX_BYTES = 24 * 1024 * 1024;

/** One check: it holds, it fails, or the document does not show it. */
export interface Line {
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'not_shown';
  readonly detail: string;
}

/** The way from a leaf to the root, each hash in hex. */
export interface Way {
  readonly index: number;
  readonly size: number;
  readonly leaf: string;
  readonly steps: readonly {
    readonly sibling: string;
    readonly left: boolean;
    readonly node: string;
  }[];
}

/** One time that an absence document is about. */
export interface Moment {
  readonly ms: number;
  readonly kind: 'opens' | 'closes' | 'entry' | 'as_of';
  readonly label: string;
  /** The entry of this time, where there is one. */
  readonly index?: number;
}

/** What a check came to. */
export interface Finding {
  readonly valid: boolean;
  /** Beside `valid: false` where nothing is known to be wrong, and the kit is too small to tell. */
  readonly untold?: true;
  /** The verdict of an absence document; else `VALID` or `INVALID`. */
  readonly verdict: string;
  /** One sentence without its period: what is shown, or what is wrong. */
  readonly summary: string;
  readonly checks: readonly Line[];
  /** Further members of the JSON output of `actlog verify`. */
  readonly facts: JsonObject;
  /** What is not proven even though the document holds. */
  readonly not_proven: readonly string[];
  readonly way?: Way;
  readonly moments?: readonly Moment[];
  /** What the log signed; only in a valid finding. */
  readonly statement?: JsonObject;
  /** The checkpoint of the check, to compare with one that the reader has seen before. */
  readonly seen?: { readonly origin: string; readonly note: string; readonly size: number };
}

/** What the caller brings beside the document and the trust. */
export interface Asked {
  /** `portable` unless given. */
  readonly suite?: Suite;
  /** The kit, whose keys of other purposes AIR exports and COSE messages are checked with. */
  readonly kit?: JsonObject;
  /** The question that an absence document must answer. */
  readonly question?: Question;
  /** A receipt, or the exact text of an entry, for a document that proves a place only. */
  readonly receipt?: string;
  /** A C2SP tlog-proof that came beside a receipt. */
  readonly tlogProof?: string;
}

/** A document as recognised: JSON, its text where the exact text counts, or bytes of COSE. */
export interface Shown {
  readonly kind: string;
  readonly document: Json | Uint8Array;
  readonly tlogProof?: string;
  /** Members of the answer around the document, which nothing checks. */
  readonly beside?: readonly string[];
}

/** Checks one type of document. */
export interface Verifier {
  /** Its name in the JSON output of `actlog verify`. */
  readonly kind: string;
  /** What people call the document, such as `a receipt`. */
  readonly title: string;
  /** Values of `schema` of the JSON documents that it checks. */
  readonly schemas?: readonly string[];
  /** What of an answer around the document is checked, in words. */
  readonly part?: string;
  /**
   * The document in a JSON object that no `schemas` names; null when there is none. `text` is the object as it came.
   *
   * @throws Unanswerable for what is of this type and incomplete
   */
  recognise?(value: JsonObject, text: string): Shown | null;
  /** The origin that a document claims, to choose the log of the kit; null when it claims none. */
  originOf(document: Shown['document']): string | null;
  /**
   * Checks a document against one log that is trusted.
   *
   * @throws Unanswerable when the caller has to bring more
   */
  check(document: Shown['document'], trust: Trust, asked: Asked): Finding | Promise<Finding>;
}

/** Nothing that can be checked, or not with what the caller brought: neither valid nor invalid. */
export class Unanswerable extends Error {
  override readonly name = 'Unanswerable';
  /** What the caller could bring. */
  readonly needs: 'question' | 'entry' | null;

  constructor(message: string, needs: Unanswerable['needs'] = null) {
    super(message);
    this.needs = needs;
  }
}

/** Ends a check with the reason why it fails. */
export function refuse(message: string): never {
  throw new LogError('document_invalid', message);
}

/** What no document of the log proves. */
export const NOT_PROVEN = [
  'That what a caller told the service is true: the log keeps what was said, when and in which order.',
  'That the log shows everybody the same tree. Witnesses and what your browser saw before speak about that.',
] as const;

/** What came of one check: its detail, or that the document does not show it. */
type Told = string | { readonly not_shown: string };

/** Runs checks one after the other and keeps what came of each, also of those after one that failed. */
export class Lines {
  readonly all: Line[] = [];

  /** Notes one check; false when it failed. */
  async run(name: string, check: () => Told | Promise<Told>): Promise<boolean> {
    try {
      const told = await check();
      if (typeof told === 'string') this.all.push({ name, outcome: 'ok', detail: told });
      else this.all.push({ name, outcome: 'not_shown', detail: told.not_shown });
      return true;
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      this.all.push({ name, outcome: 'failed', detail: error.message });
      return false;
    }
  }

  /** Notes one check that also has a value, after its detail; undefined when it failed. */
  async take<T>(
    name: string,
    check: () => readonly [Told, T] | Promise<readonly [Told, T]>,
  ): Promise<T | undefined> {
    let taken: T | undefined;
    await this.run(name, async () => {
      const [told, value] = await check();
      taken = value;
      return told;
    });
    return taken;
  }

  /** The finding, with this sentence when nothing failed. */
  finding(summary: string, found: Partial<Finding> = {}): Finding {
    return findingOf(this.all, summary, found);
  }
}

/** The finding of these checks: `summary` and `found` hold when none of them failed. */
export function findingOf(
  checks: readonly Line[],
  summary: string,
  found: Partial<Finding> = {},
): Finding {
  const { facts = {}, not_proven = NOT_PROVEN } = found;
  const bad = checks.find(({ outcome }) => outcome === 'failed');
  if (bad === undefined) {
    return { valid: true, verdict: 'VALID', summary, ...found, checks, facts, not_proven };
  }
  const said = `${bad.name.replaceAll('_', ' ')} failed: ${bad.detail}`;
  return { valid: false, verdict: 'INVALID', summary: said, checks, facts, not_proven: [] };
}

/** The finding of one check that throws for what does not hold; the reason is its summary. */
export async function single(
  name: string,
  run: () =>
    | (Partial<Finding> & { readonly detail: string; readonly summary: string })
    | Promise<Partial<Finding> & { readonly detail: string; readonly summary: string }>,
): Promise<Finding> {
  try {
    const { detail, summary, checks = [], ...found } = await run();
    return findingOf([{ name, outcome: 'ok', detail }, ...checks], summary, found);
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    const finding = findingOf([{ name, outcome: 'failed', detail: error.message }], '');
    return { ...finding, summary: error.message };
  }
}

/** What a check says of an entry whose key the kit does not have. */
const STRANGE = 'kid is not a trusted receipt key';

/**
 * Why an invalid finding tells nothing; null where something does not hold. A key that the kit does not have may be a
 * forger's, or the log's own and younger than the kit: both look the same.
 */
export function untold(checks: readonly Line[]): string | null {
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  const strange = failed.some(({ detail }) => detail.endsWith(STRANGE));
  // What rests on the receipt fails with it.
  const only = failed.every(
    ({ detail }) => detail.endsWith(STRANGE) || detail.startsWith('without a good receipt'),
  );
  return strange && only ? 'a key that is younger than the kit needs a newer kit' : null;
}

/** The way of a leaf to the root of a tree, for pictures; the inclusion is checked. */
export function wayOf(
  suite: Suite,
  claim: {
    readonly index: number;
    readonly size: number;
    readonly leafHash: Uint8Array;
    readonly path: readonly Uint8Array[];
  },
): Way {
  const steps = stepsOfInclusion(suite, claim).map(({ sibling, left, node }) => ({
    sibling: toHex(sibling),
    left,
    node: toHex(node),
  }));
  return { index: claim.index, size: claim.size, leaf: toHex(claim.leafHash), steps };
}

/**
 * Checks that a leaf is in a tree of its own, such as the slot of a clearing week.
 *
 * @throws LogError `proof_invalid`, `encoding_invalid`
 */
export function checkLeaf(
  suite: Suite,
  claim: {
    readonly index: number;
    readonly size: number;
    readonly leaf: string;
    readonly path: readonly Json[];
    readonly root: Uint8Array;
  },
): void {
  const path = claim.path.map((hash) => fromBase64(textOf(hash), 32));
  checkInclusion(suite, { ...claim, path, leafHash: suite.sha256(leafOf(claim.leaf)) });
}

/** The RFC 6962 root of a tree of these leaf hashes. */
export function rootOfLeaves(suite: Suite, leaves: readonly Uint8Array[]): Uint8Array {
  let level = leaves;
  while (level.length > 1) {
    const below = level;
    level = below.flatMap((left, i) => {
      if (i % 2 === 1) return [];
      const right = below[i + 1];
      return [right === undefined ? left : nodeHash(suite, left, right)];
    });
  }
  return level[0] ?? EMPTY_ROOT;
}

/** The suite that the caller asks for. */
export const suiteOf = ({ suite }: Asked): Suite => suite ?? portable;

/** SHA-256 of the leaf of an entry's text, 32 bytes. */
export const leafHashOf = (suite: Suite, entry: string): Uint8Array => suite.sha256(leafOf(entry));

/** The value as an object; empty when it is none. */
export const objectOf = (value: Json | Uint8Array | undefined): JsonObject =>
  value !== undefined && !(value instanceof Uint8Array) && isJsonObject(value) ? value : {};

/** A document, or the text of one, as an object; empty when it is none. Throws `json_invalid` for no JSON. */
export const parsedOf = (value: Json | Uint8Array | undefined): JsonObject =>
  typeof value === 'string' ? objectOf(parseDocument(value)) : objectOf(value);

/** An answer holds a receipt, in which a disclosed value of 16 levels is three levels deep (gateway/API.md §2.6). */
const MAX_DEPTH = 16 + 4;

/** The JSON of a text, read as strictly as receipts are; `json_invalid`. */
export const parseDocument = (text: string): Json =>
  parseJson(text, { fractions: true, maxBytes: MAX_BYTES, maxDepth: MAX_DEPTH });

/** The value when it is a text, else the empty text. */
export const textOf = (value: Json | Uint8Array | undefined): string =>
  typeof value === 'string' ? value : '';

/** The objects of a list; none when it is no list. */
export const objectsOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : [];

/** The first line of a note, which is the origin that it claims; null of no text. */
export const originOfNote = (note: Json | Uint8Array | undefined): string | null =>
  typeof note === 'string' ? (note.split('\n', 1)[0] ?? null) : null;

/** A member that is a text; null where it is none. */
export const memberOf = (value: JsonObject, name: string): string | null => {
  const member = value[name];
  return typeof member === 'string' ? member : null;
};
