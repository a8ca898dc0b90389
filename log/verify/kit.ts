// Makes the trust from an offline verification kit (gateway/API.md §2.5). The kit comes from the operator of the log,
// who could give out false keys with a false log. Results therefore name the source of the policy as `operator`.

import { portable } from '../crypto/portable.ts';
import type { Suite } from '../crypto/suite.ts';
import { publicKeyOfJwk, jwkOfPublicKey } from '../crypto/thumbprint.ts';
import { canonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { parsePolicy } from '../note/policy.ts';
import type { Policy } from '../note/policy.ts';
import { objectOf, objectsOf, textOf } from './finding.ts';
import { declaredKind } from '../map/grammar.ts';
import { list, refused, string } from './document.ts';
import type { Trust, TrustedKey } from './trust.ts';

const MAX_KIT_BYTES = 4 * 1024 * 1024;
const MAX_KEYS = 10_000;

/**
 * The trust for one log of a kit: its verifier keys, receipt keys (a JWKS whose keys name their `origin`), witness
 * policy (a C2SP tlog-policy text) and declared chain kinds. Kits of older builds have one policy for all logs and no
 * chain kinds. The signature of the kit is not verified.
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
  const policy = policyOf(
    'policy' in log ? log.policy : parsed.policy,
    origin,
    options.suite ?? portable,
  );
  return {
    origin,
    vkey: string(log.vkey, 'vkey of the log'),
    ...(log.vkey_ml_dsa === undefined
      ? {}
      : { vkey_ml_dsa: string(log.vkey_ml_dsa, 'vkey_ml_dsa of the log') }),
    keys: keysOf(parsed, origin),
    logs: vkeysOf(parsed),
    ...(policy === null ? {} : { policy }),
    kinds: kindsOf(log.kinds ?? {}),
    policy_source: 'operator',
  };
}

/** The origins of the logs of a kit. */
export const originsOf = ({ logs }: JsonObject): string[] =>
  objectsOf(logs).flatMap(({ origin }) => (typeof origin === 'string' ? [origin] : []));

/** The verifier keys of the logs of a kit by origin; of two logs with one origin, that of the first. */
function vkeysOf({ logs }: JsonObject): ReadonlyMap<string, string> {
  const vkeys = new Map<string, string>();
  for (const { origin, vkey } of objectsOf(logs).toReversed()) {
    if (typeof origin === 'string' && typeof vkey === 'string') vkeys.set(origin, vkey);
  }
  return vkeys;
}

/**
 * The first change in `newer` that a later kit of the same service must not have, in words; null if there is none. A
 * newer kit may add logs and keys, and retire or revoke keys (gateway/API.md §2.1).
 *
 * @throws LogError as `trustFromKit`
 */
export function kitChange(older: JsonObject, newer: JsonObject): string | null {
  for (const origin of originsOf(older)) {
    if (!originsOf(newer).includes(origin)) return `it no longer names the log ${origin}`;
    const before = trustFromKit(older, origin);
    const after = trustFromKit(newer, origin);
    if (before.vkey !== after.vkey) return `it has another checkpoint key for ${origin}`;
    // A service may begin and cease to sign with ML-DSA-44, but not change the key.
    const second = after.vkey_ml_dsa ?? before.vkey_ml_dsa;
    if (before.vkey_ml_dsa !== undefined && second !== before.vkey_ml_dsa) {
      return `it has another ML-DSA-44 key for ${origin}`;
    }
    for (const [kind, members] of before.kinds ?? []) {
      if (after.kinds?.get(kind) !== members) return `it changes the chain kind ${kind}`;
    }
    for (const { kid, status } of before.keys) {
      const key = after.keys.find((candidate) => candidate.kid === kid);
      if (key === undefined) return `it no longer names the receipt key ${kid}`;
      if (status === 'revoked' && key.status !== 'revoked') return 'it takes back a revocation';
    }
  }
  const now = purposeKeys(newer);
  for (const [key, name] of purposeKeys(older)) {
    if (!now.has(key)) return `it has no such ${name}`;
  }
  return null;
}

/** The keys for other purposes than receipts, such as AIR and COSE: how to name them, by purpose, log and key. */
function purposeKeys({ keys, cose_keys }: JsonObject): Map<string, string> {
  const all = Object.entries({ keys, cose_keys }).flatMap(([set, value]) =>
    objectsOf(objectOf(value).keys).map((key) => ({ ...key, set })),
  ) as readonly JsonObject[];
  return new Map(
    all
      .filter(({ purpose }) => purpose !== undefined)
      .map(({ set, purpose, origin, kid, kty, crv, x, y }) => [
        [set, purpose, origin, kty, crv, x, y].map(textOf).join(' '),
        `key for ${textOf(purpose)} of ${textOf(origin)}: ${textOf(kid)}`,
      ]),
  );
}

/** The policy in a text; null for a value that is not a string, and for a policy that names other logs only. */
function policyOf(text: Json | undefined, origin: string, suite: Suite): Policy | null {
  if (typeof text !== 'string') return null;
  const policy = parsePolicy(suite, text);
  const { logs } = policy;
  return logs.length === 0 || logs.some(({ name }) => name === origin) ? policy : null;
}

/** The declared chain kinds, with the number of members in their keys. */
function kindsOf(kinds: Json): ReadonlyMap<string, number> {
  if (!isJsonObject(kinds)) throw refused('chain kinds of the log are not an object');
  return new Map(
    Object.entries(kinds).map(([kind, members]) => {
      if (declaredKind.test(kind) && Number.isSafeInteger(members) && Number(members) > 0) {
        return [kind, Number(members)];
      }
      throw refused(`the chain kind ${kind} of the log is none that entry types declare`);
    }),
  );
}

function keysOf(kit: JsonObject, origin: string): TrustedKey[] {
  const set = isJsonObject(kit.keys) ? kit.keys.keys : kit.keys;
  return list(set, 'keys of the kit', MAX_KEYS).flatMap((jwk) => {
    if (!isJsonObject(jwk)) throw refused('a key of the kit is not an object');
    // A key with a purpose signs other documents, and must not be accepted for receipts.
    return jwk.origin === origin && jwk.purpose === undefined ? [keyOfJwk(jwk)] : [];
  });
}

/**
 * The trusted key of a JWK. `revoked_at` is in seconds, rounded down, so it may reject an entry of the last second
 * before the revocation; `revoked_index` is exact.
 */
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
