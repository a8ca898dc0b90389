// A refund that external services protect: the log that issues permits, the JWKS that the services fetch, and
// requests.

import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import type { GuardOptions } from '../../../plugins/require-receipt/middleware.ts';
import { TENANT } from '../../support/forge.ts';
import { GateLog } from './permits.ts';
import { listening } from '../../support/listening.ts';
import type { Service } from './services.ts';
import type { Body } from '../../support/body.ts';

/** The log of the gate whose permits the services accept. */
export const log = new GateLog();
/** The body of the act. */
export const BODY = { order: 'A-7', amount: 12.5 };
/** The audience that the services declare. */
export const AUDIENCE = 'https://shop.example';

/** An answer of a service. */
export interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Body;
}

/** Requests the refund, with or without a body and a permit. */
export async function post(url: string, body: Json | undefined, receipt?: string): Promise<Told> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(receipt === undefined ? {} : { 'X-Receipt': receipt }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const json: unknown = text === '' ? null : JSON.parse(text);
  return { status: response.status, headers: response.headers, json };
}

/** The action that the challenge asks a permit for. */
export async function asked(
  service: Service,
  body: Json = BODY,
): Promise<{ action_type: string; action_hash: string }> {
  const { json } = await post(`${service.url}/refunds`, body);
  const { action, action_hash } = json.required as { action: string; action_hash: string };
  return { action_type: action, action_hash };
}

/** A served JWKS, and the options of a service that trusts it. */
export class Keys {
  /** The document that is served. */
  jwks: JsonObject = log.jwks();
  /** The number of requests for it. */
  fetched = 0;
  readonly #served: Awaited<ReturnType<typeof listening>>;

  private constructor(served: Awaited<ReturnType<typeof listening>>) {
    this.#served = served;
  }

  static async serve(): Promise<Keys> {
    const keys: Keys = new Keys(
      await listening((_request, response) => {
        keys.fetched++;
        response
          .writeHead(200, { 'Content-Type': 'application/json' })
          .end(JSON.stringify(keys.jwks));
      }),
    );
    return keys;
  }

  get url(): string {
    return `${this.#served.url}/crypto/jwks.json`;
  }

  options(): GuardOptions {
    return {
      log: log.vkey,
      jwks: this.url,
      audience: AUDIENCE,
      tenants: [TENANT],
      service: { name: 'Refunds' },
      now: () => log.ms,
    };
  }

  close(): Promise<void> {
    return this.#served.close();
  }
}
