// A record as a signed statement: a COSE_Sign1 over its canonical form. The protected header has the integrity members,
// so that a chain can be checked without payloads, and header 394 has the receipt of the entry. VERIDIC Evidence
// Envelope v0.1; RFC 9052.

import {
  algOf,
  CLAIM,
  coseThumbprint,
  encodeProtected,
  encodeSign1,
  HEADER,
  native,
  toBeSigned,
} from '../../contract/index.ts';
import type { Cbor, PluginSigner } from '../../contract/index.ts';
import type { PlacedRecord } from './chains.ts';

/** Content type of the payload: the record without `integrity`, in canonical form. */
const AIR_TYPE = 'application/air+json';

/** The bytes of the statement. Its receipt proves the entry whose leaf hash is the record's `outcome_hash`. */
export async function airStatement(
  { canonical, issued_at_ms, place }: PlacedRecord,
  { signer, iss, receipt }: { signer: PluginSigner; iss: string; receipt: Uint8Array },
): Promise<Uint8Array> {
  const { record_id, action_timestamp_ms } = JSON.parse(canonical) as {
    readonly record_id: string;
    readonly action_timestamp_ms: number;
  };
  const protectedBytes = encodeProtected(
    new Map<number | string, Cbor>([
      [HEADER.alg, algOf(signer.jwk)],
      [HEADER.content_type, AIR_TYPE],
      [HEADER.kid, coseThumbprint(native, signer.jwk)],
      [
        HEADER.cwt_claims,
        new Map<number, Cbor>([
          [CLAIM.iss, iss],
          [CLAIM.sub, `urn:uuid:${record_id}`],
          [CLAIM.iat, Math.floor(issued_at_ms / 1000)],
        ]),
      ],
      ['content_hash', place.content_hash],
      ['prev_chain_hash', place.prev_chain_hash],
      ['chain_hash', place.chain_hash],
      ['sequence_number', place.sequence_number],
      ['action_timestamp_ms', action_timestamp_ms],
      ['agent_id', place.agent_id],
    ]),
  );
  const payload = Buffer.from(canonical);
  const signature = await signer.sign(toBeSigned(protectedBytes, payload));
  const unprotected = new Map([[HEADER.receipts, [receipt]]]);
  return encodeSign1({ protectedBytes, unprotected, payload, signature });
}
