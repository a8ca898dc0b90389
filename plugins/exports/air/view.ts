// The readable JSON form of a COSE message in an AIR export. gateway/API.md §12.3. Runs in browsers.

import { decodeSign1, HEADER } from '../../../log/cose/portable.ts';
import type { Cbor, CborMap } from '../../../log/cose/portable.ts';
import { toBase64, toBase64Url } from '../../../log/verify.ts';
import type { Json, JsonObject } from '../../../log/verify.ts';

/** A COSE_Sign1 as readable JSON: byte strings in base64, kid in base64url. Only the bytes are authoritative. */
export function coseView(bytes: Uint8Array): JsonObject {
  const message = decodeSign1(bytes);
  return {
    type: 'COSE_Sign1',
    tag: 18,
    protected: viewOf(message.protected, HEADER.kid),
    protected_b64: toBase64(message.protectedBytes),
    unprotected: viewOf(message.unprotected),
    payload_b64: message.payload === null ? null : toBase64(message.payload),
    signature_b64: toBase64(message.signature),
  };
}

function viewOf(map: CborMap, kid?: number): JsonObject {
  const members = [...map].map(([label, value]): [string, Json] => [
    String(label),
    label === kid && value instanceof Uint8Array ? toBase64Url(value) : viewOfValue(value),
  ]);
  return Object.fromEntries(members);
}

function viewOfValue(value: Cbor): Json {
  if (value instanceof Uint8Array) return toBase64(value);
  if (value instanceof Map) return viewOf(value as CborMap);
  if (Array.isArray(value)) return (value as readonly Cbor[]).map(viewOfValue);
  return typeof value === 'bigint' ? String(value) : (value as Json);
}
