// Batches over HTTP: gateway/API.md §4.5.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'mocha';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

interface Line {
  readonly line: number;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>> & {
    readonly error?: {
      readonly code: string;
      readonly param?: string;
      readonly request_id: string;
    };
  };
}

const NDJSON = 'application/x-ndjson';
const classify = (message: string, more: object = {}): string =>
  JSON.stringify({ message, ...more });

describe('batches', () => {
  let running: Running;
  before(async () => {
    running = await run({ MAX_BATCH_BYTES: '200000' });
  });
  after(() => running.close());

  async function send(
    lines: string | readonly string[],
    {
      path = '/api/v1/classify/batch',
      key = running.live,
      ...headers
    }: Record<string, string> = {},
  ): Promise<{ readonly status: number; readonly lines: readonly Line[] }> {
    const response = await fetch(running.url + path, {
      method: 'POST',
      headers: { 'Content-Type': NDJSON, ...(key === '' ? {} : { 'X-API-Key': key }), ...headers },
      body: typeof lines === 'string' ? lines : lines.join('\n'),
    });
    const text = await response.text();
    if (response.status !== 200) return { status: response.status, lines: [JSON.parse(text)] };
    assert.equal(response.headers.get('content-type'), NDJSON);
    assert.ok(text.endsWith('\n'));
    return {
      status: 200,
      lines: text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line),
    };
  }

  /** Results of the classifier in the live log from an index on. */
  const resultsFrom = (start: number): number => {
    const log = running.gateway.logs.live;
    const indexes = Array.from({ length: log.size() - start }, (_, i) => start + i);
    return indexes.filter((index) => log.entry(index)?.includes('"type":"classify.')).length;
  };

  const refusal = async (...args: Parameters<typeof send>) => {
    const { status, lines } = await send(...args);
    return [status, (lines[0] as unknown as Line['body']).error?.code];
  };

  it('answers each line as a separate request, in order', async () => {
    const before = running.gateway.logs.live.size();
    const { lines } = await send(
      Array.from({ length: 300 }, (_, i) => classify(`The meeting is on day ${String(i)}`)),
    );
    assert.deepEqual(
      lines.map(({ line, status }) => [line, status]),
      Array.from({ length: 300 }, (_, i) => [i + 1, 200]),
    );
    const ids = new Set(lines.map(({ body }) => body['entry_id']));
    assert.equal(ids.size, 300);
    for (const { body } of lines) {
      assert.equal(body['classification'], 'SAFE');
      assert.equal(typeof body['signature'], 'string');
    }
    assert.equal(resultsFrom(before), 300);
    const [first] = lines;
    const shown = await running.get(`/receipt/lookup?entry_id=${String(first?.body['entry_id'])}`);
    assert.equal((shown.json as { found: boolean }).found, true);
  });

  it('continues after lines that are refused, each with its own error', async () => {
    const { lines } = await send([
      classify('A first line'),
      '{"message": ',
      '',
      classify('Ignored?', { mesage: 1 }),
      '[]',
      classify('x', { idempotency_key: 7 }),
      `{"message":"a","message":"b"}`,
      classify('The last line'),
    ]);
    assert.deepEqual(
      lines.map(({ line, status, body }) => [line, status, body.error?.code]),
      [
        [1, 200, undefined],
        [2, 400, 'invalid_json'],
        [4, 400, 'parameter_unknown'],
        [5, 400, 'parameter_invalid'],
        [6, 400, 'invalid_idempotency_key'],
        [7, 400, 'invalid_json'],
        [8, 200, undefined],
      ],
    );
    for (const { body } of lines) {
      if (body.error !== undefined) assert.match(body.error.request_id, /^req_[A-Za-z0-9]{24}$/);
    }
  });

  it('stores an idempotency_key for a line, shared with single requests', async () => {
    const key = 'batch-line-1';
    const { lines } = await send([
      classify('Once', { idempotency_key: key }),
      classify('Twice', { idempotency_key: 'batch-line-2' }),
    ]);
    const size = running.gateway.logs.live.size();
    const again = await send([
      classify('Twice', { idempotency_key: 'batch-line-2' }),
      classify('Other', { idempotency_key: key }),
    ]);
    assert.deepEqual(again.lines[0]?.body, lines[1]?.body);
    assert.deepEqual(
      [again.lines[1]?.status, again.lines[1]?.body.error?.code],
      [409, 'idempotency_key_reused'],
    );
    const single = await running.post(
      '/api/v1/classify',
      { message: 'Once' },
      { key: running.live, headers: { 'Idempotency-Key': key } },
    );
    assert.deepEqual(single.json, lines[0]?.body);
    assert.equal(resultsFrom(size), 0);
  });

  it('waits for the checkpoint of each line if the request prefers it', async () => {
    const { lines } = await send([classify('One'), classify('Two')], { Prefer: 'wait=10' });
    for (const { body } of lines) {
      assert.equal(typeof (body['log'] as { checkpoint?: string }).checkpoint, 'string');
    }
  });

  it('answers batches of the other layers', async () => {
    const gate = JSON.stringify({ action_type: 'wire', agent_id: 'agent:a' });
    const decided = await send([gate, gate], { path: '/api/v1/execute-gate/batch' });
    assert.deepEqual(
      decided.lines.map(({ body }) => body['outcome']),
      ['SILENCE', 'SILENCE'],
    );
    const bind = (n: number): string =>
      JSON.stringify({ payment_hash: String(n).padStart(64, '0'), agent_id: 'agent:a' });
    const bound = await send([bind(1), bind(2), bind(1)], { path: '/api/v1/bind-payment/batch' });
    assert.deepEqual(
      bound.lines.map(({ status }) => status),
      [200, 200, 200],
    );
  });

  it('refuses a malformed batch as a whole, before any line runs', async () => {
    const size = running.gateway.logs.live.size();
    assert.deepEqual(await refusal('\n\r\n'), [400, 'body_required']);
    assert.deepEqual(await refusal(''), [400, 'body_required']);
    assert.deepEqual(await refusal(`${classify('x')}\n`.repeat(1001)), [413, 'payload_too_large']);
    assert.deepEqual(await refusal('x'.repeat(200_001)), [413, 'payload_too_large']);
    const json = { 'Content-Type': 'application/json' };
    assert.deepEqual(await refusal(classify('x'), json), [415, 'unsupported_media_type']);
    assert.deepEqual(await refusal(classify('x'), { key: '' }), [401, 'api_key_missing']);
    const header = { 'Idempotency-Key': 'for-all-lines' };
    assert.deepEqual(await refusal(classify('x'), header), [400, 'invalid_idempotency_key']);
    assert.equal(resultsFrom(size), 0);
  });

  it('has the routes in the OpenAPI document', async () => {
    const { json: body } = await running.get('/openapi.json');
    const paths = Object.keys((body as { paths: object }).paths);
    for (const path of [
      '/api/v1/classify',
      '/api/v1/astl/heartbeat',
      '/api/v1/execute-gate',
      '/api/v1/bind-payment',
      '/api/v1/restraint',
      '/api/v1/anchors',
    ]) {
      assert.ok(paths.includes(`${path}/batch`), path);
    }
  });
});

describe('the rate limit of a batch', () => {
  it('counts lines, and refuses only those beyond it', async () => {
    const running = await run({ RATE_LIMITS: 'on', RATE_LIVE: '5' });
    try {
      const response = await fetch(`${running.url}/api/v1/classify/batch`, {
        method: 'POST',
        headers: { 'Content-Type': NDJSON, 'X-API-Key': running.live },
        body: Array.from({ length: 7 }, (_, i) => classify(`Line ${String(i)}`)).join('\n'),
      });
      const lines = (await response.text()).trimEnd().split('\n');
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as Line).status),
        [200, 200, 200, 200, 200, 429, 429],
      );
    } finally {
      await running.close();
    }
  });
});
