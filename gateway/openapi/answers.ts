// The error answers of each operation: what its declaration implies and what it names, by status.
// gateway/API.md §4.1, §4.1.

import type { JsonObject } from '../../log/index.ts';
import { ROLES } from '../../plugins/contract/index.ts';
import type { ApiErrorCode, DeclaredError, Route } from '../../plugins/contract/index.ts';
import { PROBLEMS, typeOf } from '../http/problems.ts';
import { takesAnyQuery } from '../http/dispatch.ts';
import { rolesOf } from '../http/roles.ts';
import { compileUnknown } from '../http/unknown-members.ts';

const integer = { type: 'integer', minimum: 0 };

const HEADERS: JsonObject = {
  'X-Request-Id': {
    description: 'Names the request; also `error.request_id`.',
    schema: { type: 'string', pattern: '^req_[0-9A-Za-z]{24}$' },
  },
  'Idempotent-Replayed': {
    description: '`true` when an earlier request with the same Idempotency-Key got this answer.',
    schema: { type: 'string', const: 'true' },
  },
  'Preference-Applied': {
    description: '`wait=N` where the answer has the checkpoint that was waited for.',
    schema: { type: 'string' },
  },
  'Receipt-Required': {
    description:
      'The RR-1 challenge: `action`, `action_hash`, `manifest`, `proof` and more, each `name="text"`.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds.', schema: integer },
  'WWW-Authenticate': { description: 'RFC 6750 §3.', schema: { type: 'string' } },
  RateLimit: { description: 'What is left of the window.', schema: { type: 'string' } },
  'RateLimit-Policy': { description: 'The limit and its window.', schema: { type: 'string' } },
};

/** Components that every operation refers to, beside the schemas of the routes. */
export function sharedComponents(routes: readonly Route[]): {
  readonly headers: JsonObject;
  readonly schemas: JsonObject;
} {
  const codes = new Set([
    ...Object.keys(PROBLEMS),
    ...routes.flatMap((route) => codesOf(route).map(({ code }) => code)),
  ]);
  return { headers: HEADERS, schemas: { ErrorEnvelope: envelope([...codes].sort()) } };
}

function envelope(codes: readonly string[]): JsonObject {
  const types = new Set(Object.values(PROBLEMS).map(({ status }) => typeOf(status)));
  const error = {
    type: 'object',
    required: ['type', 'code', 'message', 'request_id'],
    properties: {
      type: { type: 'string', enum: [...types].sort(), description: 'The class of the error.' },
      code: { type: 'string', enum: codes, description: 'Stable; programs decide by it.' },
      message: {
        type: 'string',
        description: 'For people; of `invalid_json` it has the line, column and byte offset.',
      },
      param: { type: 'string', description: 'The parameter that is wrong or missing.' },
      request_id: {
        type: 'string',
        pattern: '^req_[0-9A-Za-z]{24}$',
        description: 'The `X-Request-Id` of the answer.',
      },
    },
    description: 'What is wrong with the request, or with the service.',
  };
  return { type: 'object', required: ['error'], properties: { error } };
}

/** The codes that an operation may answer with, without those that only a defect gives. */
export function codesOf(route: Route): readonly Pick<DeclaredError, 'code' | 'status'>[] {
  // A key that does not hold, a repeated name in the query: wherever they come.
  const codes = new Set<ApiErrorCode | DeclaredError>([
    ...(['parameter_invalid', 'api_key_invalid', 'api_key_revoked', 'api_key_expired'] as const),
  ]);
  const add = (...more: readonly (ApiErrorCode | DeclaredError)[]): void => {
    for (const code of more) codes.add(code);
  };
  if (!takesAnyQuery(route)) add('parameter_unknown');
  const writes = route.method !== 'GET';
  if (route.access === 'key' || typeof route.access === 'object') add('api_key_missing');
  if (route.access === 'open' && writes) add('api_key_missing'); // ANONYMOUS_WRITES=deny
  if (rolesOf(route).length < ROLES.length) add('role_forbidden');
  if (route.params !== undefined || route.query !== undefined) add('parameter_missing');
  if (route.body !== undefined) {
    add('invalid_json', 'parameter_missing');
    if (compileUnknown(route.body) !== null) add('parameter_unknown');
    if (needsMessage(route.body)) add('message_required');
    add('payload_too_large', 'unsupported_media_type');
    if (route.bodyRequired !== false) add('body_required');
  }
  if (route.bytes !== undefined)
    add('body_required', 'payload_too_large', 'unsupported_media_type');
  if (route.idempotent === true) {
    add('invalid_idempotency_key', 'idempotency_key_reused', 'idempotency_key_in_use');
    add('entry_too_large', 'log_busy', 'log_unavailable', 'plugin_failed');
  }
  if (route.budget !== 'none') add('rate_limited');
  add(...(route.errors ?? []), 'internal_error');
  return [...codes].map((code) =>
    typeof code === 'string' ? { code, status: PROBLEMS[code].status } : code,
  );
}

const needsMessage = (body: object): boolean =>
  'required' in body && (body.required as readonly string[]).includes('message');

/** An answer as the document has it. */
export interface DocumentedAnswer {
  readonly description: string;
  readonly headers: JsonObject;
  readonly content?: JsonObject;
}

/** What the HTTP server itself answers, whatever the route (gateway/http/listen.ts). */
const OF_THE_SERVER = {
  408: serverAnswer('`parameter_invalid`: the request came too slowly.'),
  431: serverAnswer('`parameter_invalid`: the address and the headers are over 16 KiB together.'),
};

function serverAnswer(description: string): DocumentedAnswer {
  return {
    description,
    headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorEnvelope' } } },
  };
}

/** One answer for each status that the codes of the route have. */
export function errorResponses(route: Route): Record<string, DocumentedAnswer> {
  const byStatus = new Map<number, string[]>();
  for (const { code, status } of codesOf(route)) {
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const statuses = [...byStatus].sort(([a], [b]) => a - b);
  const answers = Object.fromEntries(
    statuses.map(([status, codes]) => {
      const names = [
        'X-Request-Id',
        ...([409, 429, 503].includes(status) ? ['Retry-After'] : []),
        ...(status === 401 ? ['WWW-Authenticate'] : []),
        ...(status === 428 ? ['Receipt-Required'] : []),
      ];
      const answer = {
        description: codes.map((code) => `\`${code}\``).join(', '),
        headers: Object.fromEntries(
          names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
        ),
        content: contentOf(route, status, codes),
      };
      return [String(status), answer];
    }),
  );
  return { ...answers, ...OF_THE_SERVER };
}

/** The envelope, or the form of the route's own standard: which that is, only the form itself can say. */
function contentOf(route: Route, status: number, [code = '']: readonly string[]): JsonObject {
  const sample = { status, code, message: '', request_id: `req_${'0'.repeat(24)}` };
  if (route.problem === undefined)
    return { 'application/json': { schema: { $ref: '#/components/schemas/ErrorEnvelope' } } };
  const types = [route.bytes ?? null].flat();
  return Object.fromEntries(
    types.flatMap((media_type) => {
      const own = route.problem?.({ ...sample, media_type });
      return own === undefined ? [] : [[own.type, {}]];
    }),
  );
}
