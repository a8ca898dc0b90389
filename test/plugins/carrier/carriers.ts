// A gateway with carriers for tests: keys of separate tenants, and requests to the gate with them.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Ask, Running } from '../../gateway/running.ts';

export const DAY_MS = 86_400_000;
/** A message that is classified as VIOLATION, and one that is not. */
export const VIOLATION = 'We do not hire people over 50.';
export const HARMLESS = 'Schedule the interview for Monday';

type Role = 'carrier' | 'insured';

/** A gateway, and the requests of the carrier layer by name. */
export class Carriers {
  readonly running: Running;
  #tenants = 0;
  readonly #insured = new Map<string, string>();

  private constructor(running: Running) {
    this.running = running;
  }

  static async start(): Promise<Carriers> {
    return new Carriers(await run());
  }

  /** A live key of a separate tenant, so that findings of one test do not affect another. */
  newKey(role: Role = 'carrier'): Promise<string> {
    this.#tenants += 1;
    return this.keyOf(`carrier-${String(this.#tenants)}`, role);
  }

  /** A live key of the named tenant. */
  async keyOf(tenant: string, role: Role): Promise<string> {
    const { key } = await this.running.gateway.tenants.issue({ tenant, kind: 'live', role });
    return key;
  }

  /** Enrolls an insured; later acts of the key are about this insured unless they name another one. */
  async enroll(key: string, company: string, more: object = {}): Promise<Answer> {
    const answer = await this.running.post('/carrier/v1/enroll', { company, ...more }, { key });
    if (answer.status === 200) this.#insured.set(key, answer.json.entity as string);
    return answer;
  }

  /** The entity of the last insured enrolled with a key, as a member of a request. */
  about(key: string): { readonly entity?: string } {
    const entity = this.#insured.get(key);
    return entity === undefined ? {} : { entity };
  }

  comply(key: string, slug: string, query = ''): Promise<Answer> {
    return this.running.get(`/carrier/v1/insured/${slug}/compliance${query}`, { key });
  }

  bind(key: string, body: object, ask: Ask = {}): Promise<Answer> {
    const asked = { policy_id: 'POL-1', ...body };
    return this.running.post('/pas/v1/bind-check', asked, { key, ...ask });
  }

  /** The receipt of a classification. */
  async classify(key: string, message: string, more: object = {}): Promise<JsonObject> {
    const body = { message, ...this.about(key), ...more };
    const { json, text } = await this.running.post('/api/v1/classify', body, { key });
    assert.ok(json.classification, text);
    return json as JsonObject;
  }

  /** The text of an entry of the live log; empty if there is none. */
  entryText(index: number): string {
    return this.running.gateway.logs.live.entry(index) ?? '';
  }

  close(): Promise<void> {
    return this.running.close();
  }
}

/** Decision and reasons of an answer, whose status must be 200. */
export const decided = ({ status, json, text }: Answer): [string, string[]] => {
  assert.equal(status, 200, text);
  return [json.decision as string, json.reasons as string[]];
};
