// The integrity of air-1.0: content hash, chain hash, ES256 over the chain hash. VERIDIC Evidence Envelope v0.1.

import { hash } from 'node:crypto';
import { toBase64, toHex } from '../../../log/index.ts';
import type { AirAgent } from './record.ts';

/** What the first record of an agent has before it. */
export const NO_CHAIN: Uint8Array = new Uint8Array(32);

/** A record's place on its agent's chain. */
export interface AirPlace extends AirAgent {
  readonly content_hash: Uint8Array;
  readonly prev_chain_hash: Uint8Array;
  readonly chain_hash: Uint8Array;
}

/** SHA-256 over the canonical form of the record without `integrity`. */
const contentHash = (canonicalRecord: string): Uint8Array =>
  hash('sha256', canonicalRecord, 'buffer');

/** SHA-256 over content hash, hash before it, u64 time, u32 length of the agent's name and the name. */
export function chainHash(
  content_hash: Uint8Array,
  prev_chain_hash: Uint8Array,
  action_timestamp_ms: number,
  agent_id: string,
): Uint8Array {
  const length = Buffer.byteLength(agent_id);
  const bytes = Buffer.allocUnsafe(76 + length);
  bytes.set(content_hash, 0);
  bytes.set(prev_chain_hash, 32);
  bytes.writeBigUInt64BE(BigInt(action_timestamp_ms), 64);
  bytes.writeUInt32BE(length, 72);
  bytes.write(agent_id, 76);
  return hash('sha256', bytes, 'buffer');
}

/** The place of a record behind the hash before it. */
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

/** The member `integrity` as JSON, hashes in hex and the signature in base64, in canonical order. */
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
