// The verifiers of AIR exports of one entry and of a session. They check that each record follows from its entry, that
// it is signed, and that no record of the session is missing. gateway/API.md §12.3, §12.4; VERIDIC Evidence Envelope
// v0.1. Runs in browsers; the mapping of catalogs/air.json is therefore bundled.

import mapping from '../../catalogs/air.json' with { type: 'json' };
import {
  checkCoseReceipt,
  checkSigned,
  COSE_NOT_PROVEN,
  decodeSign1,
  kitKey,
  publicJwk,
  receiptsIn,
  toBeSigned,
  verifyES256,
} from '../../log/cose/portable.ts';
import type { P256Jwk } from '../../log/cose/portable.ts';
import {
  canonical,
  fromBase64,
  fromHex,
  fromUtf8,
  heldEntry,
  heldReceipt,
  isLogError,
  leafHashOf,
  Lines,
  memberOf,
  objectOf,
  objectsOf,
  openEntry,
  parsedOf,
  refuse,
  suiteOf,
  textOf,
  toBase64,
  toHex,
  utf8,
  verifyAbsence,
  verifyCheckpoint,
} from '../../log/verify.ts';
import type {
  Asked,
  Finding,
  Json,
  JsonObject,
  Line,
  Question,
  Suite,
  TreeHead,
  Trust,
  Verifier,
  Way,
} from '../../log/verify.ts';
import { agentOf, airRecord, chainInput } from './air/mapping.ts';
import { coseView } from './air/view.ts';

const SPEC = 'air-1.0';
/** The required members of an export's key. */
const KEY_MEMBERS = ['kid', 'kty', 'crv', 'x', 'y', 'alg', 'use'];
/** The previous chain hash of the first record of a chain. */
const ZERO = '0'.repeat(64);
/** The proof members of a record, if the export was made with `proofs=true`. */
const PROOFS = ['inclusion_proof', 'cose_sign1_b64'];

/** Verifies the export of one entry. */
export const airVerifier: Verifier = {
  kind: 'air',
  title: 'an AIR export',
  schemas: ['svc-air-export-v1'],
  originOf: (document) => memberOf(objectOf(document), 'origin'),
  check: (document, trust, asked) => checkAir(objectOf(document), trust, asked),
};

/** Verifies the export of a session. */
export const airSessionVerifier: Verifier = {
  kind: 'air_session',
  title: 'the AIR export of a session',
  schemas: ['svc-air-session-v1'],
  originOf: (document) => memberOf(objectOf(document), 'origin'),
  check: (document, trust, asked) => checkSession(objectOf(document), trust, asked),
};

/** A record and the exact text of its entry. */
interface Item {
  readonly record: JsonObject;
  readonly entry: string;
}

const itemOf = (value: JsonObject): Item => ({
  record: objectOf(value.record),
  entry: textOf(value.entry),
});

async function checkAir(document: JsonObject, trust: Trust, asked: Asked): Promise<Finding> {
  const lines = new Lines();
  const item = itemOf(document);
  const receipt = objectOf(document.receipt);
  const held = await lines.take('receipt', () => {
    const { statement, size } = heldReceipt(receipt, trust, asked);
    const { signature, ...said } = parsedOf(item.entry);
    if (!same(said, statement) || signature !== receipt.signature) {
      return refuse('the receipt is of another entry');
    }
    const place = size === undefined ? { not_shown: 'no proof' } : inTree(size);
    return [place, statement];
  });
  // The place in the receipt shows whether the entry was signed before its key was revoked.
  const place = held === undefined ? undefined : receipt.log;
  await recordLines(lines, item, () => heldEntry(item.entry, trust, asked, place), trust, asked);
  await lines.run('export', () => {
    checkMembers(document, trust, asked);
    const { entry_id } = parsedOf(item.entry);
    if (document.entry_id !== entry_id) return refuse('entry_id is that of another entry');
    if (objectOf(document.key).kid !== item.record.operator_pubkey_id) {
      return refuse('key is not that of the record');
    }
    return 'origin, entry and key equal those that were checked';
  });
  const { bytes, way } = await coseLines(lines, document.cose_sign1_b64, item, trust, asked);
  await lines.run('cose_view', () =>
    same(coseView(bytes), document.cose)
      ? 'shows the bytes'
      : refuse('the JSON view differs from the bytes'),
  );
  await lines.run('chain', () => ({
    not_shown: 'the records before this one are in the export of the session',
  }));
  return lines.finding('the record follows from the signed entry, and its own signature is valid', {
    not_proven: COSE_NOT_PROVEN,
    ...(held === undefined ? {} : { statement: held }),
    ...(way === undefined ? {} : { way }),
  });
}

const inTree = (size: number): string => `in the tree of ${String(size)} entries`;

