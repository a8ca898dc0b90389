// statement → entry → receipt. log/FORMAT.md §2; RFC 8785. The statement's text is what is signed, the
// entry's text is the same with `signature` in its sorted place: both come from one list of members.

import { createHmac, hash } from 'node:crypto';
import { lp, toHex } from '../encoding/bytes.ts';
import { canonical, memberName } from '../encoding/canonical.ts';
import { native, randomPiece } from '../crypto/native.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import { leafHash } from '../merkle/hash.ts';
import { FORBIDDEN_MEMBERS } from '../rules/declaration.ts';
import type { Appended, Disclosure, Link } from '../types.ts';

/** The largest entry, in bytes (C2SP tlog-tiles: a u16 length in the bundle). */
export const MAX_ENTRY_BYTES = 65_535;

/** The text of a statement, and its two parts before and behind `signature` in an entry; neither is empty. */
export interface StatementText {
  readonly text: string;
  readonly head: string;
  readonly tail: string;
}

const scalar = (value: Json): string | null => {
  // Most members are of these kinds; the library gives the same bytes for them, but is slower.
  if (typeof value === 'number' && Number.isSafeInteger(value) && !Object.is(value, -0))
    return String(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value === 'string' && value.isWellFormed()) return JSON.stringify(value);
  return null;
};

/** The member `links` in canonical form: its members are known and already in canonical order. */
function linksText(links: readonly Link[]): string {
  const texts = links.map(({ key, prev_index, prev_ms, seq }) => {
    const parts = key.map((part) => scalar(part) ?? canonical(part)).join(',');
    return `{"key":[${parts}],"prev_index":${String(prev_index)},"prev_ms":${String(prev_ms)},"seq":${String(seq)}}`;
  });
  return `[${texts.join(',')}]`;
}

/**
 * Canonical text of a statement; throws `entry_invalid` for a member that only receipts have. `links` are the links of
 * the statement, if the caller made them.
 */
export function statementText(statement: JsonObject, links?: readonly Link[]): StatementText {
  let head = '';
  let tail = '';
  for (const name of Object.keys(statement).sort()) {
    if (FORBIDDEN_MEMBERS.has(name)) {
      throw new LogError('entry_invalid', `a statement has no member ${name}`);
    }
    const value = statement[name] as Json;
    const own = links !== undefined && name === 'links' ? linksText(links) : scalar(value);
    const member = memberName(name) + (own ?? canonical(value));
    // entry_id is before signature and type is after it, so both parts have a member.
    if (name < 'signature') head += head === '' ? `{${member}` : `,${member}`;
    else tail += `,${member}`;
  }
  const text = `${head}${tail}}`;
  // Slices of the joined text: a slice of a V8 rope would walk its pieces at each use.
  return { text, head: text.slice(0, head.length), tail: text.slice(head.length) };
}

/** The bytes that the receipt key signs. */
export const signedBytes = ({ text }: StatementText): Buffer => Buffer.from(text);

/** The entry: JCS of the statement with its signature (base64 of 64 bytes). */
export const entryText = ({ head, tail }: StatementText, signature: string): string =>
  `${head},"signature":"${signature}"${tail}`;

const SALT_BYTES = 16;

/** A commitment to a value and what opens it: SHA-256(salt[16] ‖ JCS(value)). */
export function commit(value: Json): { commitment: string; disclosure: Disclosure } {
  const salt = randomPiece(SALT_BYTES);
  const commitment = hash('sha256', Buffer.concat([salt, Buffer.from(canonical(value))]), 'hex');
  return { commitment, disclosure: { salt: salt.toString('hex'), value } };
}

const NOTHING = new Uint8Array(0);

/** base64url(HMAC-SHA-256(tenant key, lp(origin) ‖ lp("session") ‖ lp(session_id))) (log/FORMAT.md §4). */
export function sessionRef(tenantKey: Uint8Array, origin: string, sessionId: string): string {
  const named = lp(NOTHING, origin, 'session', sessionId);
  return createHmac('sha256', tenantKey).update(named).digest('base64url');
}

/** Hex of the SHA-256 of a tenant key, as `log.tenant.v1` has it. */
export const tenantKeyHash = (key: Uint8Array): string => hash('sha256', key, 'hex');

