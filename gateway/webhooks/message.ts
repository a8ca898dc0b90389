// What is posted: the body of an event, and its headers. Standard Webhooks; gateway/API.md §11.

import { Webhook } from 'standardwebhooks';
import { readEntry, toBase64 } from '../../log/index.ts';
import type { Json, JsonObject, Log } from '../../log/index.ts';

/** The key that every message is signed with. */
export interface WebhookSigner {
  readonly kid: string;
  sign(bytes: Uint8Array): Promise<Uint8Array>;
}

/** A message as it is sent: the same at each attempt but for its timestamp and signatures. */
export interface Message {
  /** `msg_` and the id of the entry; receivers know a repeated message by it. */
  readonly id: string;
  readonly body: string;
}

/** Receivers take about this much (Standard Webhooks, "Payload size"). */
const MAX_BODY_BYTES = 20_000;

/** The message of an event: `data` shows the receipt as the world sees it, or where it is when it is large. */
export function messageOf(type: string, receipt: JsonObject): Message {
  const { entry_id, issued_at_ms, permalink, verify_url } = receipt as unknown as Receipt;
  const links = { entry_id, permalink, verify_url };
  const whole = bodyOf(type, issued_at_ms, { ...links, receipt });
  const body =
    Buffer.byteLength(whole) <= MAX_BODY_BYTES ? whole : bodyOf(type, issued_at_ms, links);
  return { id: `msg_${entry_id}`, body };
}

/** The id of the message about an entry that stands. */
export function messageId(log: Log, index: number): string {
  const text = log.entry(index);
  if (text === null) throw new Error(`entry ${String(index)} of a message is missing`);
  return `msg_${readEntry(text).statement['entry_id'] as string}`;
}

interface Receipt {
  readonly entry_id: string;
  readonly issued_at_ms: number;
  readonly permalink: string;
  readonly verify_url: string;
}

/** `{type, timestamp, data}`; the timestamp is the event's, in RFC 3339. */
export function bodyOf(type: string, at_ms: number, data: Json): string {
  return JSON.stringify({ type, timestamp: new Date(at_ms).toISOString(), data });
}

/**
 * The headers of one attempt. `v1a` is Ed25519 by the webhook key of the JWKS, so that no secret is needed, for a day
 * after a rotation also by the old one, which receivers may have kept; `v1` is
 * HMAC-SHA256 with the subscriber's secret, where there is one.
 */
export async function headersOf(
  { id, body }: Message,
  now_ms: number,
  signers: readonly WebhookSigner[],
  secret?: string,
): Promise<Record<string, string>> {
  const timestamp = Math.floor(now_ms / 1000);
  const signed = Buffer.from(`${id}.${String(timestamp)}.${body}`);
  const made = await Promise.all(signers.map((signer) => signer.sign(signed)));
  const signatures = made.map((signature) => `v1a,${toBase64(signature)}`);
  if (secret !== undefined) {
    signatures.push(new Webhook(secret).sign(id, new Date(timestamp * 1000), body));
  }
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'actlog-webhooks',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}