/** Checks that origin, spec and key of an export are those of the trusted log and kit. */
function checkMembers(document: JsonObject, trust: Trust, asked: Asked): void {
  if (document.origin !== trust.origin) refuse('origin is that of another log');
  if (document.spec !== SPEC) refuse(`spec is not ${SPEC}`);
  const key = objectOf(document.key);
  const jwk = kitKey(asked, 'air', memberOf(key, 'kid'), trust.origin);
  if (jwk === undefined) return refuse('key is not an AIR key of the kit');
  const names = [...KEY_MEMBERS, ...Object.keys(key)];
  if (!names.every((name) => key[name] !== undefined && key[name] === jwk[name])) {
    refuse('key is not the AIR key of the kit with its kid');
  }
}

/** Checks one record. `signed` returns the statement of its entry, or throws if the log did not sign it. */
async function recordLines(
  lines: Lines,
  { record, entry }: Item,
  signed: () => JsonObject,
  trust: Trust,
  asked: Asked,
): Promise<void> {
  const suite = suiteOf(asked);
  const { integrity, ...content } = record;
  const { content_hash, prev_chain_hash, chain_hash, sequence_number, signature } =
    objectOf(integrity);
  const statement = await lines.take('entry', () => {
    const said = signed();
    return [`the log signed ${textOf(said.entry_id)}`, said];
  });
  // From here on the entry is known to be signed, so its form is valid.
  if (statement === undefined) return;
  const made = await lines.run('record', () => {
    const issuer = {
      operator_pubkey_id: textOf(record.operator_pubkey_id),
      jurisdiction: textOf(record.jurisdiction),
    };
    const entry_hash = toHex(leafHashOf(suite, entry));
    if (!same(airRecord({ statement, entry_hash }, issuer, mapping), content)) {
      return refuse('the record does not follow from the entry');
    }
    return agentOf(statement).sequence_number === sequence_number
      ? 'made again from the entry'
      : refuse('the sequence number is not that of the entry');
  });
  if (!made) return;
  await lines.run('content_hash', () =>
    sha256(suite, canonical(content)) === content_hash
      ? 'of the record without integrity'
      : refuse('content_hash is of another record'),
  );
  await lines.run('chain_hash', () => {
    const before = hashOf(prev_chain_hash);
    if (before === null || (sequence_number === 0 && prev_chain_hash !== ZERO)) {
      return refuse('prev_chain_hash is not that of its place');
    }
    const time = record.action_timestamp_ms as number;
    const place = chainInput(
      hashOf(content_hash) ?? new Uint8Array(32),
      before,
      time,
      textOf(record.agent_id),
    );
    if (toHex(suite.sha256(place)) === chain_hash) return 'of content, place and time';
    return refuse('chain_hash is not the hash of this record and the one before it');
  });
  await lines.run('air_signature', async () => {
    const jwk = kitKey(asked, 'air', memberOf(record, 'operator_pubkey_id'), trust.origin);
    if (jwk === undefined) return refuse('operator_pubkey_id is not an AIR key of the kit');
    const message = hashOf(chain_hash);
    const bytes = base64Of(signature);
    if (
      message !== null &&
      bytes?.length === 64 &&
      (await verifyES256(airKey(jwk), message, bytes))
    ) {
      return 'ES256 over the chain hash';
    }
    return refuse('the signature over the chain hash is invalid');
  });
}

function airKey(jwk: JsonObject): P256Jwk {
  try {
    const key = publicJwk(jwk);
    if (key.kty === 'EC') return key;
  } catch (error) {
    if (!isLogError(error)) throw error;
  }
  return refuse('the AIR key of the kit is invalid');
}

/**
 * Checks the signed statement of a record and the receipt in it, if `treeSize` is given against that tree. Returns the
 * bytes of the statement; none if it is not base64.
 */
async function coseLines(
  lines: Lines,
  shown: Json | undefined,
  item: Item,
  trust: Trust,
  asked: Asked,
  treeSize?: number,
): Promise<{ readonly bytes: Uint8Array; readonly way: Way | undefined }> {
  let bytes: Uint8Array = new Uint8Array();
  await lines.run('cose_signature', () => {
    bytes = fromBase64(textOf(shown));
    return checkStatement(bytes, item, trust, asked);
  });
  const way = await lines.take('cose_receipt', async () => {
    const [receipt] = receiptsIn(decodeSign1(bytes));
    const leaf = leafHashOf(suiteOf(asked), item.entry);
    const found = await checkCoseReceipt(receipt, leaf, trust, asked);
    const { index, size } = found;
    if (size !== (treeSize ?? size)) return refuse('the receipt is of another checkpoint');
    return [`entry ${String(index)} of ${String(size)}`, found];
  });
  return { bytes, way };
}

