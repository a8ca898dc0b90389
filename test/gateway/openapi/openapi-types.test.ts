// The content types of answers are those in the OpenAPI document.

import assert from 'node:assert/strict';
import { run } from '../running.ts';
import { referred } from './referred.ts';
import type { Ask, Running } from '../running.ts';

interface Documented {
  readonly paths: Record<
    string,
    Record<string, { readonly responses: Record<string, { readonly content?: object }> }>
  >;
}

const PERMITTED = { rules: [{ id: 'all', effect: 'allow', action_prefixes: ['payment.'] }] };

describe('content types in the OpenAPI document', () => {
  let running: Running;
  let document: Documented;
  before(async () => {
    running = await run();
    document = (await running.get('/openapi.json')).json as Documented;
  });
  after(() => running.close());

  /** Checks that the answer is documented, and that its type is the one expected. */
  const comes = async (
    method: string,
    declared: string,
    asked: string,
    [status, type]: readonly [number, string],
    more: Ask = {},
  ): Promise<void> => {
    const answer = await running.ask(method, asked, { key: running.live, ...more });
    assert.equal(answer.status, status, answer.text);
    const [media = ''] = (answer.headers.get('content-type') ?? '').split(';');
    assert.equal(media, type, asked);
    const { responses = {} } = document.paths[declared]?.[method.toLowerCase()] ?? {};
    const documented = referred(document, responses[String(status)] ?? {});
    const types = Object.keys(documented.content ?? {});
    const known = types.map((one) => one.split(';')[0]);
    assert.ok(known.includes(media), `${asked} is ${media}, documented as ${known.join(', ')}`);
  };

  it('are those of each format', async () => {
    await running.post('/api/v1/execute-gate/policy', PERMITTED, { key: running.live });
    const { json } = await running.post(
      '/api/v1/execute-gate',
      { action_type: 'payment.release', agent_id: 'agent:a' },
      { key: running.live },
    );
    const entry = `entry_id=${String(json.decision_entry_id)}`;
    const formats: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
      [
        '/compliance/eu-ai-act/article-12',
        '/compliance/eu-ai-act/article-12?session_id=a',
        { json: 'application/json', txt: 'text/plain', html: 'text/html' },
      ],
      [
        '/compliance/naic/exhibit-pack/{session_id}',
        '/compliance/naic/exhibit-pack/a?log_number=1',
        { json: 'application/json', txt: 'text/plain' },
      ],
      [
        '/api/v1/clear/usage',
        '/api/v1/clear/usage?month=2026-07',
        { json: 'application/json', csv: 'text/csv' },
      ],
      [
        '/standards/issuer-pays-scoreboard.json',
        `/standards/issuer-pays-scoreboard.json?${entry}`,
        { json: 'application/json', txt: 'text/plain' },
      ],
    ];
    for (const [declared, asked, types] of formats) {
      for (const [format, type] of Object.entries(types)) {
        await comes('GET', declared, `${asked}&format=${format}`, [200, type]);
      }
    }
  });

  it('are that of a stream', async () => {
    const body = {
      model: 'svc-seal-1',
      stream: true,
      messages: [
        { role: 'user', content: 'Is the applicant shortlisted?' },
        { role: 'assistant', content: 'A person will decide that.' },
      ],
    };
    const path = '/api/v1/inference/chat/completions';
    await comes('POST', path, path, [200, 'text/event-stream'], { body });
    await comes('POST', path, path, [400, 'application/json'], { body: {} });
  });

  it('are those of errors in the form of another standard', async () => {
    const type = 'application/concise-problem-details+cbor';
    await comes('GET', '/entries/{entry_id}', '/entries/xyz', [404, type]);
    await comes('GET', '/entries/{entry_id}', '/entries/xyz', [401, type], { key: 'svc_live_no' });
    await comes('GET', '/health', '/health', [401, 'application/json'], { key: 'svc_live_no' });
  });
});
