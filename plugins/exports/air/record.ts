// An AgentInteractionRecord of air-1.0: its schema and its integrity (content hash, chain hash, ES256 over the chain
// hash). VERIDIC Evidence Envelope v0.1; gateway/API.md §12.3. mapping.ts makes the content of a record, also for the
// verifier.

import { hash } from 'node:crypto';
import { Type } from 'typebox';
import { toBase64, toHex } from '../../contract/index.ts';
import { chainInput } from './mapping.ts';
import type { AirAgent } from './mapping.ts';

/** The previous chain hash of an agent's first record. */
export const NO_CHAIN: Uint8Array = new Uint8Array(32);

/** The place of a record on its agent's chain. */
export interface AirPlace extends AirAgent {
  readonly content_hash: Uint8Array;
  readonly prev_chain_hash: Uint8Array;
  readonly chain_hash: Uint8Array;
}

/** Content hash: SHA-256 over the canonical form of the record without `integrity`. */
const contentHash = (canonicalRecord: string): Uint8Array =>
  hash('sha256', canonicalRecord, 'buffer');

/** The chain hash of a record. */
export const chainHash = (...place: Parameters<typeof chainInput>): Uint8Array =>
  hash('sha256', chainInput(...place), 'buffer');

/** The place of a record that follows a previous chain hash. */
export function placeRecord(
  canonicalRecord: string,
  action_timestamp_ms: number,
  { agent_id, sequence_number }: AirAgent,
  prev_chain_hash: Uint8Array,
): AirPlace {
  const content_hash = contentHash(canonicalRecord);
  const chain_hash = chainHash(content_hash, prev_chain_hash, action_timestamp_ms, agent_id);
  return { agent_id, sequence_number, content_hash, prev_chain_hash, chain_hash };
}

/** The member `integrity` as JSON in canonical order; hashes in hex, the signature in base64. */
export function integrityText(
  { chain_hash, content_hash, prev_chain_hash, sequence_number }: AirPlace,
  signature: Uint8Array,
): string {
  return (
    `{"chain_hash":"${toHex(chain_hash)}","content_hash":"${toHex(content_hash)}",` +
    `"prev_chain_hash":"${toHex(prev_chain_hash)}","sequence_number":${String(sequence_number)},` +
    `"signature":"${toBase64(signature)}"}`
  );
}

const text = Type.String();
const textOrNull = Type.Union([text, Type.Null()]);
const millis = Type.Integer({ minimum: 0 });

const Integrity = Type.Object({
  content_hash: text,
  prev_chain_hash: text,
  chain_hash: text,
  sequence_number: Type.Integer({ minimum: 0 }),
  signature: Type.String({ description: 'ES256 over the chain hash: r and s, base64.' }),
});

const Reference = Type.Object({ ref_type: text, ref_value: text, ref_system: textOrNull });

const Redaction = Type.Object({
  field_path: text,
  original_hash: text,
  policy_id: text,
  timestamp_ms: millis,
});

/** Members of air-1.0 for which an entry has no value. */
const unsaid = {
  agent_did: Type.Null(),
  agent_workload_id: Type.Null(),
  auth_context: Type.Null(),
  consumer_instructions: Type.Null(),
  delegation_chain: Type.Null(),
  input_summary: Type.Null(),
  intent_attestation: Type.Null(),
  outcome_summary: Type.Null(),
  tool_calls: Type.Array(Type.Unknown(), { maxItems: 0 }),
  trace_id: Type.Null(),
  workflow_id: Type.Null(),
};

/** A record with its integrity. */
export const AirRecord = Type.Object(
  {
    schema_version: Type.Literal('air-1.0'),
    record_id: Type.String({ format: 'uuid' }),
    agent_id: text,
    agent_version: text,
    session_id: text,
    parent_record_id: textOrNull,
    action_type: text,
    action_subtype: textOrNull,
    action_timestamp_ms: Type.Integer(),
    captured_timestamp_ms: millis,
    written_timestamp_ms: millis,
    operator_id: text,
    operator_pubkey_id: text,
    principal_id: textOrNull,
    jurisdiction: text,
    retention_class: text,
    input_hash: text,
    reasoning_hash: textOrNull,
    outcome_hash: text,
    outcome_state: text,
    policy_refs: Type.Array(text),
    external_refs: Type.Array(Reference),
    redaction_receipts: Type.Array(Redaction),
    ...unsaid,
    integrity: Integrity,
  },
  {
    $id: 'AirRecord',
    description:
      'AgentInteractionRecord of air-1.0, made only from the entry. The agent is the session. Its records are numbered ' +
      'and chained in the order of the log.',
  },
);