async function checkStatement(
  bytes: Uint8Array,
  { record }: Item,
  trust: Trust,
  asked: Asked,
): Promise<string> {
  const message = decodeSign1(bytes);
  const { integrity, ...content } = record;
  const { payload } = message;
  if (payload === null || fromUtf8(payload) !== canonical(content)) {
    return refuse('the payload is not the record');
  }
  const hashes = objectOf(integrity);
  for (const name of ['content_hash', 'prev_chain_hash', 'chain_hash']) {
    const value = message.protected.get(name);
    if (!(value instanceof Uint8Array) || toHex(value) !== hashes[name]) {
      return refuse(`${name} of the protected header is not that of the record`);
    }
  }
  if (message.protected.get('sequence_number') !== hashes.sequence_number) {
    return refuse('sequence_number of the protected header is not that of the record');
  }
  const signed = toBeSigned(message.protectedBytes, payload);
  await checkSigned(message, signed, 'air', trust, asked);
  return 'ES256 by an AIR key of the kit';
}

type Key = readonly ['session', string];

/** The state of a chain, as its proof shows it. */
interface Closing {
  readonly count: number;
  /** Index, log time and, unless an entry follows, leaf hash (base64) of the last entry. */
  readonly last: readonly (Json | undefined)[];
}

async function checkSession(document: JsonObject, trust: Trust, asked: Asked): Promise<Finding> {
  const lines = new Lines();
  const shown = objectsOf(document.records);
  const key: Key = ['session', textOf(document.session_ref)];
  const closing = await lines.take('completeness', () => {
    const found = closingOf(document.completeness_proof ?? null, key, trust, asked);
    const { count } = found;
    if (count !== shown.length || document.count !== count) {
      return refuse(`the chain has ${String(count)} entries, ${String(shown.length)} are shown`);
    }
    const words = `${String(count)} entries, as the chain of the session has under the checkpoint`;
    return [words, found];
  });
  const tree = await lines.take('export', () => {
    const opened = treeOf(document, key, trust, asked);
    return ['origin, checkpoint and key equal those that were checked', opened];
  });
  // If one record has proofs, all must have them.
  const proven = shown.some((one) => PROOFS.some((name) => one[name] !== undefined));
  const chain = new Chain(key, closing, suiteOf(asked));
  for (const [i, one] of shown.entries()) {
    const bad = await recordFault(one, { chain, trust, asked, proven, tree });
    if (bad === undefined) continue;
    lines.all.push({ ...bad, detail: `record ${String(i)}: ${bad.detail}` });
    return lines.finding('');
  }
  const places = tree === undefined || !proven ? null : inTree(tree.size);
  if (shown.length > 0) {
    const checked = `${String(shown.length)}: entry, record, hashes, signature, chain`;
    await lines.run('records', () => checked);
    await lines.run('inclusion', () =>
      places === null
        ? { not_shown: 'the export has no proofs of its entries; request it with ?proofs=true' }
        : `each ${places}, with a signed statement that says so`,
    );
  }
  // A ref that names a chain is plain text: the proof would not hold otherwise.
  const all = `all ${String(shown.length)} records of session ${key[1]}, chained and signed`;
  return lines.finding(places === null ? all : `${all}, each ${places}`, {
    facts: {
      session_ref: key[1],
      records: shown.length,
      ...(places === null || tree === undefined ? {} : { size: tree.size }),
    },
    not_proven: COSE_NOT_PROVEN,
  });
}

/** The tree of the export's checkpoint, which must be that of the completeness proof. */
function treeOf(document: JsonObject, key: Key, trust: Trust, asked: Asked): TreeHead {
  checkMembers(document, trust, asked);
  const { checkpoint } = objectOf(document.completeness_proof);
  if (document.checkpoint !== checkpoint) refuse('checkpoint is not that of the proof');
  const tree = verifyCheckpoint(textOf(checkpoint), trust, { suite: suiteOf(asked) });
  if (document.size !== tree.size) refuse('size is not that of the checkpoint');
  if (document.agent_id !== `session:${key[1]}`) refuse('agent_id is not that of the session');
  return tree;
}

/** The context in which the records of a session are checked. */
interface Among {
  readonly chain: Chain;
  readonly trust: Trust;
  readonly asked: Asked;
  readonly proven: boolean;
  /** Undefined if the checkpoint of the export is invalid. */
  readonly tree: TreeHead | undefined;
}

