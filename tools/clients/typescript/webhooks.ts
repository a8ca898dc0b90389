// Opens webhook messages by the rules of Standard Webhooks (gateway/API.md §11). The service signs a message with its
// webhook key as `v1a` (Ed25519), and with the secret of a subscription that has one as `v1` (HMAC-SHA-256).

import {
  fromBase64,
  fromBase64Url,
  isJsonObject,
  utf8,
  verifySignature,
} from '../../../log/verify.ts';
import type { Json, JsonObject } from '../../../log/verify.ts';
import { Unverified } from './errors.ts';

/** How far the time of a message may differ from the clock, in seconds. An older message may be a replay. */
const TOLERANCE_S = 300;

/** A message as received. */
export interface WebhookMessage {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body as received, before any JSON parser. */
  readonly body: string | Uint8Array;
}

/** What a message is checked with: one of both must have signed it. */
export interface WebhookTrust {
  /** Webhook keys of the service, 32 bytes each. */
  readonly keys: readonly Uint8Array[];
  /** The `whsec_` secret of the subscription. */
  readonly secret?: string | undefined;
}

/**
 * The event in a webhook message. Delivery is at least once: remember `webhook-id`.
 *
 * @throws Unverified if neither a key nor the secret signed the message, or if it is older or newer than five minutes
 */
export async function openWebhook(
  { headers, body }: WebhookMessage,
  { keys, secret }: WebhookTrust,
  nowMs = Date.now(),
): Promise<JsonObject> {
  const given = (name: string): string => {
    const value = headerOf(headers, `webhook-${name}`);
    if (value === null) throw new Unverified(`the message has no header webhook-${name}`);
    return value;
  };
  const [id, sent, signatures] = [given('id'), given('timestamp'), given('signature')];
  if (!/^[0-9]{1,12}$/.test(sent))
    throw new Unverified('webhook-timestamp is no number of seconds');
  if (Math.abs(nowMs / 1000 - Number(sent)) > TOLERANCE_S) {
    throw new Unverified('the message is more than five minutes old or in the future');
  }
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const head = utf8(`${id}.${sent}.`);
  const data = typeof body === 'string' ? utf8(body) : body;
  const signed = new Uint8Array(head.length + data.length);
  signed.set(head);
  signed.set(data, head.length);
  const hmac = secret === undefined ? null : await hmacKey(secret);
  for (const one of signatures.split(' ')) {
    const [version, encoded = ''] = one.split(',', 2);
    const signature = bytesOf(encoded);
    if (signature === null) continue;
    if (
      version === 'v1' &&
      hmac !== null &&
      (await crypto.subtle.verify('HMAC', hmac, signature, signed))
    ) {
      return eventOf(text);
    }
    const isSigned = (publicKey: Uint8Array): boolean =>
      verifySignature({ publicKey, message: signed, signature });
    if (version === 'v1a' && keys.some(isSigned)) return eventOf(text);
  }
  throw new Unverified('no signature of the message verifies');
}

/** The webhook keys of a JWKS (`/crypto/jwks.json`) or of an offline kit, without those that are revoked. */
export function webhookKeys(jwks: JsonObject): Uint8Array[] {
  const keys = jwks.keys ?? null;
  const listed = isJsonObject(keys) ? (keys.keys ?? null) : keys;
  if (!Array.isArray(listed)) return [];
  return (listed as readonly Json[]).flatMap((jwk) =>
    isJsonObject(jwk) &&
    jwk.purpose === 'webhook' &&
    jwk.revoked_at === undefined &&
    typeof jwk.x === 'string'
      ? [fromBase64Url(jwk.x, 32)]
      : [],
  );
}

function headerOf(headers: WebhookMessage['headers'], name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : null;
}

/** Base64 as bytes; null for anything else. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(fromBase64(text));
  } catch {
    return null;
  }
}

async function hmacKey(secret: string): Promise<CryptoKey> {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''));
  if (bytes === null) throw new TypeError('the secret of the webhook is not base64');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'verify',
  ]);
}

function eventOf(text: string): JsonObject {
  const event = JSON.parse(text) as Json;
  if (!isJsonObject(event)) throw new Unverified('the message is no JSON object');
  return event;
}
