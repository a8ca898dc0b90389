// Spans of requests, as an OTLP receiver gets them.

import assert from 'node:assert/strict';
import { run } from './running.ts';
import type { Body, Running } from './running.ts';
import { listening } from '../support/listening.ts';
import type { Listening } from '../support/listening.ts';

const PARENT = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };

describe('gateway/tracing', () => {
  let receiver: Listening;
  let running: Running;
  const bodies: string[] = [];
  let spans: readonly Body[] = [];
  let receipt: Body;

  before(async () => {
    receiver = await listening((request, response) => {
      assert.equal(`${String(request.method)} ${String(request.url)}`, 'POST /v1/traces');
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(Buffer.concat(chunks).toString());
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    running = await run({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    const answered = await running.post(
      '/api/v1/classify',
      { message: 'a secret sentence' },
      {
        key: running.live,
        headers: { traceparent: `00-${PARENT.trace}-${PARENT.span}-01` },
      },
    );
    receipt = answered.json;
    await running.get('/r/sig_not-there?token=private-token');
    // The remaining spans are sent when the gateway stops.
    await running.close();
    spans = bodies
      .flatMap((body) => JSON.parse(body).resourceSpans)
      .flatMap(({ scopeSpans }: Body) => scopeSpans)
      .flatMap((scope: Body) => scope.spans);
  });
  after(() => receiver.close());

  const spanOf = (name: string): Body => {
    const named = spans.filter((span) => span.name === name);
    // A node that forwards a request has a span of it too, without the entry.
    const found =
      named.find(({ attributes }) => JSON.stringify(attributes).includes('entry')) ?? named[0];
    assert.ok(found !== undefined, JSON.stringify(spans.map((span) => span.name)));
    const attributes = Object.fromEntries(
      found.attributes.map(({ key, value }: Body) => [key, Object.values(value)[0]]),
    );
    return { ...found, attributes };
  };

  it('name route, status, log and the entry of the decision', () => {
    const { attributes, kind } = spanOf('POST /api/v1/classify');
    assert.equal(kind, 2, 'a server span');
    assert.equal(attributes['http.route'], '/api/v1/classify');
    assert.equal(attributes['http.request.method'], 'POST');
    assert.equal(Number(attributes['http.response.status_code']), 200);
    assert.equal(attributes['actlog.log.origin'], running.gateway.logs.live.origin);
    const shown = receipt.receipt ?? receipt;
    assert.equal(attributes['actlog.entry.id'], shown.entry_id);
    assert.match(attributes['actlog.request_id'], /^req_/);
  });

  it('continue the trace of the caller (W3C traceparent), and begin one otherwise', () => {
    const { traceId, parentSpanId } = spanOf('POST /api/v1/classify');
    assert.equal(traceId, PARENT.trace);
    // In a cluster, the parent is the span of the node that forwarded the request.
    const above = spans.find(({ spanId }) => spanId === parentSpanId);
    assert.equal(above?.parentSpanId ?? parentSpanId, PARENT.span);
    const other = spans.find((span) => span.traceId !== PARENT.trace);
    assert.equal(other.parentSpanId ?? '', '');
  });

  it('have the start and the end of the request as their times', () => {
    const { startTimeUnixNano, endTimeUnixNano } = spanOf('POST /api/v1/classify');
    const took_ms = Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6;
    assert.ok(took_ms > 0 && took_ms < 60_000, String(took_ms));
    assert.ok(Math.abs(Number(BigInt(endTimeUnixNano) / 1_000_000n) - Date.now()) < 600_000);
  });

  it('contain no text, path or key of a caller', () => {
    const text = bodies.join();
    for (const secret of ['secret sentence', 'private-token', 'sig_not-there']) {
      assert.ok(!text.includes(secret), secret);
    }
    assert.ok(!text.includes(running.live));
  });

  it('are dropped if the receiver does not answer, and delay neither requests nor the stop', async () => {
    const lines: string[] = [];
    const alone = await run(
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
      { lines: (line) => lines.push(line) },
    );
    assert.equal((await alone.get('/health')).status, 200);
    await alone.close();
    assert.ok(lines.some((line) => line.includes('spans were not taken by the receiver')));
  });
});
