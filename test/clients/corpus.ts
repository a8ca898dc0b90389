// The seed corpus of the differential test: the test vectors, and documents of forged logs, some of which break the
// format. All of them are checked with the same origins and keys, so every kit can be used with every document.

import { readFileSync } from 'node:fs';
import { mlDsaPublicKey, signMlDsa } from '../../log/crypto/ml-dsa.ts';
import { native } from '../../log/crypto/native.ts';
import { concat, fromHex, toHex, utf8 } from '../../log/encoding/bytes.ts';
import { canonical } from '../../log/encoding/canonical.ts';
import type { Json, JsonObject } from '../../log/encoding/json.ts';
import { sameKey } from '../../log/map/key.ts';
import { leafHash } from '../../log/merkle/hash.ts';
import { formatVkey, LOG_KEY, ML_DSA_KEY, mlDsaLine, mlDsaMessage } from '../../log/note/note.ts';
import { LogError, verifyAbsence } from '../../log/verify.ts';
import type { Question } from '../../log/verify.ts';
import { vectors } from '../support/absence-vectors.ts';
import {
  ACT,
  CHECKPOINT_KEY,
  ENTITY,
  Forge,
  name43,
  RECEIPT_KEY,
  seedKey,
  START_MS,
  TENANT,
} from '../support/forge.ts';
import { documentOf, SURFACE, trust } from '../support/absence-documents.ts';
import type { Random } from './random.ts';
import { remembering } from './suite.ts';

/** What is given to the verifier with a document. */
export interface Ask {
  readonly question?: Json;
  readonly as_asked?: true;
  readonly proof?: string;
  readonly receipt?: string;
}

/** A document as a file, and what is given with it. */
export interface Case {
  readonly name: string;
  readonly file: Buffer;
  readonly ask: Ask;
}

const { origin, vkey, jwk, witnesses } = vectors;
const witnessLines = witnesses
  .map((witness, i) => `witness ${String(i)} ${witness.vkey}\n`)
  .join('');
const log = { origin, vkey, checkpoint: vectors.checkpoints.at(-1) };
/** The other logs of the service, which findings about two logs name. */
const otherLogs = ['log.example/log/live/2', 'log.example/log/sandbox/1'].map((name) => ({
  origin: name,
  vkey: formatVkey(native, name, LOG_KEY, CHECKPOINT_KEY.publicKey),
}));
const ML_DSA_SEED = new Uint8Array(32).fill(0x46);
const mlDsaKey = mlDsaPublicKey(ML_DSA_SEED);
const vkey_ml_dsa = formatVkey(native, origin, ML_DSA_KEY, mlDsaKey);

/** The line of the log's ML-DSA-44 key under the text of a checkpoint. It takes 20 ms. */
function secondLine(text: string): string {
  const signature = signMlDsa(ML_DSA_SEED, mlDsaMessage(origin, text, 0));
  return mlDsaLine(native, origin, mlDsaKey, 0, signature);
}

/** A note that the log signed with ML-DSA-44 as well. */
const signedTwice = (note: string): string =>
  note + secondLine(note.slice(0, note.indexOf('\n\n') + 1));

/** A kit, and whether each checkpoint must have the log's ML-DSA-44 signature. */
export interface Kit {
  readonly kit: string;
  readonly require_ml_dsa?: true;
}

const kitOf = (key: JsonObject, policy: string | null, second: JsonObject = {}): Kit => ({
  kit: JSON.stringify({
    schema: 'svc-offline-verify-kit-v1',
    keys: {
      keys: [
        { ...jwk, origin, ...key },
        { ...seedKey(0x44).jwk, kid: 'air', origin, purpose: 'air' },
      ],
    },
    logs: [{ ...log, ...second }, ...otherLogs],
    policy,
  }),
});

/** Kits that know the log of the corpus, each in its own way. */
export const kits: readonly Kit[] = [
  kitOf({}, `${witnessLines}group both 2 0 1\nquorum both\n`),
  kitOf({}, null),
  kitOf({ exp: 1_790_000_000 }, `log ${vkey}\n${witnessLines}group some any 0 1\nquorum some\n`),
  kitOf({ revoked_at: 1_790_000_300, revoked_index: 9 }, `${witnessLines}quorum none\n`),
  kitOf({ revoked_at: 1_790_000_005 }, null),
  kitOf({ kid: name43(1) }, null),
  kitOf({ origin: 'log.example/log/live/2' }, null),
  kitOf({}, null, { vkey_ml_dsa }),
  { ...kitOf({}, `${witnessLines}quorum none\n`, { vkey_ml_dsa }), require_ml_dsa: true },
];

