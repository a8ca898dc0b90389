// A running gateway and the requests that the tests of astl and absence make; both logs are replayed at the end.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import type { Kind, Log } from '../../../log/index.ts';
import { Replay } from '../../../log/replay/replay.ts';
import { trustedKeyOf } from '../../../log/verify.ts';
import type { Trust } from '../../../log/verify.ts';
import type { AnyPlugin } from '../../../plugins/contract/index.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';

export const ENTITY = 'did:example:acme';

/** The JSON of an answer, with untyped members. */
export type Body = Answer['json'];

/** The members of answers that these tests read. */
export interface Surfaces {
  readonly gateway: Running;
  /** A key of another tenant in the sandbox. */
  readonly other: string;
  publish(body: object, key?: string | null): Promise<Answer>;
  beat(body: object, key?: string): Promise<Answer>;
  /** Classifies a message with this surface, which is an act on it. */
  act(surface: string, entity?: string): Promise<Answer>;
  /** Requests an absence witness, and waits until its window is closed. */
  witness(body: object, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The keys and the origin that a verifier of the log must know. */
  trust(kind?: Kind): Trust;
  log(kind?: Kind): Log;
  /** Waits until the log has a map head at or after the present time, and returns that time. */
  head(): Promise<number>;
  /** Replays both logs completely, and stops the gateway. */
  close(): Promise<void>;
}

/** Starts a gateway; requests go to the sandbox log unless a test selects another. */
export async function serveSurfaces(plugins: readonly AnyPlugin[] = []): Promise<Surfaces> {
  const gateway = await run({}, { plugins });
  const issued = await gateway.gateway.tenants.issue({ tenant: 'rival', kind: 'sandbox' });
  const own = gateway.sandbox;
  const log = (kind: Kind = 'sandbox'): Log => gateway.gateway.logs[kind];
  return {
    gateway,
    other: issued.key,
    publish: (body, key = own) =>
      gateway.post('/api/v1/astl/publish', body, key === null ? {} : { key }),
    beat: (body, key = own) => gateway.post('/api/v1/astl/heartbeat', body, { key }),
    act: (surface, entity = ENTITY) =>
      gateway.post(
        '/api/v1/classify',
        { message: 'Schedule the interview for Monday', entity, surface },
        { key: own },
      ),
    witness: (body, headers = { Prefer: 'wait=20' }) =>
      gateway.post('/api/v1/absence/witness', body, { key: own, headers }),
    trust(kind) {
      const { origin, vkey } = log(kind);
      return { origin, vkey, keys: log(kind).receiptKeys().map(trustedKeyOf) };
    },
    log,
    async head() {
      const { map_head_ms } = await log().whenPublished(log().size() + 1);
      return map_head_ms;
    },
    async close() {
      try {
        for (const kind of ['live', 'sandbox'] as const) replayed(log(kind));
      } finally {
        await gateway.close();
      }
    },
  };
}

/** Checks every rule of the format for every entry of a log, with signatures and map heads. */
export function replayed(log: Log): void {
  const replay = new Replay({ suite: native, origin: log.origin });
  for (let index = 0; index < log.size(); index++) {
    const text = log.entry(index);
    assert.ok(text !== null);
    replay.add(text);
  }
}

/** The `error` of an envelope: status, code and param. */
export function problem({ status, json }: Answer): readonly unknown[] {
  return [status, json.error.code, json.error.param];
}
