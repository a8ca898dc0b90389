// Inference: requests are forwarded and sealed, also if the upstream fails. gateway/API.md §10.8.

import assert from 'node:assert/strict';
import { request } from 'node:http';
import OpenAI from 'openai';
import type { JsonObject } from '../../../log/index.ts';
import { grown, NO_PEAKS, rootOf, sealed } from '../../../plugins/foundry/inference/entries.ts';
import type { Leaf } from '../../../plugins/foundry/inference/entries.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Ask, Running } from '../../gateway/running.ts';
import { problem, replayed } from '../astl/surfaces.ts';
import { startUpstream } from './upstream.ts';
import type { Upstream } from './upstream.ts';

const PATH = '/api/v1/inference/chat/completions';
const HELLO = [{ role: 'user', content: 'Say hello, in secret words' }] as const;

describe('inference', () => {
  let upstream: Upstream;
  let gateway: Running;
  before(async () => {
    upstream = await startUpstream();
    gateway = await run({ INFERENCE_UPSTREAM_URL: upstream.url, INFERENCE_API_KEY: 'op-key' });
  });
  after(async () => {
    replayed(gateway.gateway.logs.sandbox);
    await gateway.close();
    await upstream.close();
  });

  const ask = (body: object, more: Ask = {}): Promise<Answer> =>
    gateway.post(
      PATH,
      { model: 'up-1', messages: HELLO, ...body },
      { key: gateway.sandbox, ...more },
    );
  const seals = (): JsonObject[] => {
    const log = gateway.gateway.logs.sandbox;
    return Array.from(
      { length: log.size() },
      (_, i) => JSON.parse(log.entry(i)!) as JsonObject,
    ).filter(({ type }) => type === 'foundry.inference.v1');
  };
  /** The data of a stream's events. */
  const events = (text: string): string[] =>
    text
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => event.replace('data: ', ''));

  it('forwards a completion, and proves it', async () => {
    const { status, json } = await ask({ session_id: 'talk', temperature: 0.5 });
    assert.equal(status, 200);
    assert.equal(json.choices[0].message.content, 'Hello there');
    assert.equal(json.usage.total_tokens, 5);
    const { proof, receipt } = json;
    assert.deepEqual([proof.entry_id, proof.session_size], [receipt.entry_id, 1]);
    assert.equal(proof.session_root, receipt.session_root);
    assert.deepEqual(
      [receipt.model, receipt.source, receipt.outcome, receipt.upstream_status],
      ['up-1', 'upstream', 'completed', 200],
    );
    assert.deepEqual([receipt.toll, receipt.toll_micro_usd], ['inference_seal', 80_000]);
    const body = upstream.bodies.at(-1)!;
    assert.deepEqual([body['temperature'], 'session_id' in body], [0.5, false]);
    assert.equal(
      upstream.authorizations.at(-1),
      'Bearer op-key',
      'the key of the caller is never sent upstream',
    );
    assert.ok(!gateway.gateway.logs.sandbox.entry(receipt.index as number)!.includes('secret'));
  });

  it('commits to request and response, and to the session of both', async () => {
    const answers = [await ask({ session_id: 'chain' }), await ask({ session_id: 'chain' })];
    let tree = NO_PEAKS;
    for (const { json } of answers) {
      const { value } = json.receipt.disclosures.exchange;
      assert.equal(json.proof.request_hash, sealed(value.request_salt, value.request));
      assert.equal(json.proof.response_hash, sealed(value.response_salt, value.response));
      const { proof: _, receipt: __, ...completion } = json;
      assert.deepEqual(
        value.response,
        completion,
        'the sealed answer is the one that the caller received',
      );
      tree = grown(tree, json.receipt as Leaf);
      assert.deepEqual(
        [json.proof.session_size, json.proof.session_root],
        [tree.size, rootOf(tree)],
      );
    }
    const { key, seq } = answers[1]!.json.receipt.links[0];
    assert.deepEqual([key[0], seq], ['session', 1]);
  });

  it('grows one tree under concurrency', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => ask({ session_id: 'crowd' })));
    const sizes = all.map(({ json }) => json.proof.session_size as number).sort();
    assert.deepEqual(sizes, [1, 2, 3, 4, 5, 6, 7, 8]);
    const byPlace = all.map(({ json }) => json.receipt as Leaf & { index: number });
    byPlace.sort((a, b) => a.index - b.index);
    const root = rootOf(byPlace.reduce(grown, NO_PEAKS));
    const last = all.find(({ json }) => json.proof.session_size === 8)!;
    assert.equal(last.json.proof.session_root, root);
  });

  it('works with the official client, with and without streaming', async () => {
    const client = new OpenAI({
      ...{ apiKey: gateway.sandbox, maxRetries: 0 },
      baseURL: `${gateway.url}/api/v1/inference`,
    });
    const messages = [...HELLO];
    const completion = await client.chat.completions.create({ model: 'up-1', messages });
    assert.equal(completion.choices[0]?.message.content, 'Hello there');
    assert.ok('proof' in completion);
    const stream = await client.chat.completions.create({ model: 'up-1', messages, stream: true });
    let text = '';
    let last: object = {};
    for await (const chunk of stream) {
      const [choice] = chunk.choices;
      assert.ok(choice !== undefined, 'every chunk has choices unless the request asks for usage');
      text += choice.delta.content ?? '';
      last = chunk;
    }
    assert.equal(text, 'Hello');
    const { proof } = last as { proof: { entry_id: string; outcome: string } };
    assert.equal(proof.outcome, 'completed');
    const lookup = await gateway.get(`/receipt/lookup?entry_id=${proof.entry_id}`, {
      key: gateway.sandbox,
    });
    assert.equal(lookup.json.found, true);
    const broken = await client.chat.completions.create({
      ...{ model: 'stream-dies', messages, stream: true },
    });
    await assert.rejects(async () => {
      for await (const _ of broken);
    });
  });

  it('adds the proof as a member that the official client ignores, also with usage and in its stream helper', async () => {
    const client = new OpenAI({
      ...{ apiKey: gateway.sandbox, maxRetries: 0 },
      baseURL: `${gateway.url}/api/v1/inference`,
    });
    for (const [model, total] of [
      ['up-1', 5],
      ['svc-seal-1', 0],
    ] as const) {
      const messages = [...HELLO, { role: 'assistant' as const, content: 'Hello' }];
      const stream_options = { include_usage: true };
      const chunks: { readonly choices: readonly unknown[] }[] = [];
      const stream = client.chat.completions.stream({ model, messages, stream_options });
      stream.on('chunk', (chunk) => chunks.push(chunk));
      const whole = await stream.finalChatCompletion();
      assert.equal(whole.choices[0]?.message.content, 'Hello');
      assert.equal(whole.choices[0].finish_reason, 'stop');
      assert.equal(whole.usage?.total_tokens, total);
      const without = chunks.filter(({ choices }) => choices.length === 0);
      assert.deepEqual(without, chunks.slice(-1), 'the chunk of usage comes alone and last');
      assert.deepEqual(
        chunks.map((chunk) => 'proof' in chunk),
        chunks.map((_, i) => i === chunks.length - 2),
      );
    }
  });

  it('streams chunk by chunk, the proof in the last one with content', async () => {
    for (const [model, added] of [
      ['up-1', 0],
      ['stream-bare', 1],
    ] as const) {
      const { headers, text } = await ask({ model, stream: true, session_id: 'river' });
      assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
      const all = events(text);
      assert.equal(all.at(-1), '[DONE]');
      const { proof, receipt, ...content } = JSON.parse(all.at(-2)!);
      assert.deepEqual([proof.outcome, receipt.streamed], ['completed', true]);
      assert.equal(content.choices[0].index, 0);
      const { value } = receipt.disclosures.exchange;
      const came = [...all.slice(0, -2).map((data) => JSON.parse(data) as unknown), content];
      assert.deepEqual(value.response, came.slice(0, came.length - added), model);
    }
  });

  it('repeats the proof in a trailer, also if a stream breaks off', async () => {
    for (const [model, outcome] of [
      ['up-1', 'completed'],
      ['stream-dies', 'interrupted'],
    ] as const) {
      const answer = await new Promise<{ declared: unknown; text: string; proof: JsonObject }>(
        (resolve, reject) => {
          const sent = request(gateway.url + PATH, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-api-key': gateway.sandbox },
          });
          sent.on('error', reject);
          sent.on('response', (res) => {
            let text = '';
            res.setEncoding('utf8').on('data', (piece: string) => (text += piece));
            res.on('end', () => {
              const proof = JSON.parse(res.trailers['x-proof'] ?? 'null') as JsonObject;
              resolve({ declared: res.headers.trailer, text, proof });
            });
          });
          sent.end(JSON.stringify({ model, messages: HELLO, stream: true }));
        },
      );
      assert.equal(answer.declared, 'X-Proof');
      assert.equal(answer.proof['outcome'], outcome);
      const shown = events(answer.text).findLast((data) => data !== '[DONE]');
      assert.deepEqual(JSON.parse(shown ?? '').proof, answer.proof);
    }
  });

  it('seals each way in which an upstream fails', async () => {
    const of = async (model: string) => {
      const answer = await ask({ model, session_id: 'failures' });
      const sealedAs = seals().at(-1)!;
      assert.equal(answer.json.proof.entry_id, sealedAs['entry_id'], model);
      assert.ok(!answer.text.includes('a secret of the operator'));
      return [...problem(answer).slice(0, 2), sealedAs['outcome'], sealedAs['upstream_status']];
    };
    assert.deepEqual(await of('garbage'), [502, 'upstream_error', 'garbled', 200]);
    assert.deepEqual(await of('deep'), [502, 'upstream_error', 'garbled', 200]);
    assert.deepEqual(await of('empty'), [502, 'upstream_error', 'garbled', 200]);
    assert.deepEqual(await of('dies'), [502, 'upstream_error', 'interrupted', 200]);
    assert.deepEqual(await of('broken'), [502, 'upstream_error', 'refused', 500]);
    assert.deepEqual(await of('elsewhere'), [502, 'upstream_error', 'unreachable', undefined]);
    assert.deepEqual(await of('huge'), [502, 'upstream_error', 'oversized', 200]);
    assert.deepEqual(await of('unknown'), [400, 'parameter_invalid', 'refused', 404]);
    assert.deepEqual(await of('busy'), [429, 'rate_limited', 'refused', 429]);
    const busy = await ask({ model: 'busy' });
    assert.equal(busy.headers.get('retry-after'), '7');
  });

  it('seals a stream that breaks off, and says so in it', async () => {
    for (const [model, outcome] of [
      ['stream-dies', 'interrupted'],
      ['stream-garbage', 'garbled'],
      ['stream-deep', 'garbled'],
      ['stream-endless', 'interrupted'],
    ] as const) {
      const all = events((await ask({ model, stream: true })).text);
      assert.ok(!all.includes('[DONE]'));
      const { error, proof } = JSON.parse(all.at(-1)!);
      assert.deepEqual([error.code, proof.outcome], ['upstream_error', outcome]);
      assert.equal(seals().at(-1)!['outcome'], outcome);
    }
    const refused = await ask({ model: 'busy', stream: true });
    assert.deepEqual(
      problem(refused).slice(0, 2),
      [429, 'rate_limited'],
      'before the stream begins',
    );
  });

  it('seals what a client received before it disconnected', async () => {
    const before_ = seals().length;
    await new Promise<void>((resolve, reject) => {
      const sent = request(gateway.url + PATH, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': gateway.sandbox },
      });
      sent.on('error', reject);
      sent.on('response', (answer) => {
        answer.once('data', () => {
          sent.off('error', reject);
          sent.on('error', () => undefined);
          sent.destroy();
          resolve();
        });
      });
      sent.end(JSON.stringify({ model: 'stream-hangs', messages: HELLO, stream: true }));
    });
    while (seals().length === before_) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(seals().at(-1)!['outcome'], 'client_gone');
  });

  it('replays a completion under its Idempotency-Key, and calls the upstream once', async () => {
    const headers = { 'Idempotency-Key': 'one-answer' };
    const first = await ask({ session_id: 'again' }, { headers });
    const asked = upstream.bodies.length;
    const second = await ask({ session_id: 'again' }, { headers });
    assert.equal(second.text, first.text);
    assert.equal(upstream.bodies.length, asked);
    const failing = { headers: { 'Idempotency-Key': 'one-failure' } };
    const broken = await ask({ model: 'broken' }, failing);
    const again = await ask({ model: 'broken' }, failing);
    assert.deepEqual(problem(again), problem(broken));
    assert.equal(again.json.proof.entry_id, broken.json.proof.entry_id);
    const stream = await ask({ stream: true }, { headers: { 'Idempotency-Key': 'a-stream' } });
    assert.deepEqual(problem(stream).slice(0, 2), [400, 'invalid_idempotency_key']);
  });

  it('does not use the operator’s upstream for callers without a key', async () => {
    const answer = await gateway.post(PATH, { model: 'up-1', messages: HELLO });
    assert.deepEqual(problem(answer).slice(0, 2), [401, 'api_key_missing']);
  });

  it('refuses an invalid request', async () => {
    const of = async (body: object) => problem(await ask(body));
    assert.deepEqual(await of({ messages: [] }), [400, 'parameter_invalid', 'messages']);
    assert.deepEqual(await of({ messages: 'hi' }), [400, 'parameter_invalid', 'messages']);
    assert.deepEqual(await of({ model: '' }), [400, 'parameter_invalid', 'model']);
    assert.deepEqual(await of({ stream: 'yes' }), [400, 'parameter_invalid', 'stream']);
  });
});

