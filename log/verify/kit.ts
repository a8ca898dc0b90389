// Trust from an operator's own offline kit. gateway/API.md §2.5: it is reported as `operator`, since who
// hands out the log also hands out what it is checked with.

import { portable } from '../crypto/portable.ts';
import type { Suite } from '../crypto/suite.ts';
import { publicKeyOfJwk, jwkOfPublicKey } from '../crypto/thumbprint.ts';
import { canonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { parsePolicy } from '../note/policy.ts';
import type { Policy } from '../note/quorum.ts';
import { objectOf, objectsOf, textOf } from './finding.ts';
import { list, refused, string } from './shape.ts';
import type { Trust, TrustedKey } from './trust.ts';

const MAX_KIT_BYTES = 4 * 1024 * 1024;
const MAX_KEYS = 10_000;

/**
 * What the kit says of one log: its vkey, receipt keys (JWKS, each with its `origin`) and witness policy
 * (a C2SP tlog-policy text, or null). The kit's own signature is not looked at.
 *
 * @throws LogError `document_invalid`, `key_invalid`, `policy_invalid`
 */
export function trustFromKit(
  kit: Json,
  origin: string,
  options: { readonly suite?: Suite } = {},
): Trust {
  const text = typeof kit === 'string' ? kit : canonical(kit);
  const parsed = parseJson(text, { maxBytes: MAX_KIT_BYTES, fractions: true });
  if (!isJsonObject(parsed)) throw refused('kit is not an object');
  if (parsed.schema !== 'svc-offline-verify-kit-v1') throw refused('kit has another schema');
  const log = list(parsed.logs, 'logs of the kit', MAX_KEYS).find(
    (candidate) => isJsonObject(candidate) && candidate.origin === origin,
  );
  if (!isJsonObject(log)) throw refused('kit has no such log');
  const policy = policyOf(parsed, origin, options.suite ?? portable);
  return {
    origin,
    vkey: string(log.vkey, 'vkey of the log'),
    keys: keysOf(parsed, origin),
    ...(policy === null ? {} : { policy }),
    policy_source: 'operator',
  };
}

/** The origins of the logs of a kit. */
export const originsOf = ({ logs }: JsonObject): string[] =>
  objectsOf(logs).flatMap(({ origin }) => (typeof origin === 'string' ? [origin] : []));

/**
 * The first thing that `newer` changes or takes away of what `older` says; null when there is none. A newer kit may add
 * logs and keys, and end keys (gateway/API.md §2.1).
 *
 * @throws LogError as `trustFromKit`
 */
export function kitChange(older: JsonObject, newer: JsonObject): string | null {
  for (const origin of originsOf(older)) {
    if (!originsOf(newer).includes(origin)) return `it no longer names the log ${origin}`;
    const before = trustFromKit(older, origin);
    const after = trustFromKit(newer, origin);
    if (before.vkey !== after.vkey) return `it has another checkpoint key for ${origin}`;
    for (const { kid, status } of before.keys) {
      const key = after.keys.find((candidate) => candidate.kid === kid);
      if (key === undefined) return `it no longer names the receipt key ${kid}`;
      if (status === 'revoked' && key.status !== 'revoked') return 'it takes back a revocation';
    }
  }
  const now = purposeKeys(newer);
  for (const [name, key] of purposeKeys(older)) {
    if (now.get(name) !== key) return `it has no such ${name}`;
  }
  return null;
}

/** The keys of other purposes than receipts, such as AIR and COSE, each under its purpose, log and name. */
function purposeKeys({ keys, cose_keys }: JsonObject): Map<string, string> {
  const all = [keys, cose_keys].flatMap((set) => objectsOf(objectOf(set).keys));
  return new Map(
    all
      .filter(({ purpose }) => purpose !== undefined)
      .map(({ purpose, origin, kid, kty, crv, x, y }) => [
        `key for ${textOf(purpose)} of ${textOf(origin)}: ${textOf(kid)}`,
        [kty, crv, x, y].map(textOf).join(' '),
      ]),
  );
}

/** A policy with log lines is about those logs only. */
function policyOf({ policy: text }: JsonObject, origin: string, suite: Suite): Policy | null {
  if (typeof text !== 'string') return null;
  const policy = parsePolicy(suite, text);
  const { logs } = policy;
  return logs.length === 0 || logs.some(({ name }) => name === origin) ? policy : null;
}

function keysOf(kit: JsonObject, origin: string): TrustedKey[] {
  const set = isJsonObject(kit.keys) ? kit.keys.keys : kit.keys;
  return list(set, 'keys of the kit', MAX_KEYS).flatMap((jwk) => {
    if (!isJsonObject(jwk)) throw refused('a key of the kit is not an object');
    // A key with a purpose signs other things: a receipt by it would be a forgery.
    return jwk.origin === origin && jwk.purpose === undefined ? [keyOfJwk(jwk)] : [];
  });
}

/** `revoked_at` and `exp` are seconds, `revoked_index` is exact; times are rounded down, to be safe. */
function keyOfJwk(jwk: JsonObject): TrustedKey {
  const { revoked_at, revoked_index, exp } = jwk;
  const revoked = typeof revoked_at === 'number' || typeof revoked_index === 'number';
  return {
    kid: string(jwk.kid, 'kid of a key'),
    jwk: jwkOfPublicKey(publicKeyOfJwk(jwk)),
    status: revoked ? 'revoked' : exp === undefined ? 'active' : 'retired',
    ...(typeof revoked_at === 'number' ? { revoked_at_ms: revoked_at * 1000 } : {}),
    ...(typeof revoked_index === 'number' ? { revoked_index } : {}),
  };
}
