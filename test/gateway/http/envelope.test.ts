// What every answer has, also after an error: the envelope, its request id, headers, methods.
// gateway/API.md §4.1, §4.3.

import assert from 'node:assert/strict';
import { notes } from '../notes.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';
import { codeOf } from './envelope.ts';

describe('every answer', () => {
  let running: Running;
  before(async () => (running = await run({}, { plugins: [notes()] })));
  after(() => running.close());

  it('has a unique request id', async () => {
    const ids = new Set<string | null>();
    for (let i = 0; i < 20; i += 1)
      ids.add((await running.get('/notes/total')).headers.get('x-request-id'));
    assert.equal(ids.size, 20);
    for (const id of ids) assert.match(String(id), /^req_[0-9A-Za-z]{24}$/);
  });

  it('is an envelope for a path that no route declares', async () => {
    for (const path of ['/nothing', '/notes/total/', '/Notes/total', '/%', '/%2e%2e/x']) {
      assert.equal(codeOf(await running.get(path), 404), 'route_not_found');
    }
  });

  it('is a page for a browser that asks for a page, and an envelope for everything else', async () => {
    const browser = { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
    for (const path of ['/nothing', '/log?log=lve', '/r/nothing', '/log/lve/1', '/guides/x']) {
      const { status, headers, text } = await running.get(path, browser);
      assert.ok(status === 404 || status === 400, path);
      assert.match(headers.get('content-type') ?? '', /^text\/html/, path);
      assert.match(headers.get('vary') ?? '', /Accept/, path);
      assert.match(text, /<h1>[^]*action="\/log"/, path);
      const plain = await running.get(path);
      assert.match(plain.headers.get('content-type') ?? '', /^application\/json/, path);
    }
    for (const path of ['/api/v1/nothing', '/export/nothing', '/status.json?x=1', '/notes/x']) {
      const { status, headers } = await running.get(path, browser);
      assert.ok(status >= 400, path);
      assert.match(headers.get('content-type') ?? '', /^application\/json/, path);
    }
    const written = await running.ask('POST', '/nothing', browser);
    assert.match(written.headers.get('content-type') ?? '', /^application\/json/);
  });

  it('is 405 with Allow for another method', async () => {
    const answer = await running.ask('DELETE', '/notes/total');
    assert.equal(codeOf(answer, 405), 'method_not_allowed');
    assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS');
    const write = await running.get('/notes/sometopic');
    assert.equal(codeOf(write, 405), 'method_not_allowed');
    assert.equal(write.headers.get('allow'), 'POST, OPTIONS');
  });

  it('shows no cause of a defect', async () => {
    const answer = await running.get('/notes/broken');
    assert.equal(codeOf(answer, 500), 'internal_error');
    assert.doesNotMatch(answer.text, /secret|TypeError/);
  });

  it('has security headers, also as an error', async () => {
    for (const path of ['/notes/total', '/nothing', '/notes/broken']) {
      const { headers } = await running.get(path);
      const csp = headers.get('content-security-policy') ?? '';
      assert.match(csp, /default-src 'none'/);
      assert.doesNotMatch(csp, /unsafe/);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('x-frame-options'), 'DENY');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('x-powered-by'), null);
    }
  });

  it('has no body on HEAD, and the length that GET has', async () => {
    const get = await running.get('/notes/total');
    const head = await running.ask('HEAD', '/notes/total');
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
  });

  it('answers OPTIONS with the methods', async () => {
    const answer = await running.ask('OPTIONS', '/notes/total');
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS');
  });
});

describe('cross-origin reads', () => {
  let running: Running;
  before(async () => (running = await run({}, { plugins: [notes()] })));
  after(() => running.close());
  const origin = { Origin: 'https://elsewhere.example' };

  it('are open on public GETs', async () => {
    const read = await running.get('/notes/total', { headers: origin });
    assert.equal(read.headers.get('access-control-allow-origin'), '*');
    assert.match(read.headers.get('access-control-expose-headers') ?? '', /X-Request-Id/);
    const preflight = await running.ask('OPTIONS', '/notes/total', {
      headers: { ...origin, 'Access-Control-Request-Method': 'GET' },
    });
    assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
    assert.doesNotMatch(
      preflight.headers.get('access-control-allow-headers') ?? '',
      /key|authorization/i,
    );
  });

  it('are closed on everything else', async () => {
    const secret = await running.get('/notes/secret', { key: running.live, headers: origin });
    assert.equal(secret.status, 200);
    assert.equal(secret.headers.get('access-control-allow-origin'), null);
    const write = await running.post('/notes/a', { text: 'x' }, { headers: origin });
    assert.equal(write.status, 200);
    assert.equal(write.headers.get('access-control-allow-origin'), null);
    const preflight = await running.ask('OPTIONS', '/notes/a', {
      headers: { ...origin, 'Access-Control-Request-Method': 'POST' },
    });
    assert.equal(preflight.headers.get('access-control-allow-origin'), null);
  });
});
