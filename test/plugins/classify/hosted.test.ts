// Classification by a hosted model: what is logged of its answer, and that a failure is ERROR. gateway/API.md §6.3.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigError } from '../../../gateway/config.ts';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';

describe('a gateway with CLASSIFIER_URL', () => {
  let endpoint: Server;
  let running: Running;
  let settings: Record<string, string>;
  let reply: (response: ServerResponse) => void;
  let asked: { authorization: string | undefined; body: string }[] = [];

  before(async () => {
    endpoint = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
      request.on('end', () => {
        asked.push({ authorization: request.headers.authorization, body });
        reply(response);
      });
    });
    await new Promise<void>((listening) => endpoint.listen(0, '127.0.0.1', listening));
    const { port } = endpoint.address() as AddressInfo;
    settings = {
      CLASSIFIER_URL: `http://127.0.0.1:${String(port)}/v1/moderations`,
      CLASSIFIER_MODEL: 'judge-1',
      CLASSIFIER_API_KEY: 'secret-token',
    };
    running = await run({ ...settings, CLASSIFIER_TIMEOUT_MS: '60000' });
  });

  after(async () => {
    await running.close();
    endpoint.closeAllConnections();
    endpoint.close();
  });

  const classify = (body: object, headers = {}, of = running) =>
    of.post('/api/v1/classify', body, { key: of.live, headers });
  const flagged = (response: ServerResponse): void => {
    const results = [
      { flagged: true, categories: { hate: true }, category_scores: { hate: 0.913 } },
    ];
    response.end(JSON.stringify({ model: 'judge-1-0613', results }));
  };

  it('logs its verdict and the name that it reports, without weights', async () => {
    reply = flagged;
    const { status, json } = await classify({ message: 'hello', domain: 'lending' });
    assert.equal(status, 200);
    assert.equal(json.classification, 'VIOLATION');
    assert.deepEqual(json.classifier, { id: 'openai-compatible', version: 'judge-1-0613' });
    assert.deepEqual([json.violation_milli, json.domain], [913, 'lending']);
    assert.equal(asked.at(-1)?.authorization, 'Bearer secret-token');
  });

  it('does not call it again for a repeated Idempotency-Key', async () => {
    reply = flagged;
    const key = { 'Idempotency-Key': 'once-and-no-more' };
    const first = await classify({ message: 'again' }, key);
    asked = [];
    const second = await classify({ message: 'again' }, key);
    assert.equal(second.text, first.text);
    assert.deepEqual(asked, []);
  });

  for (const [what, failing] of [
    ['an error', (response: ServerResponse) => response.writeHead(500).end()],
    ['no JSON', (response: ServerResponse) => response.end('<html>')],
    ['no answer in time', () => undefined],
  ] as const) {
    it(`is ERROR, and logged, when the endpoint gives ${what}`, async () => {
      reply = failing;
      // For the silent endpoint a gateway with a short timeout is used, for the others one with a long timeout.
      const hasty = what === 'no answer in time';
      const asks = hasty ? await run({ ...settings, CLASSIFIER_TIMEOUT_MS: '100' }) : running;
      const { status, json } = await classify({ message: 'hello' }, {}, asks);
      if (hasty) await asks.close();
      assert.deepEqual([status, json.classification, json.score_milli], [200, 'ERROR', 0]);
      assert.equal(json.classifier.version, 'judge-1');
    });
  }

  it('refuses to start with a model name that no statement can contain', async () => {
    await assert.rejects(
      run({ CLASSIFIER_URL: 'https://judge.example/v1', CLASSIFIER_MODEL: 'org/model' }),
      ConfigError,
    );
  });
});
