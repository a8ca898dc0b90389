// Findings, the results of checking a document, and verifiers, which make them. Both are the same for every type of
// document.
//
// A verifier is a pure function of the document, the trust and the question. `actlog verify`, the page /verify and
// callers of `actlog/verify` display its findings, and make no decision themselves.

import { portable } from '../crypto/portable.ts';
import type { Suite } from '../crypto/suite.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { isLogError, LogError } from '../errors.ts';
import { checkInclusion, stepsOfInclusion } from '../merkle/check.ts';
import { fromBase64, toHex } from '../encoding/bytes.ts';
import { EMPTY_ROOT, leafOf, nodeHash } from '../merkle/hash.ts';
import type { Question } from './document.ts';
import type { Trust } from './trust.ts';

/** Limit on the bytes of a document: more than a full page of the largest entries. */
export const MAX_BYTES = 24 * 1024 * 1024;

/** The outcome of one check. `not_shown`: the document lacks what the check needs. */
export interface Line {
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'not_shown';
  readonly detail: string;
}

/** The inclusion path from a leaf to the root, for display. Hashes are in hex. */
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

/** A point on the timeline of an absence document. */
export interface Moment {
  readonly ms: number;
  readonly kind: 'opens' | 'closes' | 'entry' | 'as_of';
  readonly label: string;
  /** The index of the entry, if the point is one. */
  readonly index?: number;
}

/** The result of checking a document. */
export interface Finding {
  readonly valid: boolean;
  /**
   * Set together with `valid: false` if the kit is too old to decide, and no check shows that the document is wrong.
   */
  readonly untold?: true;
  /** Set for a document of a sandbox log, which proves nothing about real decisions (gateway/API.md §3.3). */
  readonly sandbox?: true;
  /** The verdict of an absence document; else `VALID` or `INVALID`. */
  readonly verdict: string;
  /** One sentence without its period: what the document proves, or what is wrong with it. */
  readonly summary: string;
  readonly checks: readonly Line[];
  /** Further members of the JSON output of `actlog verify`. */
  readonly facts: JsonObject;
  /** What a valid document does not prove. */
  readonly not_proven: readonly string[];
  readonly way?: Way;
  readonly moments?: readonly Moment[];
  /** The signed statement of the entry; only if the document is valid. */
  readonly statement?: JsonObject;
  /** The checkpoint that the check used, so that the reader can compare it with one that was seen before. */
  readonly seen?: { readonly origin: string; readonly note: string; readonly size: number };
}

/** What the caller gives in addition to the document and the trust. */
export interface Asked {
  /** Default: `portable`. */
  readonly suite?: Suite;
  /** The kit. AIR exports and COSE messages are checked with its keys of other purposes than receipts. */
  readonly kit?: JsonObject;
  /** The question that an absence document must answer. */
  readonly question?: Question;
  /** A receipt, or the exact text of an entry, for a document that proves only the inclusion of an entry. */
  readonly receipt?: string;
  /** A C2SP tlog-proof that came beside a receipt. */
  readonly tlogProof?: string;
}

/** A recognised document: JSON, its text if the exact text matters, or the bytes of a COSE message. */
export interface Shown {
  readonly kind: string;
  readonly document: Json | Uint8Array;
  readonly tlogProof?: string;
  /** The names of the members of the answer around the document, which nothing checks. */
  readonly beside?: readonly string[];
}

/** Checks one type of document. */
export interface Verifier {
  /** Its name in the JSON output of `actlog verify`. */
  readonly kind: string;
  /** The name of the document type for people, such as `a receipt`. */
  readonly title: string;
  /** The values of the member `schema` of the JSON documents that it checks. */
  readonly schemas?: readonly string[];
  /** The part of an answer that is checked, in words. Default: `its receipt`. */
  readonly part?: string;
  /**
   * Finds the document of this type in a JSON object whose schema no verifier lists; null if there is none. `text` is
   * the exact text of the object.
   *
   * @throws Unanswerable if the document is of this type, but incomplete
   */
  recognise?(value: JsonObject, text: string): Shown | null;
  /** The origin that a document claims, by which the log of the kit is chosen; null if it claims none. */
  originOf(document: Shown['document']): string | null;
  /**
   * Checks a document with the trusted keys of one log.
   *
   * @throws Unanswerable if the caller must give more
   */
  check(document: Shown['document'], trust: Trust, asked: Asked): Finding | Promise<Finding>;
}

const BRAND = Symbol.for('actlog.Unanswerable');

/**
 * Thrown for a document that cannot be checked, or not with the arguments of the caller. It is neither valid nor
 * invalid.
 */
export class Unanswerable extends Error {
  override readonly name = 'Unanswerable';
  readonly [BRAND] = true;
  /** The argument that the caller must add, if that would help. */
  readonly needs: 'question' | 'entry' | null;

  constructor(message: string, needs: Unanswerable['needs'] = null) {
    super(message);
    this.needs = needs;
  }
}

