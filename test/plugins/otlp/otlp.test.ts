// The OTLP/HTTP receiver in a running gateway: exporters of the OpenTelemetry SDK with protobuf and JSON, the members
// of a span that are logged in clear, repeats, partial success, limits and errors. gateway/API.md §12.6.

import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { context, SpanStatusCode, trace as traces } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Json, JsonObject } from '../../../plugins/contract/index.ts';
import { decodeRequest, encodeProblem } from '../../../plugins/otlp/decode.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';
import { guideExample } from '../../support/guide-examples.ts';
import { setEnvironment } from '../../support/environment.ts';

const TRACE = '5b8efff798038103d269b633813fc60c';
const NOW = '1790000000000000000';

const text = (key: string, stringValue: string): JsonObject => ({ key, value: { stringValue } });
let counter = 0;
/** A GenAI span in OTLP/JSON, with a new span id unless `more` has one. */
function span(more: JsonObject = {}, attributes: readonly JsonObject[] = []): JsonObject {
  counter += 1;
  return {
    ...{ traceId: TRACE, spanId: counter.toString(16).padStart(16, '0'), name: 'chat' },
    ...{ startTimeUnixNano: NOW, endTimeUnixNano: NOW, futureField: { any: 1 } },
    attributes: [text('gen_ai.operation.name', 'chat'), ...attributes],
    ...more,
  };
}
const exported = (...spans: readonly JsonObject[]): JsonObject => ({
  resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: 'test' }, spans: [...spans] }] }],
});