const SIGNATURE_PREFIX = Buffer.from(',"signature":"');
const SIGNATURE_END = 0x22; // "

/**
 * The bytes of an entry and their leaf hash, out of the bytes that were signed: `text` says where the signature
 * (base64 of 64 bytes) goes in. One buffer, with the RFC 6962 prefix before the entry.
 */
export function entryBytesOf(
  { head, tail }: StatementText,
  signed: Uint8Array,
  signature: string,
): { bytes: Buffer; leaf_hash: Buffer } {
  const more = SIGNATURE_PREFIX.length + signature.length + 1;
  const tagged = Buffer.allocUnsafe(1 + signed.length + more);
  const ascii = head.length + tail.length === signed.length;
  const cut = ascii ? head.length : Buffer.byteLength(head);
  tagged[0] = 0;
  tagged.set(signed.subarray(0, cut), 1);
  let at = 1 + cut;
  tagged.set(SIGNATURE_PREFIX, at);
  at += SIGNATURE_PREFIX.length;
  at += tagged.write(signature, at, 'latin1');
  tagged[at] = SIGNATURE_END;
  tagged.set(signed.subarray(cut), at + 1);
  return { bytes: tagged.subarray(1), leaf_hash: hash('sha256', tagged, 'buffer') };
}

/** The leaf hash of an entry, by the suite of the server. */
export const leafHashOf = (entry: Uint8Array): Uint8Array => leafHash(native, entry);

/** An entry's text: the text itself, the statement and the signature. Throws `store_corrupt` if it is not an entry. */
export function readEntry(text: string): {
  entry: JsonObject;
  statement: JsonObject;
  signature: string;
} {
  let entry: JsonObject;
  try {
    entry = JSON.parse(text) as JsonObject;
  } catch (cause) {
    throw new LogError('store_corrupt', 'an entry is not JSON', { cause });
  }
  const { signature, ...statement } = entry;
  if (typeof signature !== 'string')
    throw new LogError('store_corrupt', 'an entry has no signature');
  return { entry, statement, signature };
}

/** Replaces a disclosure whose text was destroyed. */
export interface Erased {
  readonly erased: true;
  readonly erased_at_ms: number;
  /** The entry that records the erasure. */
  readonly erasure_entry_id: string;
}

/** The links in receipts, which lead to pages of one service. */
export interface ReceiptLinks {
  readonly base_url: string;
  readonly sandbox: boolean;
}

/** The place of an entry, as its receipt states it. */
export interface ReceiptPlace extends Pick<Appended, 'leaf_hash' | 'entry_id' | 'index'> {
  readonly origin: string;
}

/** The members of a receipt that no signature covers (gateway/API.md §1.1), in their order. */
export function derivedMembers(
  { leaf_hash, entry_id, index, origin }: ReceiptPlace,
  { base_url, sandbox }: ReceiptLinks,
  disclosures?: Readonly<Record<string, Disclosure | Erased>>,
): JsonObject {
  const opened = disclosures !== undefined && Object.keys(disclosures).length > 0;
  return {
    entry_hash: toHex(leaf_hash),
    permalink: `${base_url}/r/${entry_id}${sandbox ? '?log=sandbox' : ''}`,
    verify_url: `${base_url}/verify?entry_id=${entry_id}${sandbox ? '&log=sandbox' : ''}`,
    ...(opened ? { disclosures: disclosures as unknown as JsonObject } : {}),
    log: { origin, index },
  };
}

/**
 * The receipt of an entry (gateway/API.md §1.1): the statement and its signature, then the derived members.
 * Pass `disclosures` only if the caller may see them.
 */
export function receiptOf(
  entry: Pick<Appended, 'statement' | 'signature' | 'leaf_hash' | 'entry_id' | 'index'>,
  links: ReceiptLinks,
  disclosures?: Readonly<Record<string, Disclosure | Erased>>,
): JsonObject {
  const { statement, signature, leaf_hash, entry_id, index } = entry;
  const place = { leaf_hash, entry_id, index, origin: statement['origin'] as string };
  // Assigned member by member: spreading two objects into one is eight times as slow.
  return Object.assign({ ...statement }, { signature }, derivedMembers(place, links, disclosures));
}
