// Sends raw requests and checks each answer: always the envelope with a code that the operation declares, never a cause,
// never text of another tenant. gateway/API.md §4.

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { decode } from 'cborg';
import { Dispatch } from '../../../gateway/http/dispatch.ts';
import { codesOf } from '../../../gateway/openapi/answers.ts';
import { typeOf } from '../../../gateway/http/problems.ts';
import type { Problems } from '../../../gateway/http/problems.ts';
import type { Running } from '../running.ts';
import { SECRET } from './hostile-values.ts';

/** A request as sent over the network. */
export interface Shot {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Its answer with the whole body. */
export interface Hit {
  readonly status: number;
  readonly id: string;
  readonly type: string;
  readonly bytes: Buffer;
  readonly text: string;
}

/** Sends requests to one gateway, over few connections. */
export class Range {
  readonly #port: number;
  readonly #dispatch: Dispatch;
  readonly #problems: Problems;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });

  constructor({ port, gateway }: Running) {
    this.#port = port;
    this.#dispatch = new Dispatch(gateway.routes());
    this.#problems = gateway.problems;
  }

  /** Sends a request unchanged. */
  shoot({ method, path, body, headers }: Shot): Promise<Hit> {
    return new Promise((resolve, reject) => {
      const sent = request(
        { agent: this.#agent, method, path, port: this.#port, host: '127.0.0.1', headers },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', reject);
          answer.on('end', () => {
            resolve({
              status: answer.statusCode ?? 0,
              id: String(answer.headers['x-request-id']),
              type: answer.headers['content-type'] ?? '',
              bytes: Buffer.concat(chunks),
              text: Buffer.concat(chunks).toString(),
            });
          });
        },
      );
      sent.on('error', reject);
      // For a GET, Node.js writes the body without a Content-Length unless it is set.
      if (body !== undefined) sent.setHeader('Content-Length', Buffer.byteLength(body));
      sent.end(body);
    });
  }

  /** Sends a request and asserts the rules for its answer. */
  async aim(shot: Shot): Promise<Hit> {
    const hit = await this.shoot(shot);
    const what = `${shot.method} ${shot.path} ${(shot.body ?? '').slice(0, 300)} -> ${String(hit.status)} ${hit.text.slice(0, 300)}`;
    assert.match(hit.id, /^req_[0-9A-Za-z]{24}$/, what);
    assert.ok(!hit.text.includes(SECRET), what);
    assert.doesNotMatch(hit.text, /\n +at |node:internal|node_modules|\.[jt]s:\d+/, what);
    const [path = ''] = shot.path.split('?');
    const route = this.#dispatch.match(path)?.routes.get(shot.method)?.route;
    if (hit.status < 400) {
      assert.ok(route === undefined || hit.status in route.responses, `undeclared: ${what}`);
      return hit;
    }
    assert.ok(hit.status < 500 || hit.status === 503, what);
    if (shot.method === 'HEAD') return hit;
    if (hit.type.startsWith('application/concise-problem-details+cbor')) {
      const problem = decode(hit.bytes, { useMaps: true }) as Map<unknown, unknown>;
      assert.ok(String(problem.get(-1)).length > 0 && String(problem.get(-2)).length > 0, what);
      assert.equal(this.#problems.statusOf(problem.get('code') as string), hit.status, what);
      assert.equal(problem.get('request_id'), hit.id, what);
      return hit;
    }
    if (hit.type.startsWith('application/x-protobuf')) return hit;
    assert.match(hit.type, /^application\/json/, what);
    if (route?.problem !== undefined) {
      // A google.rpc.Status, as OTLP requires.
      const status = JSON.parse(hit.text) as { readonly code: number; readonly message: string };
      assert.ok(status.code > 0 && status.message.length > 0 && status.message.length < 1000, what);
      return hit;
    }
    const { error } = JSON.parse(hit.text) as {
      error: { type: string; code: string; message: string; request_id: string };
    };
    assert.equal(this.#problems.statusOf(error.code), hit.status, what);
    assert.equal(typeOf(hit.status), error.type, what);
    assert.equal(error.request_id, hit.id, what);
    // The error codes that the OpenAPI document declares for the operation.
    const declared = route === undefined ? null : codesOf(route).map(({ code }) => code);
    assert.ok(declared?.includes(error.code) ?? true, `undeclared: ${what}`);
    assert.ok(error.message.length > 0 && error.message.length < 1000, what);
    return hit;
  }

  /** Sends all requests, sixteen at a time. */
  async volley(shots: readonly Shot[]): Promise<readonly Hit[]> {
    const hits: Hit[] = [];
    for (let i = 0; i < shots.length; i += 16) {
      hits.push(...(await Promise.all(shots.slice(i, i + 16).map((shot) => this.aim(shot)))));
    }
    return hits;
  }

  close(): void {
    this.#agent.destroy();
  }
}
