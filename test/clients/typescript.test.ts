// Tests the TypeScript client against a real gateway, also with answers that are late, lost or false.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Webhook } from 'standardwebhooks';
import { verifyReceipt, trustFromKit } from '../../log/verify.ts';
import type { JsonObject } from '../../log/index.ts';
import {
  ApiError,
  Client,
  ConnectionFailed,
  openWebhook,
  Unverified,
  webhookKeys,
} from '../../tools/clients/typescript/index.ts';
import type { ClientOptions } from '../../tools/clients/typescript/index.ts';
import { BATCHED } from '../../tools/clients/typescript/batches.ts';
import { ok, run } from '../gateway/running.ts';
import type { Body, Running } from '../gateway/running.ts';

const ACT = { action_type: 'payment.release', agent_id: 'agent:treasury' };

/** Changes what the service answers: `n` counts the requests from 1. */
type Change = (n: number, response: Response) => Response | Promise<Response>;

describe('actlog/client', () => {
  let running: Running;
  let kit: JsonObject;
  let client: Client;

  before(async () => {
    running = await run();
    kit = ok(await running.get('/export/offline-verify-kit.json'));
    client = pinned();
  });
  after(() => running.close());

  const pinned = (options: ClientOptions = {}): Client =>
    new Client(running.url, { key: running.live, kit, verify: 'always', ...options });

  /** A client whose answers are changed on their way, and the requests that it sent. */
  function between(change: Change, options: ClientOptions = {}) {
    const sent: { readonly url: string; readonly headers: Headers }[] = [];
    const changing = async (
      input: string | URL | Request,
      init?: RequestInit,
    ): Promise<Response> => {
      sent.push({ url: new Request(input).url, headers: new Headers(init?.headers) });
      return change(sent.length, await fetch(input, init));
    };
    return { client: pinned({ fetch: changing, ...options }), sent };
  }

  const changed = (change: (answer: Body) => unknown): Client =>
    between(async (_, response) => Response.json(change(await response.json()), response)).client;

  describe('operations', () => {
    it('classifies a message, and waits for the inclusion proof of its receipt', async () => {
      const receipt = await client.classify({ message: 'How do I reset my password?' });
      assert.equal(receipt.classification, 'SAFE');
      const proven = await client.waitForProof(receipt);
      assert.equal(proven.entry_hash, receipt.entry_hash);
      const trust = trustFromKit(kit, proven.origin);
      const { valid, size = 0 } = verifyReceipt(proven as unknown as JsonObject, trust);
      assert.equal(valid && size > 0, true);
      assert.equal((await client.lookup(receipt.entry_id))?.found, true);
      assert.equal(await client.lookup('01a0c451-3ef0-7000-8000-000000000006'), null);
    });

    it('asks the gate, binds a payment and logs a restraint', async () => {
      assert.equal((await client.gate(ACT)).outcome, 'SILENCE');
      const bound = await client.bind({ payment_hash: `0x${'ab'.repeat(32)}` });
      assert.equal(bound.settlement.settlement_status, 'claimed');
      const left = await client.restraint({
        action_not_taken: 'export',
        decision_reason: 'no consent',
      });
      assert.equal(left.restraint.verdict, 'denied');
    });

    it('asks for absence documents, and reads all rows of a list', async () => {
      for (const surface of ['policy_bind', 'offer_extend']) {
        const { receipt } = await client.request('POST', '/api/v1/astl/publish', {
          body: { entity: 'acme', surfaces: [surface] },
        });
        await client.waitForProof(receipt);
      }
      const now = running.clock.wall();
      const answer = await client.witness({
        entity: 'acme',
        surface: 'policy_bind',
        from_ms: now - 60_000,
        to_ms: now - 30_000,
      });
      assert.equal(answer.witness?.verdict, 'UNDECLARED');
      let pages = 0;
      for await (const { data } of client.pages('/api/v1/astl/log.json', { limit: 1 }))
        pages += data.length;
      assert.equal(pages, 2);
      const surfaces: string[] = [];
      for await (const row of client.rows('/api/v1/astl/log.json', { limit: 1 }))
        surfaces.push(...row.surfaces);
      assert.deepEqual(surfaces, ['policy_bind', 'offer_extend']);
    });

    it('reads entries, checkpoints and chains of the log', async () => {
      const receipt = await client.classify({ message: 'hello', session_id: 'read-1' });
      const { log } = await client.waitForProof(receipt);
      const included = await client.inclusion(log.index);
      assert.equal(JSON.parse(included.entry).entry_id, receipt.entry_id);
      assert.match(await client.checkpoint(), /^test\.example\/log\/live\/1\n/);
      const key = ['session', String(receipt.session_ref)] as const;
      const at = receipt.issued_at_ms;
      const verdicts: unknown[] = [];
      for await (const page of client.chain(key, { from_ms: at - 1000, to_ms: at }))
        verdicts.push(page.verdict);
      for await (const page of client.chain(key, { from_ms: at - 2000, to_ms: at - 1 }))
        verdicts.push(page.verdict);
      assert.deepEqual(verdicts, ['PRESENT', 'ABSENT']);
    });

    it('refuses an answer with nothing to verify unless the caller says so', async () => {
      await assert.rejects(client.request('GET', '/api/v1/me', {}), Unverified.is);
      assert.equal((await client.request('GET', '/api/v1/me', { verify: false })).ok, true);
      assert.equal((await client.requestAny('GET', '/api/v1/me', { verify: false })).ok, true);
      await assert.rejects(
        client.requestAny('GET', '/api/v1/none', { verify: false }),
        ApiError.is,
      );
    });

    it('throws the error of the service with its code', async () => {
      const refused = client.requestAny('POST', '/api/v1/classify', { body: {} });
      await assert.rejects(refused, (error) => {
        assert.equal(ApiError.is(error), true);
        const { status, code, requestId, retryAfterMs } = error as ApiError;
        assert.deepEqual(
          { status, code, retryAfterMs },
          { status: 400, code: 'message_required', retryAfterMs: null },
        );
        assert.match(String(requestId), /^req_/);
        return true;
      });
    });

    it('sends a key for idempotency that the caller gives', async () => {
      const options = { idempotencyKey: 'typescript-once' };
      const first = await client.classify({ message: 'once' }, options);
      assert.deepEqual(await client.classify({ message: 'once' }, options), first);
    });

    it('needs a kit to verify, and an address', () => {
      assert.throws(() => new Client(running.url, { verify: 'always' }), TypeError);
      assert.throws(() => new Client('nowhere'), TypeError);
    });
  });

  describe('invalid answers', () => {
    const without = (answer: Body, name: string): Body => ({ ...answer, [name]: undefined });
    const cases: [string, (client: Client) => Promise<unknown>, (answer: Body) => unknown][] = [
      [
        'another classification',
        (c) => c.classify({ message: 'a' }),
        (a) => ({ ...a, classification: 'CRISIS' }),
      ],
      [
        'no disclosure of the message',
        (c) => c.classify({ message: 'a' }),
        (a) => without(a, 'disclosures'),
      ],
      ['no signature', (c) => c.classify({ message: 'a' }), (a) => without(a, 'signature')],
      [
        'another outcome than that of the receipt',
        (c) => c.gate(ACT),
        (a) => ({ ...a, outcome: 'PERMIT' }),
      ],
      ['a decision without receipt', (c) => c.gate(ACT), (a) => without(a, 'receipt')],
      [
        'a restraint without receipt',
        (c) => c.restraint({ action_not_taken: 'a', decision_reason: 'b' }),
        (a) => ({ ...a, receipt: null }),
      ],
      ['another index', (c) => c.inclusion(1), (a) => ({ ...a, index: 0 })],
      ['a shorter path', (c) => c.inclusion(1), (a) => ({ ...a, path: a.path.slice(1) })],
      [
        'another verdict',
        (c) => c.chain(['entity', 'acme'], { from_ms: 0, to_ms: 1 }).next(),
        (a) => ({ ...a, verdict: 'PRESENT' }),
      ],
    ];
    for (const [name, call, change] of cases) {
      it(`are refused: ${name}`, async () => {
        await assert.rejects(call(changed(change)), Unverified.is);
      });
    }

    it('are refused: a valid receipt of another request', async () => {
      const other = await client.classify({ message: 'another message' });
      const found = await client.lookup(other.entry_id);
      await assert.rejects(changed(() => other).classify({ message: 'a' }), /of this message/);
      await assert.rejects(changed(() => ({ receipt: other })).gate(ACT), /no receipt of gate/);
      await assert.rejects(changed(() => found).lookup('x'), /another entry/);
    });

    it('are refused: absence documents that do not cover the whole window', async () => {
      const now = running.clock.wall();
      const asked = {
        entity: 'acme',
        surface: 'policy_bind',
        from_ms: now - 60_000,
        to_ms: now - 30_000,
      };
      const shorter = ok(
        await running.post(
          '/api/v1/absence/witness',
          { ...asked, to_ms: now - 40_000 },
          { key: running.live },
        ),
      );
      await assert.rejects(changed(() => shorter).witness(asked), /leave out a part/);
      await assert.rejects(
        changed(() => shorter).witness({ ...asked, entity: 'other' }),
        /another chain/,
      );
    });

    it('are refused: a proof that is not valid; a missing proof is a timeout', async () => {
      const receipt = await client.waitForProof(await client.classify({ message: 'proven' }));
      const answer = (await client.lookup(receipt.entry_id)) as Body;
      const path = receipt.log.inclusion_proof!.slice(1);
      const cut = {
        ...answer,
        receipt: { ...answer.receipt, log: { ...receipt.log, inclusion_proof: path } },
      };
      for (const false_ of [cut, { ...answer, proof: { tlog_proof: 'none' } }]) {
        await assert.rejects(changed(() => false_).waitForProof(receipt), Unverified.is);
      }
      const { log: _, ...bare } = answer.receipt;
      const late = changed(() => ({ found: true, receipt: bare, proof: { tlog_proof: 1 } }));
      await assert.rejects(late.waitForProof(receipt, { timeoutMs: 0 }), { name: 'TimeoutError' });
    });

    it('are refused: receipts of a log that the kit does not have', async () => {
      const logs = (kit.logs as Body[]).filter(({ origin }) => !origin.includes('live'));
      await assert.rejects(
        pinned({ kit: { ...kit, logs } }).classify({ message: 'a' }),
        /does not have/,
      );
    });
  });

  describe('requests', () => {
    it('follow no redirect, which would carry the key to another address', async () => {
      const reached: string[] = [];
      const other = createServer((request, response) => {
        reached.push(request.url ?? '');
        response.writeHead(307, { location: running.url }).end();
      });
      other.listen(0, '127.0.0.1');
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      const moved = new Client(`http://127.0.0.1:${String(port)}`, { key: 'k', retries: 0 });
      await assert.rejects(moved.classify({ message: 'a' }), (error) => {
        return ConnectionFailed.is(error) && error.message.includes('redirect');
      });
      const both = [moved.classify({ message: 'a' }), moved.classify({ message: 'b' })];
      for (const one of both) await assert.rejects(one, ConnectionFailed.is);
      assert.ok(reached.length >= 3);
      other.close();
    });

    it('are repeated under one key when the answer is lost, and append once', async () => {
      const { client: lossy, sent } = between((n, response) => {
        if (n === 1) throw new TypeError('the connection broke');
        return response;
      });
      const receipt = await lossy.classify({ message: 'asked twice', session_id: 'asked-twice' });
      assert.equal(sent.length, 2);
      assert.equal(new Set(sent.map((one) => one.headers.get('idempotency-key'))).size, 1);
      await client.waitForProof(receipt);
      const at = receipt.issued_at_ms;
      const chain = client.chain(['session', String(receipt.session_ref)], {
        from_ms: at - 60_000,
        to_ms: at,
      });
      const { value } = await chain.next();
      assert.equal(value?.verdict === 'PRESENT' && value.entries?.length, 1);
    });

    for (const after of ['0', 'Thu, 01 Jan 2015 00:00:00 GMT']) {
      it(`are repeated after Retry-After: ${after}`, async () => {
        const busy = { error: { code: 'log_busy', message: 'busy' } };
        const init = { status: 503, headers: { 'Retry-After': after } };
        const { client: patient, sent } = between((n, response) =>
          n < 3 ? Response.json(busy, init) : response,
        );
        await patient.checkpoint();
        assert.equal(sent.length, 3);
      });
    }

    it('are not repeated when the service asks for a longer wait than allowed', async () => {
      const init = { status: 429, headers: { 'Retry-After': '600' } };
      const { client: busy, sent } = between(() =>
        Response.json({ error: { code: 'rate_limited' } }, init),
      );
      await assert.rejects(busy.checkpoint(), { retryAfterMs: 600_000 });
      assert.equal(sent.length, 1);
    });

    it('are not repeated if they take no Idempotency-Key', async () => {
      const { client: lossy, sent } = between(() => {
        throw new TypeError('the connection broke');
      });
      const lost = lossy.requestAny('POST', '/signal/trigger/subscriptions', {
        body: {},
        verify: false,
      });
      await assert.rejects(lost, ConnectionFailed.is);
      assert.equal(sent.length, 1);
    });

    it('end at the timeout, and immediately when the caller aborts', async () => {
      const silent = { fetch: hanging, timeoutMs: 20, retries: 0 };
      await assert.rejects(pinned(silent).checkpoint(), ConnectionFailed.is);
      const ended = new AbortController();
      const waiting = pinned({ fetch: hanging }).checkpoint({ signal: ended.signal });
      ended.abort(new Error('no longer needed'));
      await assert.rejects(waiting, /no longer needed/);
    });
  });

  describe('webhook messages', () => {
    const body = JSON.stringify({ type: 'checkpoint.published', data: { n: 1 } });
    const secret = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`;
    const at = new Date(1_790_000_000_000);
    const headers = (signature: string) => ({
      'Webhook-Id': 'msg_1',
      'Webhook-Timestamp': String(at.getTime() / 1000),
      'Webhook-Signature': signature,
    });

    it('are verified with the secret, as the library of Standard Webhooks signs them', async () => {
      const signed = headers(`v1,AAAA v1a,!! ${new Webhook(secret).sign('msg_1', at, body)}`);
      const opened = await openWebhook(
        { headers: signed, body },
        { keys: [], secret },
        at.getTime(),
      );
      assert.deepEqual(opened.data, { n: 1 });
      const refused = [
        { body: `${body} `, secret, now: at.getTime() },
        { body, secret, now: at.getTime() + 301_000 },
        { body, secret, now: at.getTime() - 301_000 },
        { body, secret: 'whsec_QUJD', now: at.getTime() },
      ];
      for (const { now, ...message } of refused) {
        const opening = openWebhook(
          { headers: signed, body: message.body },
          { keys: [], secret: message.secret },
          now,
        );
        await assert.rejects(opening, Unverified.is);
      }
      const wrong = createHmac('sha256', 'x')
        .update(`msg_1.${String(at.getTime() / 1000)}.${body}`)
        .digest('base64');
      const forged = { headers: headers(`v1,${wrong}`), body };
      await assert.rejects(openWebhook(forged, { keys: [], secret }, at.getTime()), Unverified.is);
    });

    it('are verified with the webhook keys of the kit, or with those that the service publishes', async () => {
      assert.equal(webhookKeys(kit).length, 2);
      const false_ = {
        ...headers(`v1a,${'A'.repeat(86)}==`),
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      };
      const { 'Webhook-Timestamp': _, ...now } = false_;
      await assert.rejects(client.webhooks.open(now, body), /no signature/);
      const unpinned = new Client(running.url);
      await assert.rejects(
        unpinned.webhooks.open(new Headers(now), new TextEncoder().encode(body)),
        /no signature/,
      );
    });
  });

  describe('concurrent calls', () => {
    const MESSAGES = Array.from({ length: 40 }, (_, i) => `How do I reset password ${String(i)}?`);
    const NONE = {} as { message: string };

    const paths = (sent: readonly { readonly url: string }[]) =>
      sent.map(({ url }) => new URL(url).pathname);

    // The client verifies that each answer is about the message of its call.
    it('are sent as one batch, and each gets its own answer', async () => {
      const { client, sent } = between((_, response) => response);
      const left = client.restraint({ action_not_taken: 'export', decision_reason: 'no consent' });
      const answers = await Promise.all(MESSAGES.map((message) => client.classify({ message })));
      await left;
      assert.deepEqual(paths(sent).sort(), ['/api/v1/classify/batch', '/api/v1/restraint']);
      assert.equal(new Set(answers.map(({ entry_id }) => entry_id)).size, MESSAGES.length);
    });

    it('are refused individually', async () => {
      const { client, sent } = between((_, response) => response);
      const [one, none, other] = await Promise.allSettled([
        client.classify({ message: 'one' }),
        client.classify(NONE),
        client.classify({ message: 'other' }),
      ]);
      assert.deepEqual([one.status, other.status], ['fulfilled', 'fulfilled']);
      assert.ok(none.status === 'rejected' && ApiError.is(none.reason));
      assert.equal(none.reason.code, 'message_required');
      assert.equal(sent.length, 1);
    });

    it('are sent again individually under their keys when the answer breaks off, and append once', async () => {
      const { client, sent } = between(async (n, response) => {
        if (n > 1) return response;
        const lines = (await response.text()).split('\n').slice(0, 3);
        return new Response(`${lines.join('\n')}\n{"line":4,"sta`, response);
      });
      const before = running.gateway.logs.live.size();
      const messages = MESSAGES.slice(0, 6);
      const answers = await Promise.all(messages.map((message) => client.classify({ message })));
      assert.equal(new Set(answers.map(({ entry_id }) => entry_id)).size, 6);
      assert.deepEqual(paths(sent).slice(1), Array(3).fill('/api/v1/classify'));
      const added = running.gateway.logs.live.size() - before;
      const heads = mapHeadsSince(before);
      assert.equal(added - heads, 6);
    });

    it('are sent individually to a service without batches, after one attempt of a batch', async () => {
      const { client, sent } = between((_, response) =>
        response.url.endsWith('/batch') ? new Response(null, { status: 404 }) : response,
      );
      for (const message of ['first', 'second']) {
        await Promise.all([client.classify({ message }), client.classify({ message })]);
      }
      assert.equal(paths(sent).filter((path) => path.endsWith('/batch')).length, 1);
      assert.equal(new Set(paths(sent)).size, 2);
    });

    it('all fail if the key is refused, and are single requests with batches: never', async () => {
      const { client, sent } = between((_, response) => response, { key: 'svc_live_unknown' });
      const refused = await Promise.allSettled([
        client.classify({ message: 'one' }),
        client.classify({ message: 'other' }),
      ]);
      for (const one of refused) {
        assert.ok(one.status === 'rejected' && ApiError.is(one.reason));
        assert.equal(one.reason.code, 'api_key_invalid');
      }
      assert.equal(sent.length, 1);
      const alone = between((_, response) => response, { batches: 'never' });
      await Promise.all([
        alone.client.classify({ message: 'a' }),
        alone.client.classify({ message: 'b' }),
      ]);
      assert.deepEqual(paths(alone.sent), Array(2).fill('/api/v1/classify'));
    });

    it('are batched for exactly the operations that have a batch', async () => {
      const { paths } = ok(await running.get('/openapi.json')) as { paths: object };
      const batched = Object.keys(paths).flatMap(
        (path) => /^(.*)\/batch$/.exec(path)?.slice(1) ?? [],
      );
      for (const path of BATCHED) assert.ok(batched.includes(path), path);
    });

    /** The number of map heads in the live log from an index on: checkpoints append them. */
    const mapHeadsSince = (from: number): number => {
      const { live } = running.gateway.logs;
      let heads = 0;
      for (let i = from; i < live.size(); i += 1) {
        if (live.entry(i)?.includes('"log.map_head.v1"') === true) heads += 1;
      }
      return heads;
    };
  });

  it('imports nothing of Node.js, so that browsers and workers can load it', async () => {
    const entry = fileURLToPath(
      new URL('../../tools/clients/typescript/index.ts', import.meta.url),
    );
    const { outputFiles, errors } = await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      minify: true,
      logLevel: 'silent',
    });
    assert.deepEqual(errors, []);
    assert.equal((outputFiles[0]?.contents.length ?? 0) < 150_000, true);
  });
});

/** A fetch that never answers, and ends when it is aborted. */
const hanging = (_: string | URL | Request, init?: RequestInit): Promise<Response> =>
  new Promise((_, reject) => {
    init?.signal?.addEventListener('abort', () => {
      reject(new DOMException('aborted', 'AbortError'));
    });
  });
