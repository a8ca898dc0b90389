// From a decoded request to the GenAI spans in it: what of a span stands in clear, and what the entry commits to.
// gateway/API.md §12.6. Pure.

import { createHash } from 'node:crypto';
import { isJsonObject } from '../contract/index.ts';
import type { Json, JsonObject } from '../contract/index.ts';
import { OPERATIONS, STATUSES } from './entries.ts';
import type { Reported } from './entries.ts';

/** A GenAI span. */
export interface GenAiSpan {
  /** 32 hex digits: the session of the entry. */
  readonly trace_id: string;
  /** SHA-256 that is equal for reports of the same call. */
  readonly key: string;
  readonly members: Reported;
  readonly hidden: Readonly<Record<string, Json>>;
}

/** The spans of a request. */
export interface Reading {
  readonly spans: readonly GenAiSpan[];
  /** Number of GenAI spans that are not well formed, and the fault of the first. */
  readonly refused: number;
  readonly reason: string;
}

/** A fault of one span, which is refused. */
class SpanFault extends Error {}

/** Deepest nesting of an attribute's value; log/FORMAT.md limits that of a disclosed value to 16. */
const MAX_DEPTH = 10;

/** The commitments that hold the attributes of these names; all others are in `attributes`. */
const COMMITTED: Readonly<Record<string, readonly string[]>> = {
  input: ['gen_ai.input.messages', 'gen_ai.prompt'],
  output: ['gen_ai.output.messages', 'gen_ai.completion'],
  instructions: ['gen_ai.system_instructions'],
  tool_arguments: ['gen_ai.tool.call.arguments'],
  tool_result: ['gen_ai.tool.call.result'],
};

/** The commitments that hold the attributes with these prefixes. */
const GROUPS: readonly (readonly [string, RegExp])[] = [
  ['model', /^gen_ai\.(system|provider\.|request\.|response\.)/],
  ['agent', /^gen_ai\.(agent|conversation|workflow)\./],
  ['tool', /^(gen_ai\.tool|mcp)\./],
];

const NAMES = new Map(
  Object.entries(COMMITTED).flatMap(([commitment, names]) =>
    names.map((name): [string, string] => [name, commitment]),
  ),
);

/** Reads all spans of a request. Spans that are not about generative AI are left out. */
export function readSpans(request: JsonObject): Reading {
  const spans: GenAiSpan[] = [];
  let refused = 0;
  let reason = '';
  for (const resource of objectsIn(request['resourceSpans'])) {
    for (const scope of objectsIn(resource['scopeSpans'])) {
      for (const span of objectsIn(scope['spans'])) {
        if (!isGenAi(span)) continue;
        try {
          spans.push(readSpan(span, scope, resource));
        } catch (error) {
          if (!(error instanceof SpanFault)) throw error;
          refused += 1;
          reason ||= error.message;
        }
      }
    }
  }
  return { spans, refused, reason };
}

/** Number of spans in a request, GenAI or not. */
export const countSpans = (request: JsonObject): number =>
  objectsIn(request['resourceSpans'])
    .flatMap((resource) => objectsIn(resource['scopeSpans']))
    .reduce((sum, scope) => sum + objectsIn(scope['spans']).length, 0);

const objectsIn = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter((item) => isJsonObject(item)) : [];

const isGenAi = (span: JsonObject): boolean =>
  objectsIn(span['attributes']).some(({ key }) => {
    return typeof key === 'string' && (key.startsWith('gen_ai.') || key === 'mcp.method.name');
  });

function readSpan(span: JsonObject, scope: JsonObject, resource: JsonObject): GenAiSpan {
  const trace_id = idOf(span['traceId'], 16, 'traceId');
  const span_id = idOf(span['spanId'], 8, 'spanId');
  const given = attributesOf(span['attributes']);
  const operation = operationOf(given);
  const { code, message } = isJsonObject(span['status']) ? span['status'] : {};
  const call_id = given['gen_ai.tool.call.id'];
  const isCall =
    typeof call_id === 'string' && (operation === 'execute_tool' || operation === 'mcp');
  return {
    trace_id,
    key: keyOf(isCall ? [trace_id, 'call', call_id] : [trace_id, 'span', span_id]),
    members: {
      operation,
      status: STATUSES[Number(code ?? 0)] ?? 'unset',
      start_ms: millisOf(span['startTimeUnixNano'], 'startTimeUnixNano'),
      end_ms: millisOf(span['endTimeUnixNano'], 'endTimeUnixNano'),
      ...tokens('input_tokens', given['gen_ai.usage.input_tokens']),
      ...tokens('output_tokens', given['gen_ai.usage.output_tokens']),
    },
    hidden: {
      span: {
        ...{ trace_id, span_id, ...parentOf(span['parentSpanId']) },
        ...textMember('name', span['name']),
        ...textMember('schema_url', scope['schemaUrl']),
        ...(isJsonObject(scope['scope']) ? { scope: scopeOf(scope['scope']) } : {}),
        ...textMember('status_message', message),
      },
      ...committed(given),
      ...eventsOf(span['events']),
      ...resourceOf(resource['resource']),
    },
  };
}

/** `gen_ai.operation.name`, where it is a name of the conventions; a name that is not is in `attributes`. */
function operationOf(given: JsonObject): Reported['operation'] {
  const named = OPERATIONS.find((name) => name === given['gen_ai.operation.name']);
  if (named !== undefined) return named;
  if (given['gen_ai.tool.name'] !== undefined) return 'execute_tool';
  return given['mcp.method.name'] === undefined ? 'other' : 'mcp';
}

