// What a monitor finds: a broken rule with the objects that show it. log/FORMAT.md §7

import { isUtf8 } from 'node:buffer';
import { toBase64, toHex } from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import type { Rule } from '../../log/operate.ts';

/** The rules of a replay, and those that show only between reads, between logs and on the clock. */
export type FindingRule =
  | Rule
  | 'checkpoint_form' // signed by the log, but not three lines of origin, size and root
  | 'checkpoint_size' // signed for no entries at all
  | 'checkpoint_ml_dsa' // the line of its ML-DSA-44 key is not valid, or required and missing
  | 'two_roots' // two notes of one size
  | 'inconsistent' // a note that is not consistent with an earlier one
  | 'two_entries' // two signed entries of one index
  | 'entry_not_included' // an entry is served that the checkpoint does not commit to
  | 'tile_wrong' // a hash tile is not that of the entries
  | 'tile_missing' // a tile or bundle that the checkpoint implies is not served
  | 'two_logs' // a log takes entries although its successor has opened
  | 'carried' // an entry was carried over from an entry that is not there
  | 'key_shared' // one key for two purposes, or for live and sandbox
  | 'map_head_future'
  | 'checkpoint_late'
  | 'merge_delay';

/** An entry as it is shown; its bytes are in base64 if they are not UTF-8. */
export interface ShownEntry {
  readonly index: number;
  readonly entry?: string;
  readonly entry_base64?: string;
  /** Hex, for an entry whose bytes were withheld. */
  readonly leaf_hash?: string;
  /** Inclusion path (RFC 9162 §2.1.3) under a note; missing where the log does not commit to the entry. */
  readonly path?: readonly string[];
  /** Which of the notes the path leads to; the last one when it is missing. */
  readonly note?: number;
}

/** What the tree of one note had at an older size, with the path that proves it. */
export interface Prefix {
  readonly from: number;
  readonly to: number;
  /** Base64. */
  readonly from_root: string;
  /** RFC 9162 §2.1.4, base64. */
  readonly path: readonly string[];
}

/** A hash tile that was served, beside the one that the entries give; base64. */
export interface WrongTile {
  readonly path: string;
  readonly served: string;
  readonly expected: string;
}

/** What shows a finding to others. */
export interface Evidence {
  /** Signed notes, the older one first. */
  readonly notes: readonly string[];
  /** The verifier key of each note, where they are of several logs. */
  readonly vkeys?: readonly string[];
  readonly entries: readonly ShownEntry[];
  /** The root that the tree of the last note had at the size of the first. */
  readonly consistency?: Prefix;
  readonly tile?: WrongTile;
  /** What the service did not hand out when the evidence was gathered. */
  readonly withheld?: readonly string[];
  /** Our clock, where it matters. */
  readonly clock_ms?: number;
}

const BRAND = Symbol.for('actlog.Finding');

/** A broken rule. */
export class Finding extends Error {
  override readonly name = 'Finding';
  readonly [BRAND] = true;
  readonly rule: FindingRule;
  /**
   * `signed`: the log's own signatures prove it to anybody. `observed`: it is what this monitor was
   * given, and when; another party cannot check that.
   */
  readonly proof: 'signed' | 'observed';
  readonly evidence: Evidence;

  constructor(rule: FindingRule, detail: string, proof: 'signed' | 'observed', evidence: Evidence) {
    super(detail);
    this.rule = rule;
    this.proof = proof;
    this.evidence = evidence;
  }
}

/** Whether a thrown value is a `Finding`. */
export const isFinding = (thrown: unknown): thrown is Finding =>
  thrown instanceof Error && BRAND in thrown;

/** An entry for a finding: as text where its bytes are UTF-8, so that its hash can always be computed. */
export function shownEntry(
  index: number,
  bytes: Uint8Array,
  path?: readonly Uint8Array[],
): ShownEntry {
  const own = isUtf8(bytes)
    ? { entry: Buffer.from(bytes).toString('utf8') }
    : { entry_base64: toBase64(bytes) };
  return { index, ...own, ...(path === undefined ? {} : { path: path.map(base64) }) };
}

/** An entry that is no longer served: the hash that the tree has at its index. */
export function hiddenEntry(
  index: number,
  leafHash: Uint8Array,
  path: readonly Uint8Array[],
): ShownEntry {
  return { index, leaf_hash: toHex(leafHash), path: path.map(base64) };
}

/** The file that a finding is kept in. */
export function findingDocument(
  { rule, message, proof, evidence }: Finding,
  log: { readonly origin: string; readonly vkey: string },
  found_at_ms: number,
): JsonObject {
  return {
    schema: 'actlog-violation-v1',
    ...log,
    rule,
    detail: message,
    proof,
    found_at_ms,
    ...(evidence as unknown as JsonObject),
  };
}

const base64 = (hash: Uint8Array): string => toBase64(hash);
