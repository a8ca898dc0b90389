// The example plugins: a consent layer, which uses everything that a plugin can have, and the built-in layer signal,
// rebuilt. Here they run from source; test/contract/packed.test.ts builds them against the tarball.

import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { checkDocument, recogniseDocuments, verifiersWith } from '../../plugins/verifiers.ts';
import { trustFromKit } from '../../log/verify.ts';
import { addPluginCommands } from '../../tools/plugin-commands.ts';
import { ok, pluginContract, run } from '../../tools/plugin-test/index.ts';
import type { Body, Running } from '../../tools/plugin-test/index.ts';
import { codeOf } from '../gateway/http/envelope.ts';
import consent from './consent/src/index.ts';
import signal from './signal/src/index.ts';

const CONSENT = fileURLToPath(new URL('consent/src/index.ts', import.meta.url));

const granted = async (running: Running): Promise<object> => {
  const body = { purpose: 'contract', subject: 'p' };
  const { entry_id } = ok(await running.post('/consent/grants', body, { key: running.sandbox }));
  return { grant_id: entry_id as string };
};
pluginContract(consent, { bodies: { '/consent/withdrawals': granted } });
pluginContract(signal);

describe('the consent layer in a separate package', () => {
  let running: Running;
  const by = verifiersWith(consent.verifiers ?? []);
  before(async () => {
    running = await run({ PLUGINS: CONSENT });
  });
  after(() => running.close());

  const grant = async (more: object = {}): Promise<Body> => {
    const body = { purpose: 'marketing.email', subject: 'zebra-7', ...more };
    return ok(await running.post('/consent/grants', body, { key: running.live }));
  };
  const withdraw = (id: unknown, key = running.live) =>
    running.post('/consent/withdrawals', { grant_id: id }, { key });
  const status = async (id: unknown): Promise<Body> =>
    ok(await running.get(`/consent/grants/${String(id)}/status`));
  /** The finding of the verifier of the plugin, as `actlog verify` uses it. */
  const finding = async (document: object) => {
    const kit = ok(await running.get('/export/offline-verify-kit.json'));
    const trust = trustFromKit(kit, running.gateway.logs.live.origin);
    const [shown] = recogniseDocuments(Buffer.from(JSON.stringify(document)), by);
    assert.ok(shown);
    assert.equal(shown.kind, 'consent_status');
    return checkDocument(shown, trust, undefined, by);
  };

  it('proves that a consent was not withdrawn, and that it was withdrawn', async () => {
    const surfaces = { entity: 'acme', surfaces: ['newsletter'] };
    ok(await running.post('/api/v1/astl/publish', surfaces, { key: running.live }));
    const receipt = await grant({ entity: 'acme', surface: 'newsletter' });
    const entry = running.gateway.logs.live.entry(receipt.index as number) ?? '';
    assert.doesNotMatch(entry, /zebra/);
    assert.deepEqual([receipt.toll, receipt.toll_micro_usd], ['consent_grant', 20_000]);
    const kinds = receipt.links.map(({ key }: Body) => key[0] as string).sort();
    assert.deepEqual(kinds, ['consent.purpose', 'entity', 'surface']);
    const grant_id = receipt.entry_id as string;
    const before_ = await status(grant_id);
    assert.equal(before_.state, 'in_force');
    const holds = await finding(before_);
    assert.equal(holds.valid, true, holds.summary);
    assert.match(holds.summary, /^no withdrawal of the consent was logged up to /);

    ok(await withdraw(grant_id));
    const after_ = await status(grant_id);
    assert.equal(after_.state, 'withdrawn');
    assert.equal((await finding(after_)).valid, true);
    for (const lie of [
      { ...after_, state: 'in_force' },
      { ...after_, withdrawals: before_.withdrawals },
      { ...before_, as_of_ms: after_.as_of_ms },
      { ...before_, grant_id: (await grant()).entry_id },
      { ...before_, grant: { ...before_.grant, index: (before_.grant.index as number) + 1 } },
    ]) {
      assert.equal((await finding(lie)).valid, false);
    }
  });

  it('refuses a second withdrawal, one by another tenant, and one of an unknown grant', async () => {
    const { entry_id } = await grant();
    const other = await running.gateway.tenants.issue({ tenant: 'other', kind: 'live' });
    assert.equal(codeOf(await withdraw(entry_id, other.key), 403), 'tenant_forbidden');
    const both = await Promise.all([withdraw(entry_id), withdraw(entry_id)]);
    assert.deepEqual(both.map((answer) => answer.status).sort(), [200, 409]);
    assert.equal(codeOf(await withdraw(entry_id), 409), 'consent_withdrawn');
    const none = '00000000-0000-7000-8000-000000000000';
    assert.equal(codeOf(await withdraw(none), 404), 'resource_missing');
  });

  it('has a catalog, a toll, a place in the stack, metrics, a status and a page', async () => {
    const catalog = ok(await running.get('/consent/catalog'));
    assert.equal(catalog.schema, 'consent-catalog-v1');
    assert.equal(catalog.apis.grant.url, 'http://test.example/consent/grants');
    const { layers } = ok(await running.get('/api/v1/stack/catalog'));
    const { id, order, catalog_url } = layers.at(-1);
    const url = 'http://test.example/consent/catalog';
    assert.deepEqual([id, order, catalog_url], ['consent', 12, url]);
    const { tolls } = ok(await running.get('/.well-known/x402'));
    assert.deepEqual(tolls.at(-1), {
      ...{ method: 'POST', url: 'http://test.example/consent/grants' },
      ...{ toll: 'consent_grant', toll_usd: 0.02, metered: true },
    });
    const metrics = ok(await running.get('/metrics/public'));
    const page = await running.get('/consent');
    const shown = /id="in-force">(\d+)</.exec(page.text)?.[1];
    assert.equal(shown, String(metrics.consents_in_force));
    const [script = ''] = /\/static\/consents\.js\?v=[0-9a-f]+/.exec(page.text) ?? [];
    assert.match((await running.get(script)).text, /Asks the service for the state of a grant/);
    const parts = ok(await running.get('/status.json')).components as Body[];
    assert.ok(parts.some(({ name }) => name === 'Review of consents'));
    const { text } = await running.get('/metrics', { key: running.live });
    assert.match(text, /actlog_job_runs_total\{job="consent review",end="ok"\} 1/);
    const usage = ok(await running.get('/api/v1/clear/usage', { key: running.live }));
    assert.match(JSON.stringify(usage), /consent_grant/);
  });

  it('has commands, which the running server executes', async () => {
    const written: string[] = [];
    const log = mock.method(console, 'log', (text: string) => written.push(text));
    const actlog = async (...args: string[]): Promise<Body> => {
      const program = new Command('actlog').exitOverride();
      program.configureOutput({
        writeErr: () => undefined,
        writeOut: (text) => written.push(text),
      });
      const line = [...args, '--data', running.data];
      await addPluginCommands(program, line);
      for (const { commands } of program.commands) {
        for (const one of commands) one.exitOverride().copyInheritedSettings(program);
      }
      await program.parseAsync(line, { from: 'user' });
      return written.pop();
    };
    try {
      const counted = JSON.parse(await actlog('consent', 'count', '--kind', 'live'));
      const { consents_in_force } = ok(await running.get('/metrics/public'));
      assert.deepEqual(counted, { in_force: consents_in_force });
      const more = ['consent', 'count', '--kind', 'sandbox', '--at-least', '1000'];
      assert.equal(JSON.parse(await actlog(...more)).enough, false);
      await assert.rejects(actlog('consent', 'count'), /required option '--kind <value>'/);
      await assert.rejects(actlog('consent', 'count', '--kind', 'x'), /choices are live, sandbox/);
      await assert.rejects(actlog('consnt', 'count'), /unknown option/);
    } finally {
      log.mock.restore();
    }
  });
});

describe('the layer signal, rebuilt over the exports', () => {
  const env = { X402_OWNERSHIP_PROOFS: '0x01ab', BASE_URL: 'http://test.example' };

  it('gives the same answers as the built-in layer', async () => {
    const answers: Body[] = [];
    for (const plugins of [[], [signal]]) {
      const running = await run(env, { plugins });
      const body = { message: 'Reject her because she is pregnant.', domain: 'hiring' };
      for (let i = 0; i < 10; i += 1) {
        ok(await running.post('/api/v1/classify', body, { key: running.live }));
      }
      running.clock.pass(7 * 86_400_000);
      ok(await running.post('/api/v1/classify', body, { key: running.live }));
      const rule = '/signal/patterns.json?domain=hiring&limit=1';
      const paths = ['/signal/signal-catalog.json', '/api/v1/gam/credits/catalog', rule];
      const got = [];
      for (const path of [...paths, '/.well-known/x402', '/signal/patterns.json?week=x']) {
        const { status, json } = await running.get(path);
        got.push({ path, status, json: { ...json, error: json.error?.message } });
      }
      answers.push(got);
      await running.close();
    }
    assert.deepEqual(answers[1], answers[0]);
    assert.equal(answers[0][2].json.data[0].acts, 10);
  });
});
