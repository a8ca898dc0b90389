// The AIR export of an entry against a kit: what the record says is what its entry says, and it is signed.
// gateway/API.md §12.3; VERIDIC Evidence Envelope v0.1.

import { createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { canonical, decodeSign1, fromBase64, native, toBeSigned, toHex } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import { verifyReceipt } from '../../log/verify.ts';
import type { Trust } from '../../log/verify.ts';
import { airKey, singleFault } from '../../gateway/static/verify/export-members.ts';
import { readCatalog } from '../../plugins/index.ts';
import { agentOf, airRecord, chainHash, coseView } from '../../plugins/exports/index.ts';
import type { AirMapping } from '../../plugins/exports/index.ts';
import type { Outcome } from './check.ts';
import {
  checkCoseReceipt,
  checkEntry,
  checkSigned,
  purposeKeys,
  receiptsIn,
  sha256,
} from './cose.ts';
import { Lines, refused } from './lines.ts';
import { objectOf, text } from './reading.ts';

/** What the first record of a chain has before it. */
export const ZERO = '0'.repeat(64);

/** A record beside the exact text of its entry. */
export interface Item {
  readonly record: JsonObject;
  readonly entry: string;
}

/** Checks the export of one entry. */
export function checkAir(document: JsonObject, trust: Trust, kit: JsonObject): Outcome {
  const lines = new Lines();
  const item = itemOf(document);
  const receipt = document['receipt'] ?? null;
  const received = lines.run('receipt', () => {
    const { valid, checks, statement, size } = verifyReceipt(receipt, trust, { suite: native });
    const bad = checks.find(({ outcome }) => outcome === 'failed');
    if (!valid) throw refused(`${bad?.name ?? ''}: ${bad?.detail ?? ''}`);
    const { signature, ...said } = objectOf(item.entry);
    if (!isDeepStrictEqual(said, statement) || signature !== objectOf(receipt)['signature']) {
      throw refused('the receipt is of another entry');
    }
    return size === undefined
      ? { not_shown: 'no proof' }
      : `in the tree of ${String(size)} entries`;
  });
  // With the place that the receipt shows: an entry of before its key was revoked holds by that.
  const place = received ? objectOf(receipt)['log'] : undefined;
  recordLines(lines, item, () => checkEntry(item.entry, trust, place), trust, kit);
  lines.run('export', () => {
    const fault = singleFault(document, objectOf(item.entry), trust, kit);
    if (fault !== null) throw refused(fault);
    return 'its log, its entry and its key are those that were checked';
  });
  const bytes = coseLines(lines, document['cose_sign1_b64'], item, trust, kit);
  lines.run('cose_view', () => {
    if (isDeepStrictEqual(coseView(bytes), document['cose'])) return 'shows the bytes';
    throw refused('the JSON view differs from the bytes');
  });
  lines.run('chain', () => ({
    not_shown: 'records before this one are in the export of its session',
  }));
  return lines.outcome('the record says what the log signed, and is signed itself');
}

/** The record and the entry of an export, or of one item of a session's. */
export const itemOf = (value: JsonObject): Item => ({
  record: objectOf(value['record'] ?? null),
  entry: text(value['entry']) ?? '',
});

/** What one record rests on; `signed` gives the statement of its entry, or throws unless the log signed it. */
export function recordLines(
  lines: Lines,
  { record, entry }: Item,
  signed: () => JsonObject,
  trust: Trust,
  kit: JsonObject,
): void {
  const { integrity, ...content } = record;
  const { content_hash, prev_chain_hash, chain_hash, sequence_number, signature } = objectOf(
    integrity ?? null,
  );
  const statement = lines.take('entry', () => {
    const said = signed();
    return [`the log signed ${said['entry_id'] as string}`, said];
  });
  // What follows is of the form that a signed entry has.
  if (statement === undefined) return;
  const made = lines.run('record', () => {
    const issuer = {
      operator_pubkey_id: text(record['operator_pubkey_id']) ?? '',
      jurisdiction: text(record['jurisdiction']) ?? '',
    };
    const mapping = readCatalog('air.json') as unknown as AirMapping;
    const again = airRecord({ statement, entry_hash: sha256('\0', entry) }, issuer, mapping);
    if (!isDeepStrictEqual(again, content)) throw refused('the record is not what the entry says');
    if (agentOf(statement).sequence_number !== sequence_number) {
      throw refused('the sequence number is not that of the entry');
    }
    return 'made again from the entry';
  });
  if (!made) return;
  lines.run('content_hash', () => {
    if (sha256(canonical(content)) === content_hash) return 'of the record without integrity';
    throw refused('content_hash is of another record');
  });
  lines.run('chain_hash', () => {
    const hash = (value: Json | undefined): Buffer => Buffer.from(text(value) ?? '', 'hex');
    const before = hash(prev_chain_hash);
    if (before.length !== 32 || (sequence_number === 0 && prev_chain_hash !== ZERO)) {
      throw refused('prev_chain_hash is not that of its place');
    }
    const time = record['action_timestamp_ms'] as number;
    const agent = text(record['agent_id']) ?? '';
    const hashed = chainHash(hash(content_hash), before, time, agent);
    if (toHex(hashed) === chain_hash) return 'of content, place and time';
    throw refused('chain_hash is another');
  });
  lines.run('air_signature', () => {
    const message = Buffer.from(text(chain_hash) ?? '', 'hex');
    const bytes = Buffer.from(text(signature) ?? '', 'base64');
    const jwk = airKey(kit, record['operator_pubkey_id'], trust.origin);
    if (jwk === undefined) throw refused('operator_pubkey_id is no AIR key of the kit');
    const how = { key: keyOfJwk(jwk), dsaEncoding: 'ieee-p1363' } as const;
    const exact = bytes.toString('base64') === signature;
    if (exact && verify('sha256', message, how, bytes)) return 'ES256 over the chain hash';
    throw refused('the signature over the chain hash does not hold');
  });
}

function keyOfJwk({ kty, crv, x, y }: JsonObject): KeyObject {
  try {
    return createPublicKey({ key: { kty, crv, x, y } as never, format: 'jwk' });
  } catch {
    throw refused('the AIR key of the kit is none');
  }
}

/**
 * The signed statement of a record and the receipt in it, under a tree of this size where one is given. Answers with
 * the statement's bytes, none when it is no base64.
 */
export function coseLines(
  lines: Lines,
  shown: Json | undefined,
  item: Item,
  trust: Trust,
  kit: JsonObject,
  treeSize?: number,
): Uint8Array {
  let bytes: Uint8Array = new Uint8Array();
  lines.run('cose_signature', () => {
    bytes = fromBase64(text(shown) ?? '');
    return checkStatement(bytes, item, trust, kit);
  });
  lines.run('cose_receipt', () => {
    const [receipt] = receiptsIn(decodeSign1(bytes));
    if (receipt === undefined) throw refused('there is no receipt in label 394');
    const leaf = Buffer.from(sha256('\0', item.entry), 'hex');
    const { index, size } = checkCoseReceipt(receipt, leaf, kit, trust.origin);
    if (size !== (treeSize ?? size)) throw refused('the receipt is of another checkpoint');
    return `entry ${String(index)} of ${String(size)}`;
  });
  return bytes;
}

function checkStatement(
  bytes: Uint8Array,
  { record }: Item,
  trust: Trust,
  kit: JsonObject,
): string {
  const message = decodeSign1(bytes);
  const { integrity, ...content } = record;
  const { payload } = message;
  if (payload === null || Buffer.from(payload).toString('utf8') !== canonical(content)) {
    throw refused('the payload is not the record');
  }
  const hashes = objectOf(integrity ?? null);
  for (const name of ['content_hash', 'prev_chain_hash', 'chain_hash']) {
    const value = message.protected.get(name);
    if (!(value instanceof Uint8Array) || toHex(value) !== hashes[name]) {
      throw refused(`${name} of the protected header is not that of the record`);
    }
  }
  if (message.protected.get('sequence_number') !== hashes['sequence_number']) {
    throw refused('sequence_number of the protected header is not that of the record');
  }
  const signed = toBeSigned(message.protectedBytes, payload);
  checkSigned(message, purposeKeys(kit, 'air', trust.origin), signed);
  return 'ES256 by an AIR key of the kit';
}