describe('plugins/otlp', () => {
  let running: Running;
  before(async () => {
    running = await run({ OTLP_MAX_SPANS: '40', OTLP_MAX_BYTES: '400000' });
  });
  after(() => running.close());

  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    running.post('/v1/traces', body, { key: running.live, headers });
  const send = (bytes: Uint8Array, headers: Record<string, string>): Promise<Answer> =>
    running.ask('POST', '/v1/traces', {
      key: running.live,
      bytes: Uint8Array.from(bytes),
      headers,
    });

  /** Runs the SDK in a child process with the environment of the example in tools/AGENTS.md, and gzip. */
  function asInTheGuide<T>(make: () => T): T {
    const env = { ACTLOG_URL: running.url, ACTLOG_KEY: running.live };
    const lines = guideExample('otel').matchAll(/^export (\w+)=(.*)$/gm);
    const settings = [...lines].map(([, name = '', value = '']) => [
      name,
      value.replace(/\$(\w+)/g, (_, of: string) => env[of as keyof typeof env]),
    ]);
    assert.equal(settings.length, 3);
    const compressed = { OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip' };
    const restore = setEnvironment({ ...Object.fromEntries(settings), ...compressed });
    try {
      return make();
    } finally {
      restore();
    }
  }

  /** The entries of the plugin's type that a function appends, with their disclosures. */
  async function entriesOf(act: () => Promise<unknown>): Promise<Body[]> {
    const log = running.gateway.logs.live;
    const before = log.size();
    await act();
    const found: Body[] = [];
    for (let index = before; index < log.size(); index += 1) {
      const statement = JSON.parse(log.entry(index) ?? '');
      if (statement.type !== 'otlp.span.v1') continue;
      const path = `/receipt/lookup?entry_id=${statement.entry_id as string}`;
      const { receipt } = ok(await running.get(path, { key: running.live }));
      found.push({ statement, ...receipt.disclosures });
    }
    return found;
  }

  for (const [encoding, Exporter] of [
    ['protobuf', ProtobufExporter],
    ['JSON', JsonExporter],
  ] as const) {
    it(`accepts what the OpenTelemetry SDK exports in ${encoding}, as one batch`, async () => {
      const exporter: SpanExporter = asInTheGuide(() => new Exporter());
      const results: number[] = [];
      const failures: unknown[] = [];
      const counting: SpanExporter = {
        export: (spans, done) => {
          exporter.export(spans, (result) => {
            results.push(spans.length);
            if (result.error !== undefined) failures.push(result.error);
            done(result);
          });
        },
        shutdown: () => exporter.shutdown(),
      };
      const provider = new BasicTracerProvider({
        spanProcessors: [new BatchSpanProcessor(counting)],
      });
      let trace = '';
      const entries = await entriesOf(async () => {
        const tracer = provider.getTracer('zebra-agent', '1.0');
        const chat = tracer.startSpan('chat zebra-5', {
          startTime: 1_790_000_000_000,
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': 'zebra',
            'gen_ai.usage.input_tokens': 12,
            'gen_ai.input.messages': '[{"role":"user","content":"quagga"}]',
            'zebra.score': 0.5,
            'zebra.tags': ['a', 'b'],
          },
        });
        trace = chat.spanContext().traceId;
        chat.addEvent('quagga event', { 'gen_ai.prompt': 'quagga' });
        chat.end(1_790_000_001_500);
        const tool = tracer.startSpan(
          'execute_tool quagga',
          {
            attributes: {
              'gen_ai.operation.name': 'execute_tool',
              'gen_ai.tool.name': 'quagga',
              'gen_ai.tool.call.id': `call-${encoding}`,
              'gen_ai.tool.call.arguments': '{"quagga": 1}',
            },
          },
          traces.setSpan(context.active(), chat),
        );
        tool.setStatus({ code: SpanStatusCode.ERROR, message: 'zebra failed' });
        tool.end();
        tracer.startSpan('GET /plain').end();
        await provider.forceFlush();
      });
      await provider.shutdown();
      assert.deepEqual(failures, []);
      assert.deepEqual(results, [3]);
      assert.equal(entries.length, 2);
      const [chat, tool] = entries;
      const { statement } = chat;
      assert.equal(statement.operation, 'chat');
      assert.equal(statement.status, 'unset');
      assert.deepEqual(
        [statement.start_ms, statement.end_ms],
        [1_790_000_000_000, 1_790_000_001_500],
      );
      assert.equal(statement.input_tokens, 12);
      assert.equal(chat.span.value.trace_id, trace);
      assert.equal(chat.span.value.name, 'chat zebra-5');
      assert.deepEqual(chat.span.value.scope, { name: 'zebra-agent', version: '1.0' });
      assert.equal(chat.input.value, '[{"role":"user","content":"quagga"}]');
      assert.equal(chat.model.value['gen_ai.provider.name'], 'zebra');
      assert.deepEqual(chat.attributes.value['zebra.tags'], ['a', 'b']);
      assert.equal(chat.attributes.value['zebra.score'], 0.5);
      assert.equal(chat.events.value[0].name, 'quagga event');
      assert.equal(tool.statement.operation, 'execute_tool');
      assert.equal(tool.statement.status, 'error');
      assert.equal(tool.span.value.status_message, 'zebra failed');
      assert.equal(tool.tool_arguments.value, '{"quagga": 1}');
      assert.doesNotMatch(JSON.stringify(entries.map((one) => one.statement)), /zebra|quagga/i);
      // The session is the trace id: a silence receipt counts both spans.
      const asked = { session_id: trace, context: 'counts' };
      const silence = ok(
        await running.post('/silence-receipt', asked, {
          key: running.live,
          headers: { Prefer: 'wait=10' },
        }),
      );
      assert.equal(silence.silence.entries_in_window, 2);
    });
  }

  it('logs a span once, also if it is sent again or with other spans', async () => {
    const one = span();
    const call = [text('gen_ai.tool.name', 'search'), text('gen_ai.tool.call.id', 'call-7')];
    const asMcp = span({ attributes: [text('mcp.method.name', 'tools/call'), ...call] });
    const asTool = span({ attributes: [text('gen_ai.operation.name', 'execute_tool'), ...call] });
    const entries = await entriesOf(async () => {
      const sent = await Promise.all([
        ...[post(exported(one, asMcp)), post(exported(one, asTool))],
        ...[post(exported(asTool, one, one)), post(exported(one, span()))],
      ]);
      for (const answer of sent) assert.deepEqual(ok(answer), {});
    });
    assert.equal(entries.length, 3);
    assert.equal((await entriesOf(() => post(exported(one, asTool)))).length, 0);
    // The same ids from another tenant are another span.
    const other = await running.post('/v1/traces', exported(one), { key: running.sandbox });
    assert.deepEqual(ok(other), {});
  });

  it('refuses malformed spans individually, and says how many', async () => {
    const deep = (levels: number): JsonObject =>
      levels === 0 ? { stringValue: 'x' } : { arrayValue: { values: [deep(levels - 1)] } };
    const bad: readonly JsonObject[] = [
      span({ traceId: '00'.repeat(16) }),
      span({ spanId: 'zz' }),
      span({ startTimeUnixNano: -1 }),
      span({}, [{ key: 'deep', value: deep(40) }]),
      span({}, [text('half', '\ud800')]),
      span({}, [{ key: 7, value: { stringValue: 'x' } }]),
    ];
    let answer: Body;
    const entries = await entriesOf(async () => {
      answer = ok(await post(exported(span(), ...bad, span())));
    });
    assert.equal(entries.length, 2);
    assert.equal(answer.partialSuccess.rejectedSpans, bad.length);
    assert.match(answer.partialSuccess.errorMessage as string, /^6 spans are refused, .*traceId/);
  });

  it('reads every kind of value, and integers beyond 2^53 as text', async () => {
    const values: readonly (readonly [JsonObject, Json])[] = [
      [{ boolValue: true }, true],
      [{ intValue: '9007199254740993' }, '9007199254740993'],
      [{ intValue: 7 }, 7],
      [{ doubleValue: -0 }, 0],
      [{ doubleValue: 'NaN' }, 'NaN'],
      [{ bytesValue: 'AQI=' }, 'AQI='],
      [{ kvlistValue: { values: [text('a', 'b')] } }, { a: 'b' }],
      [{}, null],
    ];
    const attributes = values.map(([value], i) => ({ key: `v${String(i)}`, value }));
    const [entry] = await entriesOf(() => post(exported(span({}, attributes))));
    assert.deepEqual(
      values.map((_, i) => entry.attributes.value[`v${String(i)}`] as Json),
      values.map(([, expected]) => expected),
    );
  });

  it('answers errors as a google.rpc.Status in the type of the request', async () => {
    const json = await post('{"resourceSpans": [');
    assert.equal(json.status, 400);
    assert.equal(json.json.code, 3);
    assert.match(String(json.headers.get('content-type')), /^application\/json/);
    const type = 'application/x-protobuf';
    const proto = await send(Buffer.from('ffff', 'hex'), { 'content-type': type });
    assert.equal(proto.status, 400);
    assert.equal(proto.headers.get('content-type'), type);
    const expected = encodeProblem(type, 400, 'the body is not OTLP in application/x-protobuf');
    assert.equal(proto.text, expected.toString());
    const keyless = await running.post('/v1/traces', exported());
    assert.deepEqual([keyless.status, keyless.json.code], [401, 16]);
    const { status } = await send(Buffer.from('x'), { 'content-type': 'text/plain' });
    assert.equal(status, 415);
  });

  it('has limits on spans and on bytes, before and after decompression', async () => {
    const many = await post(exported(...Array.from({ length: 41 }, () => span())));
    assert.deepEqual([many.status, many.json.code], [413, 8]);
    const large = JSON.stringify(exported(span({}, [text('x', 'y'.repeat(400_000))])));
    assert.equal((await post(large)).status, 413);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    assert.equal((await send(gzipSync(large), headers)).status, 413);
    assert.equal((await send(Buffer.from('no gzip'), headers)).status, 400);
    const brotli = { ...headers, 'content-encoding': 'br' };
    assert.equal((await send(gzipSync('{}'), brotli)).status, 415);
    const small = gzipSync(JSON.stringify(exported(span())));
    assert.deepEqual(ok(await send(small, headers)), {});
  });

  it('appends to the chain of the entity in the request', async () => {
    const publish = { entity: 'acme', surfaces: ['policy_bind'] };
    ok(await running.post('/api/v1/astl/publish', publish, { key: running.live }));
    const path = '/v1/traces?entity=acme';
    const [entry] = await entriesOf(async () =>
      ok(await running.post(path, exported(span()), { key: running.live })),
    );
    assert.equal(entry.statement.entity, 'acme');
    const foreign = await running.post('/v1/traces?entity=unclaimed', exported(span()), {
      key: running.live,
    });
    assert.ok([400, 403].includes(foreign.status), foreign.text);
  });

  it('decodes any bytes to a message or throws an error', () => {
    for (let i = 0; i < 2000; i += 1) {
      const bytes = Buffer.from(
        Array.from({ length: i % 40 }, (_, at) => (i * 31 + at * 17) % 256),
      );
      for (const type of ['application/x-protobuf', 'application/json']) {
        try {
          assert.equal(typeof decodeRequest(bytes, type), 'object');
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'parameter_invalid');
        }
      }
    }
  });
});