/** All documents to start from; `forged` logs are made by these choices. */
export function corpus(random: Random, forged: number): readonly Case[] {
  const cases = [...ofVectors(), ...ofReceipts(), ...ofFindings()];
  for (let i = 0; i < forged; i++) cases.push(...ofForged(random, i));
  return cases;
}

function ofVectors(): Case[] {
  const documents = [...vectors.documents, ...vectors.refused].map((vector) => {
    const { name, doc } = vector;
    const file = Buffer.from('text' in vector ? (vector.text ?? '') : JSON.stringify(doc));
    const question = 'question' in vector ? vector.question : doc?.question;
    return {
      name,
      file: file.length > 0 ? file : Buffer.from(JSON.stringify(doc)),
      ask: { question: question as Json },
    };
  });
  const notes = vectors.checkpoints.map((note, i) => ({
    ...{ name: `checkpoint ${String(i)}`, ask: {} },
    file: Buffer.from(i % 2 === 0 ? note : signedTwice(note)),
  }));
  const [first] = documents;
  const wrapped = {
    ok: true,
    witness: JSON.parse(first?.file.toString() ?? '') as Json,
    more_members: 1,
  };
  const answer = {
    name: 'answer',
    file: Buffer.from(JSON.stringify(wrapped)),
    ask: first?.ask ?? {},
  };
  return [...documents, ...notes, answer];
}

/** The vectors of findings, whose logs have the origins and the keys of the corpus. */
function ofFindings(): Case[] {
  const { documents, undecided, refused } = JSON.parse(
    readFileSync(new URL('../vectors/violation.json', import.meta.url), 'utf8'),
  ) as Record<'documents' | 'undecided' | 'refused', readonly { name: string; doc: Json }[]>;
  return [...documents, ...undecided, ...refused].map(({ name, doc }) => ({
    ...{ name: `finding: ${name}`, file: Buffer.from(JSON.stringify(doc)), ask: {} },
  }));
}

const SALT = '00112233445566778899aabbccddeeff';
const SAID: Json = {
  text: 'what she said',
  score: 0.5,
  'é\u20ac': [1e21, 1e-7, 123456789012345680000],
};

function ofReceipts(): Case[] {
  const message = toHex(native.sha256(concat(fromHex(SALT), utf8(canonical(SAID)))));
  const written = new Forge().usual();
  const entry = written.add('gate.decision.v1', {
    ...ACT,
    commitments: { message, other: message },
  });
  written.add('gate.decision.v1', { ...ACT, document_sha256: '0'.repeat(64) });
  written.mapHead();
  const note = written.note(cosigners(written.ms));
  const path = written.path(6);
  const twice = signedTwice(note);
  const place = { origin, index: 6, checkpoint: note, inclusion_proof: path };
  const receipt = {
    ...(JSON.parse(entry) as JsonObject),
    entry_hash: toHex(leafHash(native, utf8(entry))),
    permalink: 'https://log.example/r/1',
    verify_url: 'https://log.example/verify?entry_id=1',
  };
  const disclosures = { message: { salt: SALT, value: SAID } };
  const erased = { erased: true, erased_at_ms: START_MS, erasure_entry_id: 'x' };
  const proof = `c2sp.org/tlog-proof@v1\nextra AAAA\nindex 6\n${path.join('\n')}\n\n${note}`;
  const json = (name: string, value: Json, ask: Ask = {}): Case => ({
    ...{ name, file: Buffer.from(JSON.stringify(value)), ask },
  });
  return [
    json('receipt', receipt),
    json('receipt with its place', { ...receipt, log: place }),
    json('receipt as an answer that ignored members', {
      ...receipt,
      ignored: ['session', 'a.0.b'],
    }),
    json('receipt with its place, signed twice', {
      ...receipt,
      log: { ...place, checkpoint: twice },
    }),
    json('receipt with its values', { ...receipt, disclosures, log: place }),
    json('receipt with an erased value', {
      ...receipt,
      disclosures: { ...disclosures, other: erased },
    }),
    json('receipt with a proof beside', receipt, { proof }),
    json('receipt with both proofs', { ...receipt, log: place }, { proof }),
    json('lookup', { found: true, receipt, proof: { tlog_proof: proof }, checks: {} }),
    json('lookup with an empty proof', { found: true, receipt, proof: { tlog_proof: '' } }),
    json('answer with a receipt', { ok: true, receipt: { ...receipt, disclosures } }),
    json('inclusion', { index: 6, entry, path, checkpoint: note }),
    json('inclusion, signed twice', { index: 6, entry, path, checkpoint: twice }),
    { name: 'tlog-proof of an entry', file: Buffer.from(proof), ask: { receipt: entry } },
    {
      name: 'tlog-proof of a receipt',
      file: Buffer.from(proof),
      ask: { receipt: JSON.stringify(receipt) },
    },
  ];
}

