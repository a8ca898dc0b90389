// The hooks in TypeScript: runs the examples of tools/AGENTS.md with the real frameworks and with models whose answers the
// tests set, and checks what is logged, what is refused, and what happens while the service cannot be reached.

import assert from 'node:assert/strict';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { tool as langchainTool } from '@langchain/core/tools';
import { simulateReadableStream, streamText, tool, wrapLanguageModel } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import type OpenAI from 'openai';
import { Agent, Runner, tool as agentTool, Usage } from '@openai/agents';
import type { AgentOutputItem, FunctionTool, Model, ModelRequest } from '@openai/agents';
import { z } from 'zod';
import { createHash } from 'node:crypto';
import { Client } from '../../../tools/clients/typescript/index.ts';
import { actlog as aiSdk } from '../../../tools/clients/typescript/hooks/ai-sdk.ts';
import { ActlogHandler } from '../../../tools/clients/typescript/hooks/langchain.ts';
import type { actlog as agents } from '../../../tools/clients/typescript/hooks/openai-agents.ts';
import { Recorder, Refused } from '../../../tools/clients/typescript/hooks/recorder.ts';
import type { HookOptions, Recorded } from '../../../tools/clients/typescript/hooks/recorder.ts';
import { AgentLog, completion, model as modelServer, MODEL, PERMITTED } from './agent-log.ts';
import { linesOf, packageExports, runExample } from './guide-program.ts';
import { setEnvironment } from '../../support/environment.ts';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const search = () =>
  tool({
    description: 'search',
    inputSchema: z.object({ q: z.string() }),
    execute: ({ q }) => Promise.resolve(`found ${q}`),
  });

