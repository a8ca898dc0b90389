// A receiver of webhooks: the checks of Standard Webhooks, with a JWKS or a secret alone.

import { createPublicKey, verify } from 'node:crypto';
import type { JsonWebKey } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { run } from '../running.ts';
import type { Clock, Running } from '../running.ts';
import type { Received } from '../egress/receiver.ts';

/** A gateway that may post to receivers on 127.0.0.2, and to nothing else on this machine. */
export function runSending(
  env: Readonly<Record<string, string>> = {},
  options: Parameters<typeof run>[1] = {},
): Promise<Running> {
  return run(
    {
      EGRESS_ALLOW_HTTP: 'on',
      EGRESS_NETWORKS: '127.0.0.2/32',
      WEBHOOK_TIMEOUT_MS: '60000',
      ...env,
    },
    options,
  );
}

/** Whether a webhook key of the JWKS has signed this request. */
export async function signedByJwks(url: string, received: Received): Promise<boolean> {
  const { keys } = (await (await fetch(`${url}/crypto/jwks.json`)).json()) as {
    keys: (JsonWebKey & { purpose?: string })[];
  };
  const signed = `${header(received, 'id')}.${header(received, 'timestamp')}.${received.body}`;
  const signatures = header(received, 'signature')
    .split(' ')
    .filter((one) => one.startsWith('v1a,'))
    .map((one) => Buffer.from(one.slice(4), 'base64'));
  return keys
    .filter(({ purpose }) => purpose === 'webhook')
    .map((jwk) => createPublicKey({ key: jwk, format: 'jwk' }))
    .some((key) => signatures.some((one) => verify(null, Buffer.from(signed), key, one)));
}

/** The payload that the public library verifies with a secret; throws if it is not valid. */
export function openedWithSecret(secret: string, { headers, body }: Received): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}

/** A header of a message. */
export function header({ headers }: Received, name: 'id' | 'timestamp' | 'signature'): string {
  const value = headers[`webhook-${name}`];
  if (typeof value !== 'string') throw new Error(`there is no webhook-${name}`);
  return value;
}

/** Polls every few milliseconds until `reached` returns a value, and resolves with it. */
export async function until<T>(reached: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (;;) {
    const value = await reached();
    if (value !== undefined && value !== null && value !== false) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Advances the time of the queue. */
export function pass(clock: Clock, running: Running, ms: number): void {
  clock.pass(ms);
  running.gateway.webhooks.wake();
}
