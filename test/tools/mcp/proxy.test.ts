// `actlog mcp-proxy`: a client of the official SDK calls real servers of both protocol versions through the proxy. Further
// tests send lines that arrive only if the proxy relays them unchanged. tools/AGENTS.md.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hash } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import canonicalize from 'canonicalize';
import type { JsonObject } from '../../../log/verify.ts';
import { checkDocument, trustFromKit, verifyReceipt } from '../../../plugins/verifiers.ts';
import { surfaceOfTool } from '../../../tools/mcp/surfaces.ts';
import { withMeta } from '../../../tools/mcp/messages.ts';
import { run } from '../../gateway/running.ts';
import type { Body, Running } from '../../gateway/running.ts';
import { childArgs } from '../../support/child.ts';
import { freePort } from '../../support/free-port.ts';
import { bothEras } from './both-eras.ts';
import { allow, connected, EVERYTHING, oddProxy, statements } from './proxied.ts';

const LATEST = '2026-07-28';

describe('the MCP proxy', function () {
  this.timeout(60_000);
  let running: Running;
  let key = '';
  before(async () => {
    running = await run();
    const [first] = running.gateway.tenants.list();
    key = (await running.gateway.tenants.issue({ tenant: first?.tenant ?? '', kind: 'live' })).key;
  });
  after(() => running.close());
  const told = (entity: string) => ({ url: running.url, key, entity });
  const call = async (
    client: Client,
    name: string,
    args: Record<string, unknown> = {},
  ): Promise<Body> => client.callTool({ name, arguments: args });

  it('asks the gate before each call of server-everything, and logs the use and the result', async () => {
    const sampled: unknown[] = [];
    const { client, said } = await connected(
      told('mcp:all'),
      ['--heartbeat', '30', '--', ...EVERYTHING],
      {
        capabilities: { sampling: {}, elicitation: {} },
      },
    );
    client.setRequestHandler('sampling/createMessage', (request) => {
      sampled.push(request.params.messages);
      return { role: 'assistant', model: 'test', content: { type: 'text', text: 'sampled' } };
    });
    const { tools } = await client.listTools();
    assert.ok(tools.length > 10, 'the list of tools is that of the server');
    assert.match(client.getServerVersion()?.name ?? '', /everything/);

    const silent = await call(client, 'get-structured-content', { location: 'Chicago' });
    assert.equal(silent.isError, true, 'without a policy the gate answers SILENCE');
    assert.match(silent.content[0].text, /SILENCE/);
    assert.equal(silent.structuredContent, undefined);
    const refusal = silent._meta['dev.actlog/refusal'];
    assert.deepEqual([refusal.outcome, refusal.reasons], ['SILENCE', ['no_policy']]);

    const names = ['echo', 'get-structured-content', 'get-env', 'trigger-sampling-request'];
    await allow(running, [...names, 'trigger-long-running-operation'], ['get-sum']);
    const from = statements(running).length;
    const echoed = await call(client, 'echo', { message: 'secret words' });
    assert.deepEqual(echoed.content, [{ type: 'text', text: 'Echo: secret words' }]);
    const { 'dev.actlog/receipt': receipt, 'dev.actlog/call': about } = echoed._meta;
    const kit = (await running.get('/export/offline-verify-kit.json')).json as JsonObject;
    const { checks } = verifyReceipt(
      receipt as JsonObject,
      trustFromKit(kit, receipt.origin as string),
    );
    assert.ok(
      checks.every(({ outcome }) => outcome !== 'failed'),
      JSON.stringify(checks),
    );
    const entries = statements(running)
      .slice(from)
      .filter(({ type }) => (type as string).startsWith('gate.'));
    assert.deepEqual(
      entries.map(({ type, status }) => [type, status]),
      [
        ['gate.decision.v3', undefined],
        ['gate.permit_use.v1', undefined],
        ['gate.permit_result.v1', 'completed'],
      ],
    );
    const [decision, use, result] = entries;
    assert.deepEqual(
      [decision.entity, decision.surface, decision.surface_declared],
      ['mcp:all', 'echo', true],
    );
    assert.deepEqual(
      [about.permit_id, about.permit_use_id, about.result_entry_id],
      [decision.entry_id, use.entry_id, result.entry_id],
    );
    // The caller can disclose what the log commits to: the arguments, and the digest of the result.
    const { salt, sha256 } = about.arguments_commitment;
    const opened = Buffer.concat([
      Buffer.from(salt, 'hex'),
      Buffer.from('{"message":"secret words"}'),
    ]);
    assert.equal(hash('sha256', opened, 'hex'), sha256);
    assert.equal(receipt.disclosures.preimage.value.scope, `mcp:${salt}:${sha256}`);
    const logged = await running.get(`/receipt/lookup?entry_id=${result.entry_id}`, { key });
    const { _meta: _, ...returned } = echoed;
    const digest = hash('sha256', canonicalize(returned) ?? '', 'hex');
    assert.equal(logged.json.receipt.disclosures.result_sha256.value, digest);
    const everything = JSON.stringify([echoed, statements(running)]);
    assert.ok(
      !everything.includes('use_secret":{'),
      'the opening of the use secret is not passed on',
    );
    assert.ok(!JSON.stringify(statements(running)).includes('secret words'));

    const structured = await call(client, 'get-structured-content', { location: 'Chicago' });
    assert.equal(typeof structured.structuredContent.temperature, 'number');
    assert.equal(
      (await call(client, 'get-env')).content[0].text.includes(key),
      false,
      'the server does not see the key',
    );
    const progress: unknown[] = [];
    await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 0.4, steps: 2 } },
      { onprogress: (step) => progress.push(step.progress) },
    );
    assert.deepEqual(progress, [1, 2]);
    const sampling = await call(client, 'trigger-sampling-request', {
      prompt: 'hello',
      maxTokens: 5,
    });
    assert.equal(
      sampled.length,
      1,
      'a request of the server reaches the client, and its answer the server',
    );
    assert.match(JSON.stringify(sampling.content), /sampled/);

    // A held call, and the same call after a human has released it.
    const held = await call(client, 'get-sum', { a: 1, b: 2 });
    assert.equal(held.isError, true);
    const { hold_id, hold_url } = held._meta['dev.actlog/refusal'];
    assert.ok(held.content[0].text.includes(hold_id));
    assert.equal(hold_url, `${running.url}/api/v1/execute-gate/holds/${String(hold_id)}`);
    const release = { action: 'release', reason: 'checked' };
    assert.equal(
      (await running.post(new URL(hold_url).pathname, release, { key: running.live })).status,
      200,
    );
    assert.equal((await call(client, 'get-sum', { a: 2, b: 2 })).isError, true, 'a different call');
    assert.match((await call(client, 'get-sum', { a: 1, b: 2 })).content[0].text, /3/);
    assert.equal(
      (await call(client, 'get-sum', { a: 1, b: 2 })).isError,
      true,
      'the release was for one call only',
    );

    // "No tool of this kind was called" is verified offline; for the called tool the verdict is PRESENT.
    const beats = statements(running).filter(({ type }) => type === 'astl.heartbeat.v1');
    assert.ok(beats.length > 10, said());
    const from_ms = (statements(running).at(-1).issued_at_ms as number) + 1;
    await call(client, 'echo', { message: 'again' });
    const to_ms = from_ms + 1200;
    const witnessed = async (tool: string): Promise<Body> =>
      (
        await running.post(
          '/api/v1/absence/witness',
          { entity: 'mcp:all', surface: surfaceOfTool(tool), from_ms, to_ms },
          { key, headers: { Prefer: 'wait=10' } },
        )
      ).json;
    for (const [tool, verdict] of [
      ['get-tiny-image', 'ABSENT'],
      ['echo', 'PRESENT'],
    ] as const) {
      const { witness } = await witnessed(tool);
      const question = {
        key: ['surface', 'mcp:all', surfaceOfTool(tool)] as const,
        from_ms,
        to_ms,
      };
      const finding = await checkDocument(
        { kind: 'absence', document: witness },
        trustFromKit(kit, witness.origin ?? receipt.origin),
        { question: { ...question, key: [...question.key] } },
      );
      assert.equal(finding.valid, true, finding.summary);
      assert.ok(finding.summary.includes(verdict), finding.summary);
    }
    await client.close();
  });

  it('relays odd spellings, unknown methods and requests in both directions, unchanged', async () => {
    await allow(running, ['count']);
    const odd = await oddProxy(told('mcp:odd'));
    const lines = [
      '{"jsonrpc" : "2.0", "id": 1.0, "method":"x/unknown","params":{"f":1.50,"u":"\\u00e9"}}',
      '{"jsonrpc":"2.0","method":"notifications/x/odd",  "params":{}}',
      '[{"jsonrpc":"2.0","id":7,"method":"x/batched"}]',
      '{"jsonrpc":"2.0","id":"s1","result":{"from":"client"}}',
    ];
    for (const line of lines) odd.send(line);
    assert.equal(await odd.next(), '{"id" : 1, "result" : { "odd": 1e2 }, "jsonrpc":"2.0"}');
    odd.send('{"jsonrpc":"2.0","id":2,"method":"x/ask"}');
    const asked = '{"jsonrpc":"2.0","method":"x/server-asks","id":"s1","params":{"n":1e2}}';
    assert.equal(await odd.next((line) => line.includes('x/server-asks')), asked);
    const noted = '{"jsonrpc":"2.0","method":"notifications/x","params":{"a":  1.0}}';
    assert.equal(await odd.next((line) => line.includes('notifications/x')), noted);
    const calling =
      '{"id":"c", "jsonrpc":"2.0","method":"tools/call","params":{"name":"count","arguments":{"x":1.50}}}';
    odd.send(calling);
    const answer = await odd.next((line) => line.includes('"c"'));
    assert.match(
      answer,
      /^\{"id" : "c", "result" : \{"content" : \[ \], "big":12345678901234567890, "float":1\.0, "_meta" : \{"dev\.actlog/,
    );
    assert.match(answer, /,"x\/y":"\\u00e9"\}\}, "jsonrpc":"2.0"\}$/);
    const received = (await odd.received()).filter((line) => !line.includes('actlog-proxy:'));
    assert.deepEqual(received, [...lines, '{"jsonrpc":"2.0","id":2,"method":"x/ask"}', calling]);
    assert.equal(await odd.end(), 0, odd.said());
  });

  it('refuses lines that a server could parse as another call, and batches with a call', async () => {
    const odd = await oddProxy(told('mcp:odd'));
    const refused = [
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"count"}}',
      '{"jsonrpc":"2.0","id":2,"method":"ping","Method":"tools/call","params":{"name":"count"}}',
      '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"count","NAME":"other"}}',
      '[{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"count"}}]',
      '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}',
      'no json',
    ];
    for (const line of refused) {
      odd.send(line);
      assert.match(await odd.next(), /"error":\{"code":-32[67]00/, line);
    }
    odd.send('{"jsonrpc":"2.0","method":"tools/call","params":{"name":"count"}}');
    odd.send('{"jsonrpc":"2.0","id":6,"method":"ping"}');
    await odd.next();
    assert.deepEqual(await odd.received(), ['{"jsonrpc":"2.0","id":6,"method":"ping"}']);
    await odd.end();
  });

  it('logs `unknown` for a call whose server ends, and ends with its code', async () => {
    await allow(running, ['count']);
    const odd = await oddProxy(told('mcp:odd'));
    odd.send(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"end":true}}}',
    );
    assert.match(await odd.next(), /"id":1,"error"/);
    assert.equal(await odd.end(), 3);
    const last = statements(running).findLast(({ type }) => type === 'gate.permit_result.v1');
    assert.equal(last.status, 'unknown');
  });

  it('relays cancellation after a call was forwarded, and the tools of every page are surfaces', async () => {
    await allow(running, ['count', 'Odd.Name']);
    const odd = await oddProxy(told('mcp:pages'));
    odd.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Odd.Name"}}');
    await odd.next();
    const manifest = statements(running).findLast(({ type }) => type === 'astl.manifest.v1');
    assert.deepEqual(manifest.surfaces, ['count', surfaceOfTool('Odd.Name')].sort());
    odd.send(
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"count","arguments":{"silent":true}}}',
    );
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}';
    const before = await odd.received();
    odd.send('{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"count"}}');
    await odd.next((line) => line.includes('"id" : 3'));
    assert.ok(before.length > 0);
    odd.send(cancel);
    odd.send('{"jsonrpc":"2.0","id":4,"method":"ping"}');
    await odd.next((line) => line.includes('"id" : 4'));
    assert.ok((await odd.received()).includes(cancel));
    await odd.end();
  });

  it('supports 2026-07-28: a call that asks the client a question is two acts of one session', async () => {
    await allow(running, ['add', 'ask_back']);
    const server = await childArgs(new URL('./both-eras-stdio.ts', import.meta.url));
    const { client } = await connected(told('mcp:both'), ['--', process.execPath, ...server], {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: { pin: LATEST } },
    });
    await twoRounds(client);
    await client.close();
  });

  async function twoRounds(client: Client): Promise<void> {
    client.setRequestHandler('elicitation/create', () => ({
      action: 'accept',
      content: { name: 'Ada' },
    }));
    const sum = await call(client, 'add', { a: 1, b: 2 });
    assert.deepEqual(sum.structuredContent, { sum: 3 });
    assert.equal(sum._meta['dev.actlog/call'].outcome, 'PERMIT');
    const from = statements(running).length;
    const asked = await call(client, 'ask_back');
    assert.match(asked.content[0].text, /Ada.*state-of-round-1/);
    const entries = statements(running).slice(from);
    const results = entries.filter(({ type }) => type === 'gate.permit_result.v1');
    assert.deepEqual(
      results.map(({ status }) => status),
      ['continued', 'completed'],
    );
    const sessions = entries
      .filter(({ type }) => type === 'gate.decision.v3')
      .map((one) => one.session_ref as string);
    assert.equal(sessions.length, 2);
    assert.equal(new Set(sessions).size, 1);
    const refused = await call(client, 'nothing');
    assert.equal(refused.isError, true);
    assert.equal(refused._meta['dev.actlog/refusal'].outcome, 'SILENCE');
  }

  it('works in front of a remote server of either protocol version', async () => {
    await allow(running, ['add', 'ask_back']);
    const node = toNodeHandler(createMcpHandler(bothEras));
    const http = createServer((req, res) => void node(req as Parameters<typeof node>[0], res));
    http.listen(0, '127.0.0.1');
    await new Promise((resolve) => http.once('listening', resolve));
    const url = `http://127.0.0.1:${String((http.address() as AddressInfo).port)}/mcp`;
    try {
      const modern = await connected(told('mcp:both'), ['--url', url], {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: { pin: LATEST } },
      });
      await twoRounds(modern.client);
      await modern.client.close();
      const legacy = await connected(told('mcp:both'), ['--url', url]);
      const sum = await call(legacy.client, 'add', { a: 2, b: 2 });
      assert.deepEqual(sum.structuredContent, { sum: 4 });
      await legacy.client.close();
    } finally {
      http.closeAllConnections();
      http.close();
    }
  });

  it('refuses while the service cannot be reached; with --fail-open it forwards and logs that later', async () => {
    const port = await freePort();
    const away = { url: `http://127.0.0.1:${String(port)}`, key, entity: 'mcp:away' };
    const line = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count"}}';
    const closed = await oddProxy(away);
    closed.send(line);
    assert.match(await closed.next(), /"isError":true.*gate_unreachable/);
    await closed.end();
    // The service runs, is stopped during the call, and starts again with its log.
    const first = await run({ PORT: String(port) });
    const DATA_DIR = first.data;
    await first.close(true);
    const open = await oddProxy({ ...away, key: first.live }, ['--fail-open']);
    open.send(line);
    assert.match(await open.next(), /12345678901234567890.*"reason":"gate_unreachable"/);
    assert.match(open.said(), /forwards mcp\.count without a permit/);
    const back = await run({ PORT: String(port), DATA_DIR });
    try {
      await open.until(/took 1 entries/);
      await open.end();
      const unasked = statements(back).filter(({ type }) => type === 'gate.unasked.v1');
      assert.deepEqual(
        unasked.map(({ entity, surface }) => [entity, surface]),
        [['mcp:away', 'count']],
        open.said(),
      );
    } finally {
      await back.close();
    }
  });
});