describe('hooks', function () {
  this.timeout(60_000);
  let log: AgentLog;
  let restore: () => void;
  before(async () => {
    log = await AgentLog.start();
    restore = setEnvironment({ ACTLOG_URL: log.running.url, ACTLOG_KEY: log.running.live });
  });
  after(async () => {
    restore();
    await log.close();
  });

  const options = (more: Partial<HookOptions> = {}): HookOptions => ({
    client: new Client(log.running.url, { key: log.running.live, fetch: log.fetch, retries: 0 }),
    ...more,
  });

  it('are exports of the package, and each is at most five lines in a program', () => {
    const hooks = ['ai-sdk', 'langchain', 'openai', 'openai-agents'];
    for (const name of hooks) assert.ok(packageExports().includes(`./hooks/${name}`), name);
    for (const example of [...hooks, 'langchain-python', 'litellm', 'litellm-proxy']) {
      const lines = linesOf(example);
      assert.ok(lines > 0 && lines <= 5, `${example}: ${String(lines)}`);
    }
  });

  describe('the recorder', () => {
    it('runs a tool after its permit was used, and logs the digest of the result', async () => {
      const told: Recorded[] = [];
      const recorder = new Recorder(options({ onReceipt: (one) => told.push(one) }));
      const entries = await log.entries(() =>
        recorder.call('search', { q: 'quagga' }, () => 'zebra'),
      );
      assert.deepEqual(
        entries.map(({ type }) => type),
        PERMITTED,
      );
      assert.deepEqual(
        told.map(({ about }) => about),
        ['decision', 'use', 'result'],
      );
      assert.doesNotMatch(JSON.stringify(told), /use_secret":\{/);
    });

    it('does not run a tool that is denied, held or covered by no rule', async () => {
      const recorder = new Recorder(options());
      for (const [name, outcome] of [
        ['erase', 'DENY'],
        ['wire', 'HOLD'],
        ['unknown', 'SILENCE'],
      ] as const) {
        await assert.rejects(
          recorder.call(name, {}, () => assert.fail('the tool ran')),
          (error) => error instanceof Refused && error.outcome === outcome,
        );
      }
    });

    it('finds the release of a held call when the same call is made again', async () => {
      const recorder = new Recorder(options());
      const refused = await recorder
        .begin('wire', { to: 'quagga' })
        .catch((error: unknown) => error);
      assert.ok(refused instanceof Refused && refused.holdId !== undefined);
      const path = `/api/v1/execute-gate/holds/${refused.holdId}`;
      const release = { action: 'release', reason: 'checked' };
      assert.equal((await log.running.post(path, release, { key: log.running.live })).status, 200);
      assert.equal(await recorder.call('wire', { to: 'quagga' }, () => 'sent'), 'sent');
    });

    it('asks about a held call again after the service did not answer', async () => {
      const recorder = new Recorder(options());
      const wire = () => recorder.begin('wire', { to: 'zebra' });
      const isHeld = (error: unknown): boolean =>
        error instanceof Refused && error.outcome === 'HOLD';
      await assert.rejects(wire(), isHeld);
      log.down = true;
      await assert.rejects(wire(), /did not answer/);
      log.down = false;
      const types = await log.types(() => assert.rejects(wire(), isHeld));
      assert.deepEqual(types, [], 'it is the same hold');
    });

    it('logs that a call was not made if its permit may have been used', async () => {
      const answerLost: typeof fetch = async (input, init) => {
        const answer = await fetch(input, init);
        if (!(input as URL).pathname.endsWith('/permits/use')) return answer;
        throw new TypeError('fetch failed');
      };
      const { url, live: key } = log.running;
      const client = new Client(url, { key, fetch: answerLost, retries: 0 });
      const recorder = new Recorder(options({ client }));
      const entries = await log.entries(async () => {
        await assert.rejects(
          recorder.call('search', {}, () => assert.fail('ran')),
          /did not answer/,
        );
        await recorder.flush();
      });
      assert.deepEqual(
        entries.map(({ type }) => type),
        PERMITTED,
      );
      assert.equal(entries.at(-1)?.['status'], 'failed');
    });

    it('gives each of several parallel calls of a tool its own permit', async () => {
      const recorder = new Recorder(options());
      const types = await log.types(() =>
        Promise.all([1, 2, 3, 4].map(() => recorder.call('search', { q: 'quagga' }, () => 'x'))),
      );
      assert.equal(types.filter((type) => type === 'gate.permit_use.v1').length, 4);
      assert.equal(types.filter((type) => type === 'gate.permit_result.v1').length, 4);
    });

    it('logs a tool that fails, and throws its error', async () => {
      const recorder = new Recorder(options());
      const entries = await log.entries(() =>
        assert.rejects(
          recorder.call('search', {}, () => Promise.reject(new Error('zebra'))),
          /zebra/,
        ),
      );
      assert.equal(entries.at(-1)?.['status'], 'failed');
    });

    it('refuses while the service is down, or continues and states it afterwards', async () => {
      const [refusing, going] = [options(), options({ unreachable: 'continue' })];
      const [strict, open] = [new Recorder(refusing), new Recorder(going)];
      log.down = true;
      try {
        await assert.rejects(
          strict.call('search', {}, () => assert.fail('ran')),
          Refused,
        );
        await assert.rejects(strict.request('zebra-5', 'hi'), Refused);
        assert.equal(await open.call('erase', { q: 1 }, () => 'done'), 'done');
        await open.response('zebra-5', await open.request('zebra-5', 'hi'), 'completed', 'ho');
        assert.equal(open.waiting, 3);
      } finally {
        log.down = false;
      }
      const types = await log.types(() => open.flush());
      assert.deepEqual(types, ['gate.unasked.v1', ...MODEL]);
      assert.equal(open.waiting, 0);
    });

    it('anchors a salted document that contains the hash of the content', async () => {
      const told: Recorded[] = [];
      const recorder = new Recorder(options({ onReceipt: (one) => told.push(one) }));
      await recorder.request('zebra-5', 'the quagga prompt');
      const [{ document = '', receipt }] = told as [Recorded];
      const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
      assert.equal(receipt['digest'], sha256(document));
      const { content_sha256 } = JSON.parse(document) as { content_sha256: string };
      assert.equal(content_sha256, sha256('the quagga prompt'));
    });
  });

  describe('for the AI SDK', () => {
    it('records the model and gates the tools in the example', async () => {
      const call = (toolName: string, id: string) => ({
        content: [
          { type: 'tool-call' as const, toolCallId: id, toolName, input: '{"q":"quagga"}' },
        ],
        finishReason: { unified: 'tool-calls' as const, raw: undefined },
        usage,
        warnings: [],
      });
      const model = new MockLanguageModelV3({
        doGenerate: [
          call('search', 'c1'),
          call('erase', 'c2'),
          {
            content: [{ type: 'text', text: 'zebra' }],
            finishReason: { unified: 'stop', raw: undefined },
            usage,
            warnings: [],
          },
        ],
      });
      let erased = false;
      const erase = { ...search(), execute: () => Promise.resolve((erased = true)) };
      const free = { model, tools: { search: search(), erase }, prompt: 'quagga?' };
      const types = await log.types(async () => {
        const { text } = await runExample('ai-sdk', free, ['text']);
        assert.equal(text, 'zebra');
      });
      assert.deepEqual(types, [...MODEL, ...PERMITTED, ...MODEL, 'gate.decision.v3', ...MODEL]);
      assert.equal(erased, false);
      assert.match(JSON.stringify(model.doGenerateCalls[2]?.prompt), /erase was not called: DENY/);
    });

    it('anchors a stream at its end, and at its abort', async () => {
      const chunks = [
        { type: 'text-start' as const, id: '1' },
        { type: 'text-delta' as const, id: '1', delta: 'zebra' },
        { type: 'text-end' as const, id: '1' },
        {
          type: 'finish' as const,
          finishReason: { unified: 'stop' as const, raw: undefined },
          usage,
        },
      ];
      const doStream = () => Promise.resolve({ stream: simulateReadableStream({ chunks }) });
      const told: Recorded[] = [];
      const { middleware } = aiSdk(options({ onReceipt: (one) => told.push(one) }));
      const model = wrapLanguageModel({
        model: new MockLanguageModelV3({ doStream }),
        middleware,
      });
      const types = await log.types(async () => {
        assert.equal(await streamText({ model, prompt: 'hi' }).text, 'zebra');
      });
      assert.deepEqual(types, MODEL);
      const { stream } = await model.doStream({ prompt: [] });
      const reader = stream.getReader();
      await reader.read();
      await reader.cancel();
      const statuses = told.map(
        ({ document = '{}' }) => (JSON.parse(document) as { status?: string }).status,
      );
      assert.deepEqual(statuses, [undefined, 'completed', undefined, 'aborted']);
    });
  });

  describe('for LangChain', () => {
    const make = (name: string) =>
      langchainTool(({ q }: { q: string }) => `found ${q}`, {
        ...{ name, description: name, schema: z.object({ q: z.string() }) },
      });

    it('records the model and gates the tool in the example', async () => {
      const chat = new FakeListChatModel({ responses: ['zebra'] });
      const free = { chat, messages: [['human', 'quagga?']], search: make('search') };
      const types = await log.types(async () => {
        const { found, answer } = await runExample('langchain', free, ['found', 'answer']);
        assert.equal((answer as { content: string }).content, 'zebra');
        assert.equal(found, 'found quagga');
      });
      assert.deepEqual(types, [...MODEL, ...PERMITTED]);
    });

    it('stops a tool that the gate denies, from within a callback', async () => {
      const callbacks = [new ActlogHandler(options())];
      await assert.rejects(make('erase').invoke({ q: 'x' }, { callbacks }), /DENY/);
      log.down = true;
      try {
        await assert.rejects(make('search').invoke({ q: 'x' }, { callbacks }), /did not answer/);
      } finally {
        log.down = false;
      }
    });
  });

  it('for the OpenAI client record requests and streams in the example', async () => {
    const chunk = { ...completion(''), object: 'chat.completion.chunk', choices: [] };
    const upstream = await modelServer((body) =>
      body['stream'] === true ? [chunk, chunk] : completion('zebra'),
    );
    const own = setEnvironment({ OPENAI_BASE_URL: upstream.url, OPENAI_API_KEY: 'k' });
    try {
      const { client } = await runExample('openai', {}, ['client']);
      const { completions } = (client as OpenAI).chat;
      const ask = {
        model: 'zebra-5',
        messages: [{ role: 'user' as const, content: 'quagga?' }],
      };
      const types = await log.types(async () => {
        const { choices } = await completions.create(ask);
        assert.equal(choices[0]?.message.content, 'zebra');
        let parts = 0;
        for await (const _ of await completions.create({ ...ask, stream: true })) parts += 1;
        assert.equal(parts, 2);
      });
      assert.deepEqual(types, [...MODEL, ...MODEL]);
      assert.equal(upstream.requests.length, 2);
    } finally {
      own();
      await upstream.close();
    }
  });

  it('for OpenAI Agents run, refuse with a reason and log the tools of the example', async () => {
    const said: ModelRequest['input'][] = [];
    const call = (callId: string, name: string): AgentOutputItem => ({
      ...{ type: 'function_call', callId, name, status: 'completed' },
      arguments: '{"q":"quagga"}',
    });
    const content = [{ type: 'output_text' as const, text: 'zebra' }];
    const last: AgentOutputItem = {
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content,
    };
    const turns = [[call('c1', 'search'), call('c2', 'erase')], [last]];
    const fake: Model = {
      getResponse({ input }) {
        said.push(input);
        return Promise.resolve({ usage: new Usage(), output: turns.shift() ?? [] });
      },
      getStreamedResponse: () => assert.fail('nothing is streamed'),
    };
    const about = (name: string) => ({
      ...{ name, description: name, parameters: z.object({ q: z.string() }) },
      execute: ({ q }: { q: string }) => (name === 'search' ? `found ${q}` : assert.fail('it ran')),
    });
    const { guarded: search, log: hook } = await runExample(
      'openai-agents',
      { search: about('search') },
      ['guarded', 'log'],
    );
    const { input, output } = hook as ReturnType<typeof agents>;
    const erase = agentTool({
      ...about('erase'),
      inputGuardrails: [input],
      outputGuardrails: [output],
    });
    const agent = new Agent({ name: 'zebra', model: fake, tools: [search as FunctionTool, erase] });
    const types = await log.types(async () => {
      const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'quagga?');
      assert.equal(finalOutput, 'zebra');
    });
    assert.deepEqual(types.sort(), [...PERMITTED, 'gate.decision.v3'].sort());
    assert.match(JSON.stringify(said[1]), /found quagga/);
    assert.match(JSON.stringify(said[1]), /erase was not called: DENY/);
  });
});