/** Whether a thrown value is an Unanswerable, of this copy of the package or of another one. */
export const isUnanswerable = (thrown: unknown): thrown is Unanswerable =>
  thrown instanceof Error && BRAND in thrown;

/** Ends a check with the reason why it fails. */
export function refuse(message: string): never {
  throw new LogError('document_invalid', message);
}

/** Statements that no document of the log proves. */
export const NOT_PROVEN = [
  'That what a caller told the service is true: the log keeps what was said, when and in which order.',
  'That the log shows everybody the same tree. Witnesses and what your browser saw before speak about that.',
] as const;

/** The result of a check that did not fail: its detail, or what the document does not show. */
type Detail = string | { readonly not_shown: string };

/** Runs checks one after the other and keeps every outcome, including those after a failed check. */
export class Lines {
  readonly all: Line[] = [];

  /** Runs one check and records its outcome. Returns false if it failed. */
  async run(name: string, check: () => Detail | Promise<Detail>): Promise<boolean> {
    try {
      const detail = await check();
      if (typeof detail === 'string') this.all.push({ name, outcome: 'ok', detail });
      else this.all.push({ name, outcome: 'not_shown', detail: detail.not_shown });
      return true;
    } catch (error) {
      if (!isLogError(error)) throw error;
      this.all.push({ name, outcome: 'failed', detail: error.message });
      return false;
    }
  }

  /** Runs one check that returns its detail and a value. Returns the value; undefined if the check failed. */
  async take<T>(
    name: string,
    check: () => readonly [Detail, T] | Promise<readonly [Detail, T]>,
  ): Promise<T | undefined> {
    let taken: T | undefined;
    await this.run(name, async () => {
      const [detail, value] = await check();
      taken = value;
      return detail;
    });
    return taken;
  }

  /** The finding, with this summary if no check failed. */
  finding(summary: string, found: Partial<Finding> = {}): Finding {
    return findingOf(this.all, summary, found);
  }
}

/** The finding of these checks. `summary` and `found` are used if none of them failed. */
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

/** The finding of a single check. If the check throws a LogError, its message is the summary. */
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
    if (!isLogError(error)) throw error;
    const finding = findingOf([{ name, outcome: 'failed', detail: error.message }], '');
    return { ...finding, summary: error.message };
  }
}

/** The end of the detail of a check that failed because the kit does not have the key of the entry. */
const UNKNOWN_KEY = 'kid is not a trusted receipt key';

/**
 * Why failed checks do not show that a document is wrong; null if they do. A key that the kit does not have may belong
 * to a forger, or to the log if it is newer than the kit. The verifier cannot distinguish the two.
 */
export function untold(checks: readonly Line[]): string | null {
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  const unknown = failed.some(({ detail }) => detail.endsWith(UNKNOWN_KEY));
  // Checks that need a valid receipt fail together with it.
  const only = failed.every(
    ({ detail }) => detail.endsWith(UNKNOWN_KEY) || detail.startsWith('without a good receipt'),
  );
  return unknown && only ? 'a key that is younger than the kit needs a newer kit' : null;
}

/** The inclusion path of a leaf, for display. Throws if the claim is malformed; the root is not compared. */
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
 * Checks that a leaf is in a tree other than the log's, such as the tree of a clearing slot.
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

/** The caller's suite; `portable` by default. */
export const suiteOf = ({ suite }: Asked): Suite => suite ?? portable;

/** The leaf hash of an entry's text, 32 bytes. */
export const leafHashOf = (suite: Suite, entry: string): Uint8Array => suite.sha256(leafOf(entry));

/** The value as an object; an empty object for any other value. */
export const objectOf = (value: Json | Uint8Array | undefined): JsonObject =>
  value !== undefined && !(value instanceof Uint8Array) && isJsonObject(value) ? value : {};

/** A document, given as text or parsed, as an object; an empty object for any other value. Throws `json_invalid`. */
export const parsedOf = (value: Json | Uint8Array | undefined): JsonObject =>
  typeof value === 'string' ? objectOf(parseDocument(value)) : objectOf(value);

/** A disclosed value may have 16 levels. It is three levels deep in a receipt, which is a member of an answer. */
const MAX_DEPTH = 16 + 4;

/** Parses JSON with the limits and rules for receipts. Throws `json_invalid`. */
export const parseDocument = (text: string): Json =>
  parseJson(text, { fractions: true, maxBytes: MAX_BYTES, maxDepth: MAX_DEPTH });

/** The value if it is a string; an empty string for any other value. */
export const textOf = (value: Json | Uint8Array | undefined): string =>
  typeof value === 'string' ? value : '';

/** The objects in a list; none for a value that is not a list. */
export const objectsOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : [];

/** The first line of a note, which is the origin that it claims; null for a value that is not a string. */
export const originOfNote = (note: Json | Uint8Array | undefined): string | null =>
  typeof note === 'string' ? (note.split('\n', 1)[0] ?? null) : null;

/** A member that is a string; null if it is missing or has another type. */
export const memberOf = (value: JsonObject, name: string): string | null => {
  const member = value[name];
  return typeof member === 'string' ? member : null;
};
