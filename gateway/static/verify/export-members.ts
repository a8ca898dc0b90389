// What an AIR export says of itself as a whole: its log, its specification and its key are there to be read, so they must
// be those that it is checked with. VERIDIC Evidence Envelope v0.1.

import type { Json, JsonObject, Trust } from '../../../log/verify.ts';
import { objectOf } from './shown.ts';
import { objects } from './trust.ts';

const SPEC = 'air-1.0';
/** What the key of an export has at least. */
const KEY_MEMBERS = ['kid', 'kty', 'crv', 'x', 'y', 'alg', 'use'];

/** The AIR key of a log with this name, by the kit. */
export const airKey = (
  kit: JsonObject,
  kid: Json | undefined,
  origin: string,
): JsonObject | undefined =>
  objects(objectOf(kit.keys).keys).find(
    (jwk) => jwk.kid === kid && jwk.purpose === 'air' && jwk.origin === origin,
  );

/** What does not agree with what the export is checked with; null where all does. */
export function exportFault(document: JsonObject, trust: Trust, kit: JsonObject): string | null {
  if (document.origin !== trust.origin) return 'origin is that of another log';
  if (document.spec !== SPEC) return `spec is not ${SPEC}`;
  const key = objectOf(document.key);
  const jwk = airKey(kit, key.kid, trust.origin);
  if (jwk === undefined) return 'key is no AIR key of the kit';
  const names = [...KEY_MEMBERS, ...Object.keys(key)];
  const same = names.every((name) => key[name] !== undefined && key[name] === jwk[name]);
  return same ? null : 'key is not the AIR key of the kit with its kid';
}

/** The same of the export of one entry, which names its entry and has its record signed by its key. */
export function singleFault(
  document: JsonObject,
  entry: JsonObject,
  trust: Trust,
  kit: JsonObject,
): string | null {
  const fault = exportFault(document, trust, kit);
  if (fault !== null) return fault;
  if (document.entry_id !== entry.entry_id) return 'entry_id is that of another entry';
  const { operator_pubkey_id } = objectOf(document.record);
  return objectOf(document.key).kid === operator_pubkey_id ? null : 'key is not that of the record';
}