const COSIGNERS = witnesses.map((_, i) => seedKey(0x51 + i));

function cosigners(
  ms: number,
  shift_s = 0,
): { name: string; key: ReturnType<typeof seedKey>; time_s: number }[] {
  const time_s = Math.floor(ms / 1000) + 1;
  return witnesses.map(({ name }, i) => ({
    name,
    key: COSIGNERS[i]!,
    time_s: time_s + i * shift_s,
  }));
}

/** A log with manifests, heartbeats and acts, one entry of which may lie, and documents about windows of it. */
function ofForged(random: Random, number: number): Case[] {
  const written = forgedLog(random);
  const text = written.note().split('\n\n')[0] ?? '';
  const second = random.once(4) ? secondLine(`${text}\n`) : '';
  const question = (): Question => {
    const key = random.pick([SURFACE, SURFACE, ['surface', ENTITY, 'offer_extend'], ...OTHER]);
    const a = START_MS + random.below(24) * 1000 + random.pick([-1, 0, 1]);
    const b = START_MS + random.below(24) * 1000 + random.pick([-1, 0, 1]);
    return { key, from_ms: Math.max(0, Math.min(a, b)), to_ms: Math.max(a, b) };
  };
  return Array.from({ length: 6 }, (_, i) => {
    const asked = question();
    const document = honestOf(random, written, second, asked);
    const name = `forged ${String(number)}.${String(i)}`;
    return {
      name,
      file: Buffer.from(JSON.stringify(document)),
      ask: { question: asked as unknown as Json },
    };
  });
}

const OTHER = [
  ['entity', ENTITY],
  ['manifest', ENTITY],
  ['heartbeat', ENTITY, 'policy_bind'],
  ['session', name43(7)],
];

function forgedLog(random: Random): Forge {
  const written = new Forge().usual();
  const liar = random.below(16);
  let turn = 0;
  const bend = () => (turn++ === liar ? { statement: lie(random, written) } : {});
  const beat = { tenant_ref: TENANT, entity: ENTITY, surface: 'policy_bind', interval_ms: 2000 };
  const promise = random.once(3) ? {} : { heartbeat_interval_ms: 1000 * (2 + random.below(3)) };
  const until = random.once(3) ? { valid_until_ms: START_MS + 12_000 } : {};
  written.manifest({ ...promise, ...until }, bend());
  const run_since_ms = written.ms + 1000;
  written.add('astl.heartbeat.v1', { ...beat, run_since_ms }, bend());
  written.add('astl.heartbeat.v1', { ...beat, run_since_ms }, { ...bend(), after_ms: 2000 });
  if (random.once(2)) written.add('gate.decision.v1', ACT, bend());
  written.add('astl.heartbeat.v1', { ...beat, run_since_ms }, { ...bend(), after_ms: 2000 });
  if (random.once(2)) written.manifest({ ...promise, surfaces: ['policy_bind'] }, bend());
  written.add('astl.heartbeat.v1', { ...beat, run_since_ms }, { ...bend(), after_ms: 2000 });
  if (random.once(2)) written.add('gate.decision.v1', ACT, bend());
  written.add('astl.heartbeat.v1', { ...beat, run_since_ms }, { ...bend(), after_ms: 2000 });
  if (random.once(2)) written.manifest({ surfaces: ['offer_extend'] }, bend());
  written.mapHead({ ...bend(), after_ms: 2000 });
  return written;
}

