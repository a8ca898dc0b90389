// Spans of requests for OpenTelemetry (OTLP over HTTP), when OTEL_EXPORTER_OTLP_ENDPOINT is set. Only then is the SDK
// loaded. A span names the route, the status, the log and the entries that answered; it never has a path, a query, a
// body or a header of the caller. Spans that the receiver does not take are dropped; requests never wait for it.

import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';

/** A request, as its span begins. */
export interface BegunRequest {
  readonly method: string;
  /** A declared path, never one that a client made up. */
  readonly route: string;
  /** Milliseconds of the monotonic clock that `performance.now()` reads. */
  readonly started_ms: number;
  /** For `traceparent` and `tracestate` (W3C Trace Context). */
  readonly headers: IncomingHttpHeaders;
}

/** How a request was answered. */
export interface AnsweredRequest {
  readonly status: number;
  readonly request_id: string;
  readonly answered: AnsweredEntries | null;
}

/** An answered request, as its span shows it. */
export interface TracedRequest extends BegunRequest, AnsweredRequest {
  /** The span of a request that began it before it was answered. */
  readonly span: RequestSpan | null;
}

/** A span that has begun. */
export interface RequestSpan {
  /** `traceparent` and `tracestate` for a request whose span is to be a child of this one. */
  readonly headers: Readonly<Record<string, string>>;
  end(request: AnsweredRequest): void;
}

/** The entries that a request was answered with. The first one is the decision or act that it asked for. */
export interface AnsweredEntries {
  readonly origin: string;
  readonly entries: readonly { readonly entry_id: string; readonly index: number }[];
}

/** Where spans go. */
export interface Tracing {
  /** Begins the span of a request that is passed on to another node. `request` ends it. */
  begin(request: BegunRequest): RequestSpan;
  request(request: TracedRequest): void;
  /** Sends what is left, for at most three seconds. */
  close(): Promise<void>;
}

const EXPORT_TIMEOUT_MS = 3000;

/** Loads the SDK and opens the exporter. The sampler and further headers are those of the OTEL_* variables. */
export async function openTracing(endpoint: string, logger: Logger): Promise<Tracing> {
  const [api, core, resources, sdk, otlp] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  const lost = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : 'unknown';
    logger.warn({ reason }, 'spans were not taken by the receiver');
  };
  core.setGlobalErrorHandler(lost);
  const exporter = new otlp.OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new sdk.BasicTracerProvider({
    resource: resources.resourceFromAttributes({
      'service.name': process.env['OTEL_SERVICE_NAME'] ?? 'actlog',
    }),
    spanProcessors: [
      new sdk.BatchSpanProcessor(exporter, { exportTimeoutMillis: EXPORT_TIMEOUT_MS }),
    ],
  });
  const tracer = provider.getTracer('actlog');
  const propagator = new core.W3CTraceContextPropagator();
  const begin = ({ method, route, started_ms, headers }: BegunRequest): RequestSpan => {
    const parent = propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter);
    const span = tracer.startSpan(
      `${method} ${route}`,
      {
        kind: api.SpanKind.SERVER,
        startTime: performance.timeOrigin + started_ms,
        attributes: { 'http.request.method': method, 'http.route': route },
      },
      parent,
    );
    const own: Record<string, string> = {};
    propagator.inject(api.trace.setSpan(parent, span), own, api.defaultTextMapSetter);
    return {
      headers: own,
      end({ status, request_id, answered }) {
        span.setAttributes({
          'http.response.status_code': status,
          'actlog.request_id': request_id,
          ...(answered === null ? {} : entryAttributes(answered)),
          ...(status >= 500 ? { 'error.type': String(status) } : {}),
        });
        if (status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR });
        span.end(performance.timeOrigin + performance.now());
      },
    };
  };
  return {
    begin,
    request(request) {
      (request.span ?? begin(request)).end(request);
    },
    async close() {
      await provider.shutdown().catch(lost);
    },
  };
}

function entryAttributes({ origin, entries }: AnsweredEntries) {
  const [first] = entries;
  return {
    'actlog.log.origin': origin,
    ...(first === undefined
      ? {}
      : { 'actlog.entry.id': first.entry_id, 'actlog.entry.index': first.index }),
    ...(entries.length > 1 ? { 'actlog.entry.ids': entries.map(({ entry_id }) => entry_id) } : {}),
  };
}
