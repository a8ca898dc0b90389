// A refund that services of others protect: the log that permits it, the JWKS that they fetch, and requests for it.

import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import type { GuardOptions } from '../../../plugins/require-receipt/middleware.ts';
import { TENANT } from '../../support/forge.ts';
import { GateLog } from './permits.ts';
import { listening } from '../../support/listening.ts';
import type { Service } from './services.ts';
import type { Body } from '../../support/body.ts';

/** The gate's log, whose permits they take. */
export const log = new GateLog();
/** The body of the act. */
export const BODY = { order: 'A-7', amount: 12.5 };
/** Who the services say that they are. */
export const AUDIENCE = 'https://shop.example';

/** An answer of a service. */
export interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Body;
}

/** Asks for it, with or without a body and a permit. */
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

/** What the challenge asks for, as an action to permit. */
export async function asked(
  service: Service,
  body: Json = BODY,
): Promise<{ action_type: string; action_hash: string }> {
  const { json } = await post(`${service.url}/refunds`, body);
  const { action, action_hash } = json.required as { action: string; action_hash: string };
  return { action_type: action, action_hash };
}

/** A JWKS that is served, and the options of a service that trusts it. */
export class Keys {
  /** What is served. */
  jwks: JsonObject = log.jwks();
  /** How often it was asked for. */
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
