// AIR exports against a kit: what a record says is what its entry says, chain and signatures hold, and a session is
// whole. behaviour.md §12.3, §12.4; domain-standards.md §2.1.

import { createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { canonical, decodeSign1, fromBase64, native, toBeSigned, toHex } from '../../log/index.ts';
import type { Json, JsonObject, Link } from '../../log/index.ts';
import { verifyAbsence, verifyCheckpoint, verifyReceipt } from '../../log/verify.ts';
import type { Question, Trust } from '../../log/verify.ts';
import { airKey, exportFault, singleFault } from '../../gateway/static/verify/export-members.ts';
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
import { list, objectOf, text } from './reading.ts';

const ZERO = '0'.repeat(64);

/** A record beside the exact text of its entry. */
interface Item {
  readonly record: JsonObject;
  readonly entry: string;
}

/** Checks the export of one entry. */
export function checkAir(document: JsonObject, trust: Trust, kit: JsonObject): Outcome {
  const lines = new Lines();
  const item = itemOf(document);
  lines.run('receipt', () => {
    const receipt = document['receipt'] ?? null;
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
  recordLines(lines, item, trust, kit);
  lines.run('export', () => {
    const fault = singleFault(document, objectOf(item.entry), trust, kit);
    if (fault !== null) throw refused(fault);
    return 'its log, its entry and its key are those that were checked';
  });
  let bytes: Uint8Array = new Uint8Array();
  lines.run('cose_signature', () => {
    bytes = fromBase64(text(document['cose_sign1_b64']) ?? '');
    return checkStatement(bytes, item, trust, kit);
  });
  lines.run('cose_receipt', () => {
    const [receipt] = receiptsIn(decodeSign1(bytes));
    if (receipt === undefined) throw refused('there is no receipt in label 394');
    const leaf = Buffer.from(sha256('\0', item.entry), 'hex');
    const { index, size } = checkCoseReceipt(receipt, leaf, kit, trust.origin);
    return `entry ${String(index)} of ${String(size)}`;
  });
  lines.run('cose_view', () => {
    if (isDeepStrictEqual(coseView(bytes), document['cose'])) return 'shows the bytes';
    throw refused('the JSON view differs from the bytes');
  });
  lines.run('chain', () => ({
    not_shown: 'records before this one are in the export of its session',
  }));
  return lines.outcome('the record says what the log signed, and is signed itself');
}

/** Checks the export of a session: every record, their chain, and that none is left out. */
export function checkAirSession(document: JsonObject, trust: Trust, kit: JsonObject): Outcome {
  const lines = new Lines();
  const items = list(document['records']).map(itemOf);
  const key = ['session', text(document['session_ref']) ?? ''] as const;
  lines.run('completeness', () => {
    const count = closingCount(document['completeness_proof'] ?? null, key, trust);
    if (count === items.length && document['count'] === count) {
      return `${String(count)} entries, as the chain of the session has under the checkpoint`;
    }
    throw refused(`the chain has ${String(count)} entries, ${String(items.length)} are shown`);
  });
  lines.run('export', () => {
    const fault = exportFault(document, trust, kit);
    if (fault !== null) throw refused(fault);
    const { checkpoint } = objectOf(document['completeness_proof'] ?? null);
    if (document['checkpoint'] !== checkpoint) throw refused('checkpoint is not that of the proof');
    const { size } = verifyCheckpoint(text(checkpoint) ?? '', trust, { suite: native });
    if (document['size'] !== size) throw refused('size is not that of the checkpoint');
    if (document['agent_id'] !== `session:${key[1]}`) {
      throw refused('agent_id is not that of the session');
    }
    return 'its log, its checkpoint and its key are those that were checked';
  });
  let prev = ZERO;
  for (const [i, item] of items.entries()) {
    const one = new Lines();
    recordLines(one, item, trust, kit);
    one.run('chain', () => {
      const { integrity, agent_id } = item.record;
      const { prev_chain_hash, chain_hash, sequence_number } = objectOf(integrity ?? null);
      const links = (objectOf(item.entry)['links'] ?? []) as unknown as readonly Link[];
      const link = links.find(({ key: [kind, name] }) => kind === 'session' && name === key[1]);
      if (link?.seq !== i || sequence_number !== i || agent_id !== `session:${key[1]}`) {
        throw refused('the entry does not stand here in the session');
      }
      if (prev_chain_hash !== prev) throw refused('the hash before it is another');
      prev = text(chain_hash) ?? ZERO;
      return '';
    });
    const bad = one.all.find(({ outcome }) => outcome === 'failed');
    if (bad !== undefined) {
      lines.all.push({ ...bad, detail: `record ${String(i)}: ${bad.detail}` });
      return lines.outcome('');
    }
  }
  if (items.length > 0) {
    lines.run('records', () => `${String(items.length)}: entry, record, hashes, signature, chain`);
  }
  // A ref that names a chain is plain text: the proof would not hold otherwise.
  const summary = `all ${String(items.length)} records of session ${key[1]}, chained and signed`;
  return lines.outcome(summary, { session_ref: key[1], records: items.length });
}

const itemOf = (value: JsonObject): Item => ({
  record: objectOf(value['record'] ?? null),
  entry: text(value['entry']) ?? '',
});

/** What one record rests on. */
function recordLines(lines: Lines, { record, entry }: Item, trust: Trust, kit: JsonObject): void {
  const { integrity, ...content } = record;
  const { content_hash, prev_chain_hash, chain_hash, sequence_number, signature } = objectOf(
    integrity ?? null,
  );
  const signed = lines.run('entry', () => {
    const statement = checkEntry(entry, trust);
    return `the log signed ${statement['entry_id'] as string}`;
  });
  // What follows is of the form that a signed entry has.
  if (!signed) return;
  const made = lines.run('record', () => {
    const statement = objectOf(entry);
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

/** How many entries the session's chain has by its closing document, after the document's own check. */
function closingCount(document: Json, key: readonly [string, string], trust: Trust): number {
  const { question, proof } = objectOf(document);
  const { from_ms, to_ms } = objectOf(question ?? null);
  if (typeof from_ms !== 'number' || from_ms !== to_ms) {
    throw refused('the document does not close the chain at one moment');
  }
  const asked: Question = { key, from_ms, to_ms };
  verifyAbsence(document, asked, trust, { suite: native });
  const { type, head, successor } = objectOf(proof ?? null);
  if (type === 'never') return 0;
  if (type === 'tail') return objectOf(head ?? null)['count'] as number;
  const { links } = objectOf(objectOf(successor ?? null)['entry'] ?? null);
  const link = (links as unknown as readonly Link[]).find(
    ({ key: [kind, name] }) => kind === key[0] && name === key[1],
  );
  if (link === undefined) throw refused('the closing entry is not of this session');
  return link.seq;
}
