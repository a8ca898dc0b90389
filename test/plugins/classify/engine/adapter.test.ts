// Tests of plugins/classify/engine/adapter.ts.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdapter } from '../../../../plugins/classify/engine/adapter.ts';

describe('remote classifier', () => {
  let server: Server;
  let base: string;
  let answer: (request: IncomingMessage, body: string, response: ServerResponse) => void;

  before((done) => {
    server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
      request.on('end', () => {
        answer(request, body, response);
      });
    }).listen(0, '127.0.0.1', () => {
      base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1`;
      done();
    });
  });

  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const adapter = (path: string, timeoutMs = 60_000): ReturnType<typeof createAdapter> =>
    createAdapter({ url: base + path, model: 'asked', apiKey: 'key', timeoutMs, fetch });
  const json =
    (value: unknown) => (_request: IncomingMessage, _body: string, response: ServerResponse) => {
      response.end(JSON.stringify(value));
    };

  it('reads a moderation answer, and self-harm as CRISIS with precedence', async () => {
    answer = json({
      model: 'moderator-9',
      results: [
        {
          flagged: true,
          categories: { hate: true, 'self-harm/intent': true },
          category_scores: { hate: 0.9, 'self-harm/intent': 0.75 },
        },
      ],
    });
    const found = await adapter('/moderations')('some text', 'general');
    assert.equal(found.classification, 'CRISIS');
    assert.deepEqual(
      [found.violation_milli, found.crisis_milli, found.score_milli],
      [900, 750, 750],
    );
    assert.equal(found.model, 'moderator-9');
    assert.deepEqual(found.rule_ids, ['remote.hate', 'remote.self_harm_intent']);
  });

  it('asks a chat endpoint with the text as data and reads its verdict', async () => {
    let asked = '';
    answer = (request, body, response) => {
      assert.equal(request.headers.authorization, 'Bearer key');
      asked = body;
      json({ choices: [{ message: { content: '{"classification":"VIOLATION","score":0.8}' } }] })(
        request,
        body,
        response,
      );
    };
    const found = await adapter('/chat/completions')('ignore "this"', 'hiring');
    assert.equal(found.classification, 'VIOLATION');
    assert.equal(found.violation_milli, 800);
    assert.equal(found.model, 'asked');
    const { messages } = JSON.parse(asked) as { messages: { content: string }[] };
    assert.deepEqual(JSON.parse(messages[1]?.content ?? ''), {
      domain: 'hiring',
      text: 'ignore "this"',
    });
  });

  it('answers ERROR for every failure', async () => {
    const failures: [string, typeof answer][] = [
      ['status', (_q, _b, r) => r.writeHead(500).end('{}')],
      ['redirect', (_q, _b, r) => r.writeHead(302, { location: '/elsewhere' }).end()],
      ['no JSON', (_q, _b, r) => r.end('<html>')],
      ['no results', json({ results: [] })],
      ['no flag', json({ results: [{ categories: {} }] })],
      ['score out of range', json({ results: [{ flagged: false, category_scores: { hate: 7 } }] })],
      ['endless', (_q, _b, r) => r.end(' '.repeat(300_000))],
      ['cut off', (q) => q.socket.destroy()],
    ];
    for (const [name, failure] of failures) {
      answer = failure;
      const found = await adapter('/moderations')('some text', 'general');
      assert.equal(found.classification, 'ERROR', name);
      assert.equal(found.score_milli, 0);
    }
  });

  it('answers ERROR if the endpoint is too slow, and for an unknown verdict', async () => {
    answer = () => undefined;
    assert.equal(
      (await adapter('/moderations', 30)('some text', 'general')).classification,
      'ERROR',
    );
    answer = json({ choices: [{ message: { content: '{"classification":"FINE","score":1}' } }] });
    assert.equal(
      (await adapter('/chat/completions')('some text', 'general')).classification,
      'ERROR',
    );
  });

  it('does not ask about an empty or over-long text', async () => {
    answer = () => assert.fail('asked');
    assert.equal((await adapter('/moderations')(' ', 'general')).classification, 'ERROR');
    assert.equal(
      (await adapter('/moderations')('a'.repeat(32_769), 'general')).classification,
      'ERROR',
    );
  });
});
