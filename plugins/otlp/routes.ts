// POST /v1/traces: the OTLP/HTTP receiver. gateway/API.md §12.6; opentelemetry.io, OTLP 1.11.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, EntityName, route } from '../contract/index.ts';
import type { Caller, Draft, PluginHost, Route, RouteContext } from '../contract/index.ts';
import { decodeRequest, encodeProblem, encodeResponse, JSON_TYPE, PROTOBUF } from './decode.ts';
import { DOES_NOT_ASSERT, seenRow, SPAN } from './entries.ts';
import { countSpans, readSpans } from './spans.ts';
import type { GenAiSpan } from './spans.ts';

/** The settings of the plugin. */
export const OtlpSettings = Type.Object({
  OTLP_MAX_BYTES: Type.Integer({
    title: 'bytes',
    minimum: 1024,
    maximum: 67_108_864,
    default: 4_194_304,
    description: 'Largest body of an OTLP export, after decompression.',
  }),
  OTLP_MAX_SPANS: Type.Integer({
    title: 'spans',
    minimum: 1,
    maximum: 16_384,
    default: 2048,
    description: 'Largest number of spans in an OTLP export.',
  }),
});

/** Bytes of a body that cost 1. */
const BYTES_PER_COST = 16_384;
/** How often an append is tried again because another request reported the same span at the same time. */
const TRIES = 8;

/** A request with one chat span, as OTLP/JSON in base64. */
const EXAMPLE = Buffer.from(
  JSON.stringify({
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: [
              {
                ...{ traceId: '5b8efff798038103d269b633813fc60c', spanId: 'eee19b7ec3c1b174' },
                ...{ name: 'chat gpt-5', kind: 3 },
                startTimeUnixNano: '1790000000000000000',
                endTimeUnixNano: '1790000001000000000',
                attributes: [
                  { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
                  { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
                ],
              },
            ],
          },
        ],
      },
    ],
  }),
).toString('base64');

const answered = (description: string) => ({
  description,
  type: JSON_TYPE,
  formats: [PROTOBUF],
});

/** The route. */
export function tracesRoute(host: PluginHost): Route {
  const { OTLP_MAX_BYTES, OTLP_MAX_SPANS } = host.settings as Static<typeof OtlpSettings>;
  return route({
    method: 'POST',
    path: '/v1/traces',
    tag: 'otlp',
    summary: 'Log the GenAI spans of an OTLP export',
    description:
      'OTLP/HTTP in JSON or protobuf, also compressed with gzip. Each span that has an attribute `gen_ai.*` or ' +
      '`mcp.method.name` becomes an entry; other spans are accepted and ignored. The session of the entry is the trace ' +
      'id. Numbers and listed words of a span are in clear, everything else is a commitment. A span that was reported ' +
      'before has its entry already. Errors are a `google.rpc.Status` in the type of the request.',
    access: 'key',
    bytes: [JSON_TYPE, PROTOBUF],
    gzip: true,
    max_bytes: OTLP_MAX_BYTES,
    query: Type.Object({
      entity: Type.Optional({
        ...EntityName,
        description: 'The entity of the spans; none unless given.',
      }),
    }),
    responses: {
      200: answered('ExportTraceServiceResponse; `partialSuccess` counts spans that are refused.'),
      400: answered('The body is not an ExportTraceServiceRequest.'),
    },
    errors: ['payload_too_large', 'tenant_forbidden'],
    example: EXAMPLE,
    cost: ({ body_bytes }) => 1 + body_bytes / BYTES_PER_COST,
    problem({ status, message, media_type }) {
      const type = media_type === PROTOBUF ? PROTOBUF : JSON_TYPE;
      return { type, body: encodeProblem(type, status, message) };
    },
    async handle(ctx) {
      const type = ctx.request.type;
      const request = decodeRequest(ctx.state.body as Uint8Array, type);
      const count = countSpans(request);
      if (count > OTLP_MAX_SPANS) {
        const message = `the request has ${String(count)} spans, the limit is ${String(OTLP_MAX_SPANS)}`;
        throw new ApiError('payload_too_large', message);
      }
      const { spans, refused, reason } = readSpans(request);
      await appendNew(host, ctx, spans, ctx.state.query.entity);
      const message =
        refused === 0 ? '' : `${String(refused)} spans are refused, the first because ${reason}`;
      ctx.status = 200;
      ctx.set('Content-Type', type);
      ctx.body = encodeResponse(type, refused, message);
    },
    respond: () => ({}),
  });
}

/** Thrown at the sequence point if another request has logged one of the spans. */
class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** Appends the spans that have no entry yet, as one group. */
async function appendNew(
  host: PluginHost,
  ctx: RouteContext,
  spans: readonly GenAiSpan[],
  entity: string | undefined,
): Promise<void> {
  const { caller } = ctx.state;
  const logs = host.logs(caller.kind);
  for (let tries = 0; tries < TRIES; tries += 1) {
    const fresh = new Map<string, Draft>();
    for (const span of spans) {
      const session_ref = caller.sessionRef(span.trace_id);
      const refs = logs.map(({ origin }) =>
        spanRef(caller.sessionRef(span.trace_id, origin), span),
      );
      const isSeen = logs.some(
        (log, i) => log.row(seenRow(caller.tenant_ref, refs[i] ?? '')) !== undefined,
      );
      if (isSeen) continue;
      const span_ref = spanRef(session_ref, span);
      const row = `otlp/${seenRow(caller.tenant_ref, span_ref)}`;
      if (!fresh.has(row)) fresh.set(row, draftOf(span, { session_ref, span_ref }, entity));
    }
    if (fresh.size === 0) return;
    try {
      await ctx.state.append([...fresh.values()], {
        check({ rows }) {
          for (const row of fresh.keys()) if (rows.get(row) !== undefined) throw new Overtaken();
        },
      });
      return;
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
  }
  throw new ApiError('log_busy', 'other requests report the same spans at the same time', {
    headers: { 'Retry-After': '1' },
  });
}

/** A pseudonym of a span: who does not know the session cannot compute it from the ids. */
const spanRef = (session_ref: Caller['tenant_ref'], { key }: GenAiSpan): string =>
  createHash('sha256').update(`${session_ref} ${key}`).digest('hex');

function draftOf(
  { members, hidden }: GenAiSpan,
  refs: { readonly session_ref: string; readonly span_ref: string },
  entity: string | undefined,
): Draft {
  return {
    type: SPAN,
    members: {
      ...members,
      ...refs,
      does_not_assert: Object.keys(DOES_NOT_ASSERT),
      ...(entity === undefined ? {} : { entity }),
    },
    private: hidden,
  };
}