/** The first failed check of the next record; undefined if all pass. */
async function recordFault(
  shown: JsonObject,
  { chain, trust, asked, proven, tree }: Among,
): Promise<Line | undefined> {
  const lines = new Lines();
  const item = itemOf(shown);
  let signed = (): JsonObject => heldEntry(item.entry, trust, asked);
  if (proven) {
    await lines.run('inclusion', () => {
      const path = shown.inclusion_proof;
      if (path === undefined) return refuse('it has no inclusion proof, but other records have');
      if (tree === undefined)
        return refuse('the export has no valid checkpoint for the inclusion proof');
      const opened = { index: parsedOf(item.entry).index ?? null, entry: item.entry, path };
      const { statement } = openEntry(opened, tree, trust, { suite: suiteOf(asked) });
      // The inclusion proof shows that the entry was signed before its key was revoked.
      signed = () => statement;
      return '';
    });
  }
  await recordLines(lines, item, () => signed(), trust, asked);
  if (proven) await coseLines(lines, shown.cose_sign1_b64, item, trust, asked, tree?.size);
  await lines.run('chain', () => {
    chain.next(item);
    return '';
  });
  return lines.all.find(({ outcome }) => outcome === 'failed');
}

/** Checks that each record follows the one before it, and that the last is the one that the proof names. */
class Chain {
  readonly #key: Key;
  readonly #closing: Closing | undefined;
  readonly #suite: Suite;
  #seq = 0;
  #hash = ZERO;
  #index: Json = null;
  #ms: Json = null;

  constructor(key: Key, closing: Closing | undefined, suite: Suite) {
    this.#key = key;
    this.#closing = closing;
    this.#suite = suite;
  }

  /** Throws `document_invalid` if the record is not the next one. */
  next({ record, entry }: Item): void {
    const [, session_ref] = this.#key;
    const { prev_chain_hash, chain_hash, sequence_number } = objectOf(record.integrity);
    const { index = null, issued_at_ms = null, links } = parsedOf(entry);
    // The entry is not verified yet and can have any form.
    const link = objectsOf(links).find(({ key }) => same(key, this.#key));
    if (
      link?.seq !== this.#seq ||
      link.prev_index !== this.#index ||
      link.prev_ms !== this.#ms ||
      sequence_number !== this.#seq ||
      record.agent_id !== `session:${session_ref}`
    ) {
      refuse('the entry is not at this place of the session');
    }
    if (prev_chain_hash !== this.#hash)
      refuse('prev_chain_hash is not the hash of the record before it');
    this.#seq += 1;
    this.#hash = memberOf({ chain_hash: chain_hash ?? null }, 'chain_hash') ?? ZERO;
    this.#index = index;
    this.#ms = issued_at_ms;
    if (this.#seq === this.#closing?.count) this.#checkLast(entry);
  }

  #checkLast(entry: string): void {
    const here = [this.#index, this.#ms, toBase64(leafHashOf(this.#suite, entry))];
    if (this.#closing?.last.some((value, i) => value !== here[i]) === true) {
      refuse('the chain of the session ends with another entry');
    }
  }
}

/** The state of the session's chain, from a document that has been checked. */
function closingOf(document: Json, key: Key, trust: Trust, asked: Asked): Closing {
  const { question, proof } = objectOf(document);
  const { from_ms, to_ms } = objectOf(question);
  if (typeof from_ms !== 'number' || from_ms !== to_ms) {
    return refuse('the document does not close the chain at one moment');
  }
  const about: Question = { key, from_ms, to_ms };
  verifyAbsence(document, about, trust, { suite: suiteOf(asked) });
  const { type, head, successor } = objectOf(proof);
  if (type === 'never') return { count: 0, last: [] };
  if (type === 'tail') {
    const { count, last_index, last_ms, last_leaf_hash } = objectOf(head);
    return { count: count as number, last: [last_index, last_ms, last_leaf_hash] };
  }
  const { links } = parsedOf(objectOf(successor).entry);
  const link = objectsOf(links).find((one) => same(one.key, key));
  if (link === undefined) return refuse('the closing entry is not of this session');
  return { count: link.seq as number, last: [link.prev_index, link.prev_ms] };
}

/** Whether two values have the same canonical form; LogError `json_invalid` if one has none. */
const same = (a: Json | undefined, b: Json | readonly string[] | undefined): boolean =>
  a !== undefined && b !== undefined && canonical(a) === canonical(b);

const sha256 = (suite: Suite, text: string): string => toHex(suite.sha256(utf8(text)));

/** 32 bytes of hex; null for anything else. */
function hashOf(value: Json | undefined): Uint8Array | null {
  const text = textOf(value);
  return /^[0-9a-f]{64}$/.test(text) ? fromHex(text, 32) : null;
}

/** Decodes canonical base64; null for anything else. */
function base64Of(value: Json | undefined): Uint8Array | null {
  try {
    return fromBase64(textOf(value));
  } catch (error) {
    if (isLogError(error)) return null;
    throw error;
  }
}
