// A running gateway for the tests of its own routes: every answer is checked against the declaration of its route.

import assert from 'node:assert/strict';
import { Dispatch } from '../../../gateway/http/dispatch.ts';
import type { Gateway } from '../../../gateway/gateway.ts';
import { compileSchema } from '../../../gateway/http/validation.ts';
import type { JsonObject } from '../../../log/index.ts';
import { run } from '../running.ts';
import type { Clock, Running } from '../running.ts';

/** An answer with its whole body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** The parsed body; fails if the content type is not JSON. */
  json(): JsonObject;
}

/** A running gateway. */
export interface Served extends Omit<Running, 'get' | 'ask' | 'post'> {
  /** A GET, with a key if given. */
  get(path: string, key?: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The receipt of a classification. */
  classify(key: string, members?: object): Promise<JsonObject>;
}

/** Starts a gateway; settings and options as for `run`. */
export async function serve(
  env: Readonly<Record<string, string>> = {},
  options: { readonly clock?: Clock } = {},
): Promise<Served> {
  const running = await run(env, options);
  const declared = declaredAnswers(running.gateway);
  return {
    ...running,
    async get(path, key, headers = {}) {
      const { pathname, search } = new URL(path, running.url);
      const keyed = { ...headers, ...(key === undefined ? {} : { 'X-API-Key': key }) };
      const response = await fetch(running.url + pathname + search, { headers: keyed });
      const answer = answerOf(response, Buffer.from(await response.arrayBuffer()));
      declared(pathname, answer);
      return answer;
    },
    async classify(key, members = {}) {
      const body = { message: 'Schedule the interview for Monday', ...members };
      const answer = await running.post('/api/v1/classify', body, { key });
      assert.equal(answer.status, 200, answer.text);
      return answer.json as JsonObject;
    },
  };
}

function answerOf({ status, headers }: Response, bytes: Buffer): Answer {
  const json = (): JsonObject => {
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    return JSON.parse(bytes.toString()) as JsonObject;
  };
  return { status, headers, bytes, json };
}

/** Asserts that an answer has the status, type and schema that its route declares. */
function declaredAnswers(gateway: Gateway): (path: string, answer: Answer) => void {
  const dispatch = new Dispatch(gateway.routes());
  return (path, answer) => {
    const compiled = dispatch.match(path)?.routes.get('GET');
    if (compiled === undefined || answer.status >= 400) return;
    const response = compiled.route.responses[answer.status];
    assert.ok(response, `${path} declares no ${String(answer.status)}`);
    const { type, schema, page } = response;
    if (page !== undefined && answer.headers.get('content-type') === page) return;
    if (type !== undefined) assert.equal(answer.headers.get('content-type'), type);
    if (schema !== undefined) compileSchema(schema, path)(answer.json());
  };
}

/** Status, code and param of an error envelope; asserts its request id. */
export function problem(answer: Answer): Readonly<Record<string, unknown>> {
  const { error } = answer.json() as { readonly error: JsonObject };
  assert.equal(error['request_id'], answer.headers.get('x-request-id'));
  const { code, param } = error;
  return { status: answer.status, code, ...(param === undefined ? {} : { param }) };
}
