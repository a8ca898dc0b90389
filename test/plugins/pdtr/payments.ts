// A gateway that binds payments, for tests. When it stops, it asserts that no text of a request is in its logs.

import assert from 'node:assert/strict';
import type { JsonObject, Log } from '../../../log/index.ts';
import { serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';
import type { Answer } from '../../gateway/running.ts';

/** An act with all its members. */
export const ACT = {
  ...{ agent_id: 'agent:checkout-bot', action_type: 'purchase.fulfill' },
  ...{ scope: 'merchant:acme', timestamp_ms: 1_779_200_000_000 },
};
/** The members of the act that its action_ref is computed from. */
export const TUPLE = { ...ACT, seq: 0, terminal: true };

let serial = 0;
/** A payment_hash that no other test uses. */
export const fresh = (): string => (serial += 1).toString(16).padStart(64, 'c');

/** Options of a bind beside its body: by default, the sandbox key of the gateway. */
export interface How {
  readonly key?: string | null;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A gateway that is asked to bind. */
export interface Payments extends Surfaces {
  bind(body: object, how?: How): Promise<Answer>;
  /** The settlement of a bind that must succeed. */
  bound(body: object, key?: string | null): Promise<JsonObject>;
  /** The receipt of a decision of the classifier. */
  decided(more?: object): Promise<Answer['json']>;
}

/** Starts a gateway. Texts that must not reach a log contain the word zebra. */
export async function servePayments(): Promise<Payments> {
  const served = await serveSurfaces();
  const { gateway } = served;
  const bind = (
    body: object,
    { key = gateway.sandbox, path = '/api/v1/bind-payment', headers = {} }: How = {},
  ): Promise<Answer> => gateway.post(path, body, { headers, ...(key === null ? {} : { key }) });
  return {
    ...served,
    bind,
    async bound(body, key = gateway.sandbox) {
      const answer = await bind(body, { key });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.settlement as JsonObject;
    },
    async decided(more = {}) {
      const message = 'Schedule the interview for Monday';
      const { json } = await gateway.post(
        '/api/v1/classify',
        { message, ...more },
        { key: gateway.sandbox },
      );
      return json;
    },
    async close() {
      try {
        for (const kind of ['live', 'sandbox'] as const) assertUnwritten(served.log(kind));
      } finally {
        await served.close();
      }
    },
  };
}

/** Asserts that no entry of the log contains the word zebra. */
export function assertUnwritten(log: Log): void {
  for (let index = 0; index < log.size(); index++) {
    assert.doesNotMatch(log.entry(index) ?? '', /zebra/i);
  }
}

/** The entries of a log from this index on. */
export function entriesFrom(log: Log, from: number): JsonObject[] {
  return Array.from(
    { length: log.size() - from },
    (_, i) => JSON.parse(log.entry(from + i) ?? '{}') as JsonObject,
  );
}