/** How an entry deviates. */
function lie(random: Random, written: Forge): Record<string, Json> {
  const n = random.pick([0, 1, -1, written.size, START_MS, START_MS + 5000, 2 ** 53 - 1]);
  const link = {
    key: SURFACE,
    seq: n,
    prev_index: random.below(12),
    prev_ms: START_MS + random.below(20) * 1000,
  };
  const manifest = {
    key: ['manifest', ENTITY],
    seq: random.below(3),
    prev_index: 6,
    prev_ms: START_MS + 5000,
  };
  const first = { ...link, seq: 0, prev_index: null, prev_ms: null };
  return random.pick<Record<string, Json>>([
    { links: [] },
    { links: [link] },
    { links: [link, link] },
    { links: [first, manifest] },
    { links: [manifest] },
    { links: [{ key: SURFACE, seq: 0 }] },
    { links: 'none' },
    { issued_at_ms: n },
    { index: n },
    { covered: n },
    { map_root: 'ab'.repeat(32) },
    { type: random.pick(['log.map_head.v1', 'astl.manifest.v1', 'astl.heartbeat.v1', 'x']) },
    { entity: 'other' },
    { surface: 'offer_extend' },
    { surfaces: ['offer_extend'] },
    { interval_ms: n },
    { run_since_ms: n },
    { valid_from_ms: n },
    { valid_until_ms: n },
    { heartbeat_interval_ms: n },
    { surface_manifest_hash: '' },
    { origin: 'log.example/log/live/2' },
    { kid: RECEIPT_KEY.kid.toLowerCase() },
  ]);
}

/**
 * A document with everything that the log has for a question, and the verdict that it proves; ABSENT if it proves
 * none.
 */
function honestOf(random: Random, written: Forge, second: string, question: Question): JsonObject {
  const { key, from_ms, to_ms } = question;
  const entries = written.texts.map(
    (text) => JSON.parse(text) as { issued_at_ms: number; links?: Json; type: string },
  );
  const indexesOn = (chain: readonly string[]): number[] =>
    entries.flatMap(({ links }, index) =>
      Array.isArray(links) && links.some((one) => isOn(one as Json, chain)) ? [index] : [],
    );
  const at = (index: number): number => entries[index]?.issued_at_ms ?? 0;
  const closingOf = (chain: readonly string[]): Json => {
    const next = indexesOn(chain).find((index) => at(index) > to_ms);
    return next === undefined
      ? written.mapProof([...chain])
      : { type: 'gap', successor: written.opened(next) };
  };
  const shown = indexesOn(key).filter((index) => at(index) >= from_ms && at(index) <= to_ms);
  const change: Record<string, Json> = { proof: closingOf(key) };
  if (shown.length > 0) change['entries'] = shown.map((index) => written.opened(index));
  if (key[0] === 'surface' && !random.once(6)) {
    const chain = ['manifest', key[1] ?? ''];
    const manifests = indexesOn(chain).filter((index) => at(index) <= to_ms);
    const before = manifests.findLastIndex((index) => at(index) < from_ms);
    const kept = manifests.slice(Math.max(0, before)).map((index) => written.opened(index));
    change['declared'] = { manifests: kept, closing: closingOf(chain) };
    const beats = indexesOn(['heartbeat', key[1] ?? '', key[2] ?? '']);
    const beat = beats.find((index) => at(index) >= to_ms) ?? beats.at(-1);
    if (beat !== undefined && !random.once(6))
      change['coverage'] = { heartbeat: written.opened(beat) };
  }
  const cosigned = written.note(cosigners(written.ms, random.pick([0, 1, -30, -61])));
  const documents = ['PRESENT', 'UNDECLARED', 'UNDERSAMPLED', 'ABSENT'].map((verdict) => ({
    ...documentOf(written, question, { ...change, verdict }),
    checkpoint: cosigned + second,
  }));
  return documents.find((document) => proves(document, question)) ?? documents.at(-1)!;
}

function isOn(link: Json, chain: readonly string[]): boolean {
  const { key } = (link ?? {}) as { key?: readonly string[] };
  return Array.isArray(key) && sameKey(key as string[], [...chain]);
}

function proves(document: JsonObject, question: Question): boolean {
  try {
    verifyAbsence(document, question, trust, { suite: remembering });
    return true;
  } catch (error) {
    if (error instanceof LogError) return false;
    throw error;
  }
}
