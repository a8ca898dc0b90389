// A service for the tests of hooks: a gateway with a policy for tools, a reader of the entries of a session, and a model
// whose answers a test sets.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../../plugins/contract/index.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';

/** The policy of the tests: `search` may be called, `wire` is held, `erase` is denied, the rest is SILENCE. */
const RULES = [
  { id: 'reading', effect: 'allow', action_types: ['tool.search'] },
  { id: 'money', effect: 'hold', action_types: ['tool.wire'] },
  { id: 'erasing', effect: 'deny', action_types: ['tool.erase'] },
];

/** A service, and a switch that makes it unreachable for the hooks. */
export class AgentLog {
  readonly running: Running;
  /** While true, every request of a hook fails as if the service were gone. */
  down = false;

  private constructor(running: Running) {
    this.running = running;
  }

  static async start(): Promise<AgentLog> {
    const running = await run();
    ok(await running.post('/api/v1/execute-gate/policy', { rules: RULES }, { key: running.live }));
    return new AgentLog(running);
  }

  /** The `fetch` of hooks. */
  readonly fetch: typeof fetch = (input, init) =>
    this.down ? Promise.reject(new TypeError('fetch failed')) : fetch(input, init);

  /** The types of the entries that a function adds, in order, without restraints and those of the log itself. */
  async types(act: () => Promise<unknown>): Promise<string[]> {
    return (await this.entries(act)).map(({ type }) => type as string);
  }

  async entries(act: () => Promise<unknown>): Promise<JsonObject[]> {
    const before = this.running.gateway.logs.live.size();
    await act();
    return this.since(before);
  }

  /** The same from an index on. */
  since(from: number): JsonObject[] {
    const log = this.running.gateway.logs.live;
    const found: JsonObject[] = [];
    for (let index = from; index < log.size(); index += 1) {
      const text = log.entry(index) ?? '';
      assert.doesNotMatch(text, /zebra|quagga/i, 'no content of a call is in the log');
      const statement = JSON.parse(text) as JsonObject;
      if (/^(gate|anchors)\./.test(statement['type'] as string)) found.push(statement);
    }
    return found;
  }

  close(): Promise<void> {
    return this.running.close();
  }
}

/** The entries of a call that was permitted, made and logged. */
export const PERMITTED = ['gate.decision.v3', 'gate.permit_use.v1', 'gate.permit_result.v1'];
/** The entries of one call of a model. */
export const MODEL = ['anchors.anchor.v1', 'anchors.anchor.v1'];

/** A server in the place of the OpenAI API. */
export async function model(answer: (body: JsonObject) => object | readonly object[]) {
  const requests: JsonObject[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const body = JSON.parse(text) as JsonObject;
      requests.push(body);
      const answered = answer(body);
      if (!Array.isArray(answered)) {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(answered));
        return;
      }
      response.setHeader('content-type', 'text/event-stream');
      for (const chunk of answered) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}/v1`,
    requests,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** A chat completion of the OpenAI API. */
export const completion = (content: string): JsonObject => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'zebra-5' },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
