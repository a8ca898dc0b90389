// The messages of OTLP/HTTP for traces (opentelemetry-proto 1.11), in protobuf and in JSON. Fields that this service does
// not read are left out of the descriptor: decoders skip unknown fields.

import protobuf from 'protobufjs/light.js';
import { ApiError, isJsonObject } from '../contract/index.ts';
import type { Json, JsonObject } from '../contract/index.ts';

/** Media types of the two encodings. An answer has the type of its request. */
export const PROTOBUF = 'application/x-protobuf';
export const JSON_TYPE = 'application/json';

const field = (type: string, id: number) => ({ type, id });
const list = (type: string, id: number) => ({ rule: 'repeated', type, id });

const messages = protobuf.Root.fromJSON({
  nested: {
    ExportTraceServiceRequest: { fields: { resourceSpans: list('ResourceSpans', 1) } },
    ResourceSpans: {
      fields: { resource: field('Resource', 1), scopeSpans: list('ScopeSpans', 2) },
    },
    Resource: { fields: { attributes: list('KeyValue', 1) } },
    ScopeSpans: {
      fields: {
        ...{ scope: field('InstrumentationScope', 1), spans: list('Span', 2) },
        schemaUrl: field('string', 3),
      },
    },
    InstrumentationScope: { fields: { name: field('string', 1), version: field('string', 2) } },
    Span: {
      fields: {
        ...{ traceId: field('bytes', 1), spanId: field('bytes', 2), name: field('string', 5) },
        ...{ parentSpanId: field('bytes', 4), kind: field('int32', 6) },
        startTimeUnixNano: field('fixed64', 7),
        endTimeUnixNano: field('fixed64', 8),
        ...{ attributes: list('KeyValue', 9), events: list('Event', 11) },
        status: field('Status', 15),
      },
    },
    Event: { fields: { name: field('string', 2), attributes: list('KeyValue', 3) } },
    Status: { fields: { message: field('string', 2), code: field('int32', 3) } },
    KeyValue: { fields: { key: field('string', 1), value: field('AnyValue', 2) } },
    AnyValue: {
      oneofs: {
        value: {
          oneof: [
            ...['stringValue', 'boolValue', 'intValue', 'doubleValue'],
            ...['arrayValue', 'kvlistValue', 'bytesValue'],
          ],
        },
      },
      fields: {
        ...{ stringValue: field('string', 1), boolValue: field('bool', 2) },
        ...{ intValue: field('int64', 3), doubleValue: field('double', 4) },
        ...{ arrayValue: field('ArrayValue', 5), kvlistValue: field('KeyValueList', 6) },
        bytesValue: field('bytes', 7),
      },
    },
    ArrayValue: { fields: { values: list('AnyValue', 1) } },
    KeyValueList: { fields: { values: list('KeyValue', 1) } },
    ExportTraceServiceResponse: { fields: { partialSuccess: field('PartialSuccess', 1) } },
    PartialSuccess: {
      fields: { rejectedSpans: field('int64', 1), errorMessage: field('string', 2) },
    },
    /** google.rpc.Status, the body of errors. */
    Problem: { fields: { code: field('int32', 1), message: field('string', 2) } },
  },
});

const REQUEST = messages.lookupType('ExportTraceServiceRequest');
const RESPONSE = messages.lookupType('ExportTraceServiceResponse');
const PROBLEM = messages.lookupType('Problem');

/**
 * Decodes an ExportTraceServiceRequest to the members of its JSON form. Ids and values of bytes are base64 where the
 * encoding is protobuf.
 *
 * @throws ApiError `parameter_invalid` for bytes that are no such message
 */
export function decodeRequest(bytes: Uint8Array, type: string): JsonObject {
  try {
    if (type === PROTOBUF) {
      const options = { longs: String, bytes: String, json: false };
      return REQUEST.toObject(REQUEST.decode(bytes), options);
    }
    const parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Json;
    if (isJsonObject(parsed)) return parsed;
  } catch (cause) {
    throw new ApiError('parameter_invalid', `the body is not OTLP in ${type}`, { cause });
  }
  throw new ApiError('parameter_invalid', 'the body is not a JSON object');
}

/** The answer to a request of which some spans were refused; 0 and no message for none. */
export function encodeResponse(type: string, rejectedSpans: number, errorMessage: string): Buffer {
  const partial = rejectedSpans === 0 ? {} : { partialSuccess: { rejectedSpans, errorMessage } };
  return type === PROTOBUF
    ? Buffer.from(RESPONSE.encode(RESPONSE.fromObject(partial)).finish())
    : Buffer.from(JSON.stringify(partial));
}

/** The google.rpc codes of the statuses that this service answers with. */
const CODES: Readonly<Record<number, number>> = {
  ...{ 400: 3, 401: 16, 403: 7, 404: 5, 413: 8, 415: 3, 429: 8, 503: 14 },
};
const INTERNAL = 13;

/** An error as a google.rpc.Status. */
export function encodeProblem(type: string, status: number, message: string): Buffer {
  const problem = { code: CODES[status] ?? INTERNAL, message };
  return type === PROTOBUF
    ? Buffer.from(PROBLEM.encode(PROBLEM.fromObject(problem)).finish())
    : Buffer.from(JSON.stringify(problem));
}