/** The attributes, by the commitment that they are in. A commitment of one attribute is its value. */
function committed(given: JsonObject): Record<string, Json> {
  const hidden: Record<string, Json> = {};
  const groups: Record<string, Record<string, Json>> = {};
  for (const [name, value] of Object.entries(given)) {
    const own = NAMES.get(name);
    if (own !== undefined && hidden[own] === undefined) {
      hidden[own] = value;
      continue;
    }
    const [group] = GROUPS.find(([, pattern]) => pattern.test(name)) ?? ['attributes'];
    groups[group] ??= Object.create(null) as Record<string, Json>;
    groups[group][name] = value;
  }
  for (const [group, members] of Object.entries(groups)) hidden[group] = { ...members };
  return hidden;
}

function eventsOf(events: Json | undefined): { events?: Json } {
  const found = objectsIn(events).map((event) => ({
    ...textMember('name', event['name']),
    attributes: attributesOf(event['attributes']),
  }));
  return found.length === 0 ? {} : { events: found };
}

function resourceOf(resource: Json | undefined): { resource?: Json } {
  if (!isJsonObject(resource)) return {};
  const attributes = attributesOf(resource['attributes']);
  return Object.keys(attributes).length === 0 ? {} : { resource: attributes };
}

const scopeOf = (scope: JsonObject): JsonObject => ({
  ...textMember('name', scope['name']),
  ...textMember('version', scope['version']),
});

function attributesOf(attributes: Json | undefined, depth = 0): JsonObject {
  const pairs = objectsIn(attributes).map(({ key, value }): [string, Json] => [
    textOf(key, 'the name of an attribute'),
    valueOf(value, depth),
  ]);
  return Object.fromEntries<Json>(pairs);
}

/** The JSON of an AnyValue. Integers beyond 2^53 and numbers that JSON does not have become text. */
function valueOf(any: Json | undefined, depth: number): Json {
  if (depth > MAX_DEPTH) throw new SpanFault('an attribute is nested too deeply');
  if (!isJsonObject(any)) return null;
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue, bytesValue } =
    any;
  if (stringValue !== undefined) return textOf(stringValue, 'an attribute');
  if (boolValue !== undefined) return boolValue === true;
  if (intValue !== undefined) {
    const number = Number(intValue);
    return Number.isSafeInteger(number)
      ? number + 0
      : textOf(typeof intValue === 'number' ? intValue.toFixed(0) : intValue, 'an attribute');
  }
  if (doubleValue !== undefined) {
    const number = Number(doubleValue);
    return isPlain(number)
      ? number + 0
      : textOf(typeof doubleValue === 'number' ? String(doubleValue) : doubleValue, 'an attribute');
  }
  if (isJsonObject(arrayValue)) {
    return objectsIn(arrayValue['values']).map((item) => valueOf(item, depth + 1));
  }
  if (isJsonObject(kvlistValue)) return attributesOf(kvlistValue['values'], depth + 1);
  return bytesValue === undefined ? null : textOf(bytesValue, 'an attribute');
}

/** Whether a double is a number of I-JSON: finite, and not an integer that its digits may round. */
const isPlain = (number: number): boolean =>
  Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));

function textOf(value: Json | undefined, what: string): string {
  if (typeof value !== 'string') throw new SpanFault(`${what} is not text`);
  if (/\p{Surrogate}/u.test(value)) throw new SpanFault(`${what} has half a surrogate pair`);
  return value;
}

/** A member for a text that is there and not empty. */
function textMember<N extends string>(
  name: N,
  value: Json | undefined,
): Partial<Record<N, string>> {
  if (typeof value !== 'string' || value === '') return {};
  return { [name]: textOf(value, name) } as Partial<Record<N, string>>;
}

/** The hex of an id, which is hex in JSON and base64 of the decoded protobuf. */
function idOf(value: Json | undefined, bytes: number, name: string): string {
  const text = typeof value === 'string' ? value : '';
  const isHex = text.length === 2 * bytes && /^[0-9a-fA-F]*$/.test(text);
  const id = isHex ? text.toLowerCase() : Buffer.from(text, 'base64').toString('hex');
  if (id.length !== 2 * bytes || /^0*$/.test(id)) {
    throw new SpanFault(`${name} is not ${String(bytes)} bytes, or zero`);
  }
  return id;
}

const parentOf = (value: Json | undefined): { parent_span_id?: string } =>
  typeof value === 'string' && value !== ''
    ? { parent_span_id: idOf(value, 8, 'parentSpanId') }
    : {};

function millisOf(nanos: Json | undefined, name: string): number {
  const text = typeof nanos === 'number' ? nanos.toFixed(0) : nanos;
  if (typeof text !== 'string' || !/^[0-9]{1,20}$/.test(text)) {
    throw new SpanFault(`${name} is not a time in nanoseconds`);
  }
  return Number(BigInt(text) / 1_000_000n);
}

const tokens = <N extends string>(name: N, value: Json | undefined): Partial<Record<N, number>> =>
  Number.isSafeInteger(value) && Number(value) >= 0
    ? ({ [name]: value } as Partial<Record<N, number>>)
    : {};

const keyOf = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');
