// Maps an entry of the log to an AgentInteractionRecord of air-1.0, without its `integrity`. The record is a pure
// function of the entry and of catalogs/air.json, so a verifier with the entry can make it again and compare.
// VERIDIC Evidence Envelope v0.1; gateway/API.md §12.3. Runs in browsers.

import { canonical, portable, toHex, utf8 } from '../../../log/verify.ts';
import type { Json, JsonObject, Link } from '../../contract/index.ts';

/** catalogs/air.json: how members of an entry map to those of a record. */
export interface AirMapping {
  readonly schema_version: string;
  readonly policy_ref: string;
  readonly own_actions: string;
  readonly jurisdiction_unknown: string;
  readonly agent_version: string;
  readonly retention_class: string;
  readonly actions: Readonly<Record<string, string>>;
  readonly redaction_required: readonly string[];
  readonly outcome_members: readonly string[];
  readonly outcome_states: Readonly<Record<string, string>>;
  readonly parent_members: readonly string[];
  readonly reference_members: readonly string[];
  readonly input_members: readonly string[];
  readonly reasoning_members: readonly string[];
}

/** Members of a record that do not come from the entry. */
export interface AirIssuer {
  /** RFC 7638 thumbprint of the key that signs the record. */
  readonly operator_pubkey_id: string;
  /** ISO 3166-1 alpha-2; ZZ if unknown. */
  readonly jurisdiction: string;
}

/** An entry and its leaf hash in hex. */
interface AirEntry {
  readonly statement: JsonObject;
  readonly entry_hash: string;
}

/** The agent whose chain of records has an entry: its session. An entry without a session is a chain by itself. */
export interface AirAgent {
  readonly agent_id: string;
  readonly sequence_number: number;
}

/**
 * The agent and the sequence number of an entry. The numbers are those of the session's chain, so they have no gaps.
 */
export function agentOf(statement: JsonObject): AirAgent {
  const session_ref = statement['session_ref'];
  const links = (statement['links'] ?? []) as unknown as readonly Link[];
  const link = links.find(({ key }) => key[0] === 'session' && key[1] === session_ref);
  return typeof session_ref === 'string' && link !== undefined
    ? { agent_id: `session:${session_ref}`, sequence_number: link.seq }
    : { agent_id: `entry:${statement['entry_id'] as string}`, sequence_number: 0 };
}

/**
 * The input of a record's chain hash, which is its SHA-256: content hash, previous chain hash, u64 time, u32 length of
 * the agent's name, and the name.
 */
export function chainInput(
  content_hash: Uint8Array,
  prev_chain_hash: Uint8Array,
  action_timestamp_ms: number,
  agent_id: string,
): Uint8Array {
  const name = utf8(agent_id);
  const bytes = new Uint8Array(76 + name.length);
  bytes.set(content_hash, 0);
  bytes.set(prev_chain_hash, 32);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(64, BigInt(action_timestamp_ms));
  view.setUint32(72, name.length);
  bytes.set(name, 76);
  return bytes;
}

/**
 * The record without `integrity`. Its members are in canonical order at every level, so that JSON.stringify gives the
 * RFC 8785 form.
 */
export function airRecord(
  { statement, entry_hash }: AirEntry,
  { operator_pubkey_id, jurisdiction }: AirIssuer,
  mapping: AirMapping,
): JsonObject {
  const { origin, entry_id, issued_at_ms, tenant_ref, session_ref } = statement;
  const index = statement['index'] as number;
  const commitments = (statement['commitments'] ?? {}) as Readonly<Record<string, string>>;
  const names = Object.keys(commitments).sort();
  const outcome = first(statement, mapping.outcome_members);
  return {
    action_subtype: outcome,
    action_timestamp_ms: statement['event_at_ms'] ?? (issued_at_ms as number),
    action_type: actionOf(statement['type'] as string, names.length > 0, mapping),
    agent_did: null,
    agent_id: agentOf(statement).agent_id,
    agent_version: mapping.agent_version,
    agent_workload_id: null,
    auth_context: null,
    captured_timestamp_ms: issued_at_ms as number,
    consumer_instructions: null,
    delegation_chain: null,
    external_refs: [
      reference('entry', `${origin as string}#${String(index)}:${entry_hash}`, origin as string),
      ...mapping.reference_members
        .filter((name) => typeof statement[name] === 'string')
        .map((name) => reference(name, statement[name] as string, null)),
    ],
    input_hash: inputHash(commitments, mapping.input_members),
    input_summary: null,
    intent_attestation: null,
    jurisdiction,
    operator_id: tenant_ref ?? (origin as string),
    operator_pubkey_id,
    outcome_hash: entry_hash,
    outcome_state: mapping.outcome_states[outcome ?? ''] ?? 'completed',
    outcome_summary: null,
    parent_record_id: parentOf(statement, mapping.parent_members),
    policy_refs: [mapping.policy_ref],
    principal_id: statement['entity'] ?? null,
    reasoning_hash: committed(commitments, mapping.reasoning_members),
    record_id: entry_id as string,
    redaction_receipts: names.map((name) => ({
      field_path: `/commitments/${name}`,
      original_hash: commitments[name] ?? '',
      policy_id: mapping.policy_ref,
      timestamp_ms: issued_at_ms as number,
    })),
    retention_class: mapping.retention_class,
    schema_version: mapping.schema_version,
    session_id: session_ref ?? (entry_id as string),
    tool_calls: [],
    trace_id: null,
    workflow_id: null,
    written_timestamp_ms: issued_at_ms as number,
  };
}

/** The action of an entry. Actions of regulated kinds need a redaction receipt; without one the type is the action. */
function actionOf(type: string, redacted: boolean, mapping: AirMapping): string {
  const { actions, redaction_required, own_actions } = mapping;
  const action = actions[type];
  return action !== undefined && (redacted || !redaction_required.includes(action))
    ? action
    : own_actions + type;
}

function first(statement: JsonObject, members: readonly string[]): string | null {
  const name = members.find((member) => typeof statement[member] === 'string');
  return name === undefined ? null : (statement[name] as string);
}

function parentOf(statement: JsonObject, members: readonly string[]): string | null {
  const parent = first(statement, members);
  return parent === statement['entry_id'] ? null : parent;
}

function committed(
  commitments: Readonly<Record<string, string>>,
  members: readonly string[],
): string | null {
  const name = members.find((member) => member in commitments);
  return name === undefined ? null : (commitments[name] ?? null);
}

/**
 * The commitment to the input. If the entry has no single input, SHA-256 over the canonical form of all commitments.
 */
function inputHash(
  commitments: Readonly<Record<string, string>>,
  members: readonly string[],
): string {
  if (Object.keys(commitments).length === 0) return NO_INPUT;
  return committed(commitments, members) ?? hashOf(commitments);
}

const hashOf = (value: JsonObject): string => toHex(portable.sha256(utf8(canonical(value))));
/** Of an entry without commitments. */
const NO_INPUT = hashOf({});

const reference = (ref_type: string, ref_value: string, ref_system: string | null): Json => ({
  ref_system,
  ref_type,
  ref_value,
});