describe('inference without an upstream, or with one that hangs', () => {
  it('seals a completion that the caller sends, whole or as a stream', async () => {
    const gateway = await run();
    try {
      const messages = [...HELLO, { role: 'assistant', content: 'Hello from elsewhere' }];
      const body = { model: 'svc-seal-1', messages };
      const { status, json } = await gateway.post(PATH, body);
      assert.deepEqual([status, json.choices[0].message.content], [200, 'Hello from elsewhere']);
      assert.deepEqual([json.receipt.source, json.receipt.sandbox], ['caller', false]);
      const { text } = await gateway.post(PATH, { ...body, stream: true });
      assert.match(text, /Hello from elsewhere[^]*"proof"[^]*data: \[DONE\]\n\n$/);
      const nothing = await gateway.post(PATH, { ...body, messages: HELLO });
      assert.deepEqual(problem(nothing), [400, 'parameter_invalid', 'messages']);
      const other = await gateway.post(PATH, { ...body, model: 'up-1' });
      assert.deepEqual(problem(other).slice(0, 2), [503, 'inference_upstream_unconfigured']);
    } finally {
      await gateway.close();
    }
  });

  it('gives up on an upstream that does not answer, and seals the failure', async () => {
    const upstream = await startUpstream();
    const gateway = await run({ INFERENCE_UPSTREAM_URL: upstream.url, INFERENCE_TIMEOUT_MS: '50' });
    try {
      const body = { model: 'hangs', messages: HELLO };
      const { json, status } = await gateway.post(PATH, body, { key: gateway.sandbox });
      assert.deepEqual([status, json.proof.outcome], [502, 'timed_out']);
    } finally {
      await gateway.close();
      await upstream.close();
    }
  });

  it('refuses to start with an upstream that is not a URL', async () => {
    for (const INFERENCE_UPSTREAM_URL of ['ftp://x/v1', 'http://u:p@x/v1', 'not a url']) {
      await assert.rejects(run({ INFERENCE_UPSTREAM_URL }), /INFERENCE_UPSTREAM_URL/);
    }
    await assert.rejects(run({ INFERENCE_TIMEOUT_MS: 'soon' }), /INFERENCE_TIMEOUT_MS/);
  });
});
