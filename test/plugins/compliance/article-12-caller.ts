// The requests of a caller about Article 12: logs events and decisions of a session, and fetches its report.

import assert from 'node:assert/strict';
import type { Answer, Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';

export const SEAL = '/compliance/eu-ai-act/article-12/seal';
export const REPORT = '/compliance/eu-ai-act/article-12';

/** Each call uses the live key unless another is given; `ask` sends no key if it is empty. */
export interface Caller {
  seal(body: object, key?: string): Promise<Body>;
  classify(session_id: string, message?: string): Promise<Body>;
  ask(session_id: string, format?: string, key?: string): Promise<Answer>;
  report(session_id: string): Promise<Body>;
  /** The statement of an entry of the live log, as text. */
  entry(index: number): string;
}

export function callerOf(running: Running): Caller {
  const { live } = running;
  const good = (answer: Answer): Body => {
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const ask = (session_id: string, format?: string, key = live): Promise<Answer> => {
    const query = new URLSearchParams({ session_id, ...(format === undefined ? {} : { format }) });
    return running.get(`${REPORT}?${query.toString()}`, key === '' ? {} : { key });
  };
  return {
    ask,
    seal: async (body, key = live) => good(await running.post(SEAL, body, { key })),
    classify: async (session_id, message = 'Schedule the interview for Monday') =>
      good(await running.post('/api/v1/classify', { message, session_id }, { key: live })),
    report: async (session_id) => good(await ask(session_id)),
    entry: (index) => running.gateway.logs.live.entry(index) ?? '',
  };
}
