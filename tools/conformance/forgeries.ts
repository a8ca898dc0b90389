// Receipts that must not be taken: each is whole but for one thing that only a signature or a proof shows, so a
// service that looks at names, hashes and ages alone would take it. gateway/API.md §8.2.

import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { canonical, leafHash, native, thumbprint, toHex } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import type { Presented } from '../../plugins/require-receipt/header.ts';

const DERIVED: readonly string[] = [
  ...['entry_hash', 'permalink', 'verify_url', 'disclosures', 'log', 'ignored'],
];

/** Forgeries of a valid receipt, by what is forged. */
export function forgeriesOf(presented: Presented): ReadonlyMap<string, Presented> {
  const { receipt } = presented;
  const changed = { ...receipt, entry_id: otherId(receipt['entry_id']) };
  const digest = createHash('sha512').update(canonical(changed)).digest('base64');
  return new Map(
    Object.entries({
      // A new entry_id, so that no memory of used receipts helps.
      'a changed member': changed,
      'a changed signature': { ...changed, signature: digest },
      "a stranger's key": signedByStranger(changed),
    }).map(([what, forged]) => [what, { ...presented, receipt: rehashed(forged) }]),
  );
}

function otherId(entry_id: Json | undefined): string {
  const id = typeof entry_id === 'string' ? entry_id : '';
  return id.replace(/.$/u, (last) => (last === '0' ? '1' : '0'));
}

function signedByStranger(receipt: JsonObject): JsonObject {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const kid = thumbprint(native, publicKey.export({ format: 'jwk' }));
  const { signature: _, ...statement } = entryOf({ ...receipt, kid });
  const signature = sign(null, Buffer.from(canonical(statement)), privateKey).toString('base64');
  return { ...receipt, kid, signature };
}

/** With the entry_hash that the entry would have. */
function rehashed(receipt: JsonObject): JsonObject {
  const entry = Buffer.from(canonical(entryOf(receipt)));
  return { ...receipt, entry_hash: toHex(leafHash(native, entry)) };
}

function entryOf(receipt: JsonObject): JsonObject {
  const members = Object.entries(receipt).filter(([name]) => !DERIVED.includes(name));
  return Object.fromEntries(members);
}
