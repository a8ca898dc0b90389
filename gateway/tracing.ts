// Spans of requests for OpenTelemetry (OTLP over HTTP), when OTEL_EXPORTER_OTLP_ENDPOINT is set. Only then is the SDK
// loaded. A span names the route, the status, the log and the entries that answered; it never has a path, a query, a
// body or a header of the caller. Spans that the receiver does not take are dropped; requests never wait for it.

import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';

/** An answered request, as its span shows it. */
export interface TracedRequest {
  readonly method: string;
  /** A declared path, never one that a client made up. */
  readonly route: string;
  readonly status: number;
  readonly request_id: string;
  /** Milliseconds of the monotonic clock that `performance.now()` reads. */
  readonly started_ms: number;
  /** For `traceparent` and `tracestate` (W3C Trace Context). */
  readonly headers: IncomingHttpHeaders;
  readonly answered: AnsweredEntries | null;
}

/** The entries that a request was answered with. The first one is the decision or act that it asked for. */
export interface AnsweredEntries {
  readonly origin: string;
  readonly entries: readonly { readonly entry_id: string; readonly index: number }[];
}

/** Where spans go. */
export interface Tracing {
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
  return {
    request({ method, route, status, request_id, started_ms, headers, answered }) {
      const parent = propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter);
      const span = tracer.startSpan(
        `${method} ${route}`,
        {
          kind: api.SpanKind.SERVER,
          startTime: performance.timeOrigin + started_ms,
          attributes: {
            'http.request.method': method,
            'http.route': route,
            'http.response.status_code': status,
            'actlog.request_id': request_id,
            ...(answered === null ? {} : entryAttributes(answered)),
            ...(status >= 500 ? { 'error.type': String(status) } : {}),
          },
        },
        parent,
      );
      if (status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR });
      span.end(performance.timeOrigin + performance.now());
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