describe('what the proxy adds', () => {
  it('is added to _meta of the result and nowhere else', () => {
    const meta = { a: 1 };
    for (const [text, expected] of [
      ['{"result":{}}', '{"result":{"_meta":{"a":1}}}'],
      [
        '{"result": { "x":"}{\\"_meta\\":" }}',
        '{"result": {"_meta":{"a":1}, "x":"}{\\"_meta\\":" }}',
      ],
      ['{"result":{"_meta":{ }}}', '{"result":{"_meta":{"a":1 }}}'],
      [
        '{"id":"result","result":{"_meta":{"b":{"_meta":2}}}}',
        '{"id":"result","result":{"_meta":{"a":1,"b":{"_meta":2}}}}',
      ],
      ['{"error":{"code":1}}', '{"error":{"code":1}}'],
      ['{"r\\u0065sult":{}}', '{"r\\u0065sult":{"_meta":{"a":1}}}'],
    ] as const) {
      assert.equal(withMeta(text, meta), expected);
    }
  });

  it('is a surface for each tool, derived from its name alone', () => {
    assert.equal(surfaceOfTool('read_file'), 'read_file');
    const digits = (name: string): string => hash('sha256', name, 'hex').slice(0, 8);
    assert.equal(surfaceOfTool('get-sum'), `get_sum_${digits('get-sum')}`);
    assert.equal(surfaceOfTool('2x'), `t_2x_${digits('2x')}`);
    assert.match(surfaceOfTool('A'.repeat(128)), /^a{55}_[0-9a-f]{8}$/);
  });
});
