// `actlog mcp`: a client of the official SDK calls its tools in both protocol versions and over both transports.
// tools/AGENTS.md.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { run } from '../../gateway/running.ts';
import type { Body, Running } from '../../gateway/running.ts';
import { ACTLOG, start } from '../../support/actlog.ts';

describe('actlog mcp', function () {
  this.timeout(60_000);
  let running: Running;
  let folder = '';
  let env: Record<string, string> = {};
  before(async () => {
    running = await run();
    folder = await mkdtemp(join(tmpdir(), 'actlog-mcp-'));
    const kit = join(folder, 'kit.json');
    await writeFile(kit, (await running.get('/export/offline-verify-kit.json')).text);
    env = { PATH: process.env['PATH'] ?? '', NODE_NO_WARNINGS: '1' };
    env = { ...env, ACTLOG_URL: running.url, ACTLOG_KEY: running.live, ACTLOG_KIT: kit };
    const rules = [{ id: 'pay', effect: 'allow', action_types: ['payment.release'] }];
    await running.post('/api/v1/execute-gate/policy', { rules }, { key: running.live });
  });
  after(async () => {
    await running.close();
    await rm(folder, { recursive: true });
  });

  const call = async (client: Client, name: string, args: Record<string, unknown>): Promise<Body> =>
    client.callTool({ name, arguments: args });

  it('classifies, asks the gate, uses permits and proves absence, with receipts as structured content', async () => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    const args = [...ACTLOG, 'mcp'];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env }));
    const { tools } = await client.listTools();
    assert.equal(tools.length, 6);
    assert.ok(tools.every(({ outputSchema }) => outputSchema !== undefined));

    const classified = await call(client, 'classify', {
      message: 'Schedule the interview for Monday',
    });
    assert.equal(classified.structuredContent.classification, 'SAFE');
    const { receipt } = classified.structuredContent;

    const asked = await call(client, 'ask_gate', { action_type: 'payment.release' });
    assert.equal(asked.structuredContent.outcome, 'PERMIT');
    assert.ok(
      !JSON.stringify(asked).includes('"value":"') ||
        !JSON.stringify(asked).includes('"use_secret":{'),
    );
    const { permit_id } = asked.structuredContent.permit;
    const used = await call(client, 'use_permit', { permit_id });
    assert.equal(used.structuredContent.permit_id, permit_id);
    const again = await call(client, 'use_permit', { permit_id });
    assert.equal(again.isError, true);
    const silent = await call(client, 'ask_gate', { action_type: 'data.export' });
    assert.equal(silent.structuredContent.outcome, 'SILENCE');

    const present = await call(client, 'prove_presence', { entry_id: receipt.entry_id });
    assert.equal(present.structuredContent.found, true);
    assert.ok(present.structuredContent.receipt.log.inclusion_proof !== undefined);
    const none = await call(client, 'prove_presence', {
      entry_id: '01900000-0000-7000-8000-000000000000',
    });
    assert.equal(none.structuredContent.found, false);

    const surfaces = ['pay', 'mail'];
    await running.post('/api/v1/astl/publish', { entity: 'acme', surfaces }, { key: running.live });
    const from_ms = Date.now();
    const window = { entity: 'acme', from_ms, to_ms: from_ms + 20 };
    const absent = await call(client, 'prove_absence', { ...window, surface: 'pay' });
    const [finding] = absent.structuredContent.findings;
    assert.equal(finding.verdict, 'ABSENT', absent.content[0].text);
    assert.match(finding.claim, /^not_established for the world/);
    const undeclared = await call(client, 'prove_absence', { ...window, surface: 'other' });
    assert.match(undeclared.structuredContent.findings[0].claim, /^not_established: surface/);

    for (const document of [receipt, JSON.stringify(receipt), finding.document]) {
      const verified = await call(client, 'verify_document', { document });
      assert.equal(verified.structuredContent?.valid, true, verified.content[0].text);
    }
    const forged = { ...receipt, classification: 'VIOLATION' };
    const invalid = await call(client, 'verify_document', { document: forged });
    assert.equal(invalid.structuredContent.valid, false);
    await client.close();
  });

  it('serves streamable HTTP on this machine in both versions, and refuses other origins', async () => {
    const child = start(['mcp', '--http', '0'], { env });
    try {
      let url = '';
      for await (const line of createInterface(child.stderr)) {
        url = /(http:\/\/127\.0\.0\.1:\d+\/mcp)/.exec(line)?.[1] ?? '';
        if (url !== '') break;
      }
      for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
        const client = new Client(
          { name: 'test', version: '1.0.0' },
          { versionNegotiation: { mode } },
        );
        await client.connect(new StreamableHTTPClientTransport(new URL(url)));
        const asked = await call(client, 'ask_gate', { action_type: 'payment.release' });
        const { permit_id } = asked.structuredContent.permit;
        assert.equal((await call(client, 'use_permit', { permit_id })).isError, undefined);
        await client.close();
      }
      const foreign = await fetch(url, {
        method: 'POST',
        headers: { Origin: 'https://evil.example' },
      });
      assert.equal(foreign.status, 403);
    } finally {
      child.kill();
    }
  });
});
