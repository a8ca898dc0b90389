// The document of the offline verification kit: keys, logs, policies, how to verify, and receipts to test a verifier
// with. gateway/API.md §2.5.

import { hash } from 'node:crypto';
import { canonical } from '../../log/index.ts';
import type { Json, JsonObject, Log } from '../../log/index.ts';
import { receiptOf, sentenceOf, shortName } from '../../plugins/contract/index.ts';
import type { EntryType } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { coseKeys, jwks, publishedLogs } from './keys.ts';
import type { StaticFile } from '../pages/statics.ts';
import { placeOf, tlogProofOf } from './receipt-answer.ts';

/** The entry that commits to a kit: hex of SHA-256(JCS(kit without `receipt`)). */
export const KIT_TYPE = 'kit.document.v1';

const kitType: EntryType = {
  name: KIT_TYPE,
  schema: {
    type: 'object',
    properties: { document_sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' } },
    required: ['document_sha256'],
    additionalProperties: false,
  },
  keys: [],
  sentence: sentenceOf<{ readonly document_sha256: string }>(
    ({ document_sha256 }) =>
      `The service published an offline verification kit with the SHA-256 ${shortName(document_sha256)}.`,
  ),
};

export const KIT_TYPES: readonly EntryType[] = [kitType];

/** The schema of the receipt in a kit. */
export const KitReceipt = receiptOf(kitType);

/** How many entries are searched for one of a plugin, to make the test vectors from. */
const SAMPLE_SPAN = 1000;

const ALGORITHMS: JsonObject = {
  canonical_json: 'RFC 8785 (JCS) over I-JSON without fractions',
  hash: 'SHA-256',
  signature:
    'Ed25519, RFC 8032: S < L, canonical A and R, neither of low order, equation without cofactor',
  key_id: 'RFC 7638 thumbprint',
  tree: 'RFC 6962 and RFC 9162: leaf SHA-256(00 || entry), node SHA-256(01 || left || right)',
  checkpoint: 'C2SP signed-note and tlog-checkpoint, exactly three lines',
  proof: 'C2SP tlog-proof@v1',
};

const VERIFY_STEPS: readonly string[] = [
  'Drop entry_hash, permalink, verify_url, disclosures, log and ignored from the receipt: the entry is the ' +
    'RFC 8785 form of what is left. SHA-256 over one zero byte and the entry is entry_hash.',
  'origin is that of a log below, and sandbox is true exactly when the origin says sandbox.',
  'Drop signature as well: it is base64 of Ed25519 over the RFC 8785 form of what is left, by the key of keys ' +
    'whose kid and origin are those of the receipt. A key with revoked_index holds only for entries below it, ' +
    'and only with an inclusion proof.',
  'Open the checkpoint of the tlog_proof (or of log.checkpoint) with the vkey of the log: its first line is the ' +
    'origin, its signature holds. The path leads from entry_hash at the index to the root (RFC 9162, 2.1.3.2).',
  'A COSE_Sign1 (RFC 9052) names its key in label 4 by the RFC 9679 thumbprint; its signature covers ' +
    '["Signature1", protected, h\'\', payload]. A receipt (RFC 9942) has no payload: it is the root to which the ' +
    'path in label 396 leads from the leaf hash of the entry (the unprotected label "entry", or the one that is shown ' +
    'beside it), ' +
    'and its key is that of cose_keys with this kid and its origin.',
  'An AIR record is made from its entry alone. content_hash is SHA-256 over its RFC 8785 form without integrity; ' +
    'chain_hash is SHA-256 over content_hash, prev_chain_hash, action_timestamp_ms as u64, the length of agent_id ' +
    'as u32 and agent_id; signature is ES256 over chain_hash, r and s in 64 bytes, by the key of keys with the ' +
    'purpose air. The statement (cose_sign1_b64) has the record without integrity as payload and the receipt of ' +
    'the entry whose leaf hash is outcome_hash in label 394.',
  'export_vectors are such messages: whoever checks as written accepts those with expected true, and no other.',
  'Each disclosure opens the commitment of its name: SHA-256(16 bytes of salt || RFC 8785 form of the value).',
];

/** The members of a kit that make a new one necessary when they change. */
export function kitFoundation(gateway: Gateway, verifier: StaticFile | null): JsonObject {
  const { base_url } = gateway;
  return {
    issuer: base_url,
    keys: jwks(gateway),
    cose_keys: { keys: coseKeys(gateway) },
    policies: publishedLogs(gateway).map((log) => policyOf(gateway, log)),
    vkeys: publishedLogs(gateway).map(({ vkey, vkey_ml_dsa }) => [vkey, vkey_ml_dsa]),
    kinds: publishedLogs(gateway).map(kindsOf),
    witnesses: gateway.witnesses?.vkeys.slice() ?? [],
    verifier:
      verifier === null
        ? null
        : {
            language: 'javascript',
            sha256: verifier.sha256,
            url: `${base_url}/static/verify.js`,
          },
  };
}

/** The kit without its receipt, with the newest checkpoints. */
export async function kitDocument(gateway: Gateway, foundation: JsonObject): Promise<JsonObject> {
  const { vkeys: _, policies: __, kinds: ___, ...about } = foundation;
  const { live } = gateway.logs;
  return {
    schema: 'svc-offline-verify-kit-v1',
    generated_at: new Date(gateway.now()).toISOString(),
    ...about,
    logs: publishedLogs(gateway).map((log) => {
      const { origin, vkey } = log;
      const second = log.vkey_ml_dsa === null ? {} : { vkey_ml_dsa: log.vkey_ml_dsa };
      const checkpoint = log.published().note;
      const own = { origin, vkey, ...second, checkpoint };
      return { ...own, policy: policyOf(gateway, log), kinds: kindsOf(log) };
    }),
    algorithms: ALGORITHMS,
    verify_steps: VERIFY_STEPS,
    vectors: await vectors(gateway),
    // They are made from the newest live log, so there are none before its first checkpoint.
    export_vectors:
      live.published().size === 0 ? [] : await gateway.plugged().kitVectors('live', sampleOf(live)),
  };
}

/** The hash that the kit's entry commits to. */
export const documentHash = (document: JsonObject): string =>
  hash('sha256', canonical(document), 'hex');

/**
 * The policy of one log (C2SP tlog-policy): its key and address, its witnesses and their quorum, or `quorum none`. Each
 * log has a policy of its own, because some readers take several log lines as "all of these must have signed".
 */
function policyOf({ base_url, witnesses }: Gateway, log: Log): string {
  const lines = witnesses?.covers(log) === true ? witnesses.lines : ['quorum none'];
  return `log ${log.vkey} ${base_url}/log/${log.kind}/${String(log.number)}\n${lines.join('\n')}\n`;
}

/** The chain kinds that the entry types of a log declare, by name. */
const kindsOf = (log: Log): JsonObject =>
  Object.fromEntries([...log.chainKinds()].sort(([a], [b]) => (a < b ? -1 : 1)));

/** Test vectors: a receipt of the newest published live log, which must be accepted, and two forgeries made from it. */
async function vectors(gateway: Gateway): Promise<Json> {
  const log = gateway.served.live.findLast((one) => one.published().size > 0);
  if (log === undefined) return [];
  const index = sampleOf(log);
  const receipt = gateway.receipt(log, index);
  const place = await placeOf(log, index);
  if (receipt === null || place === null) return [];
  const tlog_proof = tlogProofOf(index, place);
  const later = { ...receipt, issued_at_ms: (receipt['issued_at_ms'] as number) + 1 };
  const signature = Buffer.from(receipt['signature'] as string, 'base64');
  signature[0] = (signature[0] ?? 0) ^ 1;
  const resigned = { ...receipt, signature: signature.toString('base64') };
  return [
    { receipt, tlog_proof, expected: true },
    { receipt: later, tlog_proof, tampered: 'issued_at_ms', expected: false },
    { receipt: resigned, tlog_proof, tampered: 'signature', expected: false },
  ];
}

/** The index of the newest published entry of a plugin, or 0 if there is none among the newest entries. */
function sampleOf(log: Log): number {
  const { size } = log.published();
  for (let index = size - 1; index >= Math.max(0, size - SAMPLE_SPAN); index--) {
    const { type } = JSON.parse(log.entry(index) ?? '{}') as { readonly type?: string };
    if (type !== undefined && !/^(log|astl|kit)\./.test(type)) return index;
  }
  return 0;
}
