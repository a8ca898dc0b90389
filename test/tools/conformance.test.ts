// The five checks of RR-1 against services that keep it, and against services that each break one of them.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import type { JsonObject } from '../../log/index.ts';
import { actionOf } from '../../plugins/require-receipt/action.ts';
import { readHeader } from '../../plugins/require-receipt/header.ts';
import type { Presented } from '../../plugins/require-receipt/header.ts';
import type { GuardOptions } from '../../plugins/require-receipt/middleware.ts';
import { forgeriesOf } from '../../tools/conformance/forgeries.ts';
import { faultOf } from '../../tools/conformance/manifest.ts';
import type { PermitSource } from '../../tools/conformance/permits.ts';
import { runConformance } from '../../tools/conformance/run.ts';
import type { Conformance } from '../../tools/conformance/run.ts';
import { run } from '../gateway/running.ts';
import { GateLog } from '../plugins/require-receipt/permits.ts';
import {
  expressService,
  fetchService,
  koaService,
  listening,
  REFUND,
} from '../plugins/require-receipt/services.ts';
import type { Service } from '../plugins/require-receipt/services.ts';
import { TENANT } from '../support/forge.ts';
import { actlog } from '../support/actlog.ts';

const log = new GateLog();
const AUDIENCE = 'https://shop.example';
const options: GuardOptions = {
  log: log.vkey,
  jwks: log.jwks(),
  tenants: [TENANT],
  audience: AUDIENCE,
  service: { name: 'Refunds' },
  now: () => log.ms,
};
const permits: PermitSource = async ({ action_type, scope }) =>
  log.permit({ action_type, action_hash: scope });

/** Names of the checks by what came of them. */
const outcomes = ({ checks }: Conformance): Record<string, string> =>
  Object.fromEntries(checks.map(({ name, outcome }) => [name, outcome]));

async function runOn(
  service: Pick<Service, 'url' | 'close'>,
  source: PermitSource | null = permits,
): Promise<Conformance> {
  try {
    return await runConformance({ url: new URL(service.url), permits: source });
  } finally {
    await service.close();
  }
}

/** A service that says what RR-1 asks for, and does with receipts what a test says. */
async function careless(
  take: (presented: Presented) => boolean,
  challenge: {
    readonly status?: number;
    readonly header?: string | null;
    readonly body?: object;
  } = {},
  asked: IncomingHttpHeaders[] = [],
): Promise<Pick<Service, 'url' | 'close'>> {
  const real = await expressService(options);
  const manifest: unknown = await (
    await fetch(`${real.url}/.well-known/agent-actions.json`)
  ).json();
  await real.close();
  const app = express();
  app.use((req, _res, next) => {
    asked.push(req.headers);
    next();
  });
  app.get('/.well-known/agent-actions.json', (_req, res) => void res.json(manifest));
  app.post('/refunds', express.json(), (req, res) => {
    const presented = readHeader(req.get('X-Receipt') ?? '');
    if (presented !== null && take(presented)) {
      res.json({ ok: true });
      return;
    }
    const { status = 428, header, body = { required: {} } } = challenge;
    const asked = `action="payment.refund", action_hash="sha256:${'0'.repeat(64)}", proof="X-Receipt"`;
    if (header !== null) res.set('Receipt-Required', header ?? asked);
    res.set('Cache-Control', 'no-store').status(status).json(body);
  });
  return listening(app);
}

const ALL = {
  manifest_valid: 'passed',
  challenge_on_missing: 'passed',
  runs_on_valid: 'passed',
  replay_refused: 'passed',
  forged_refused: 'passed',
};

describe('conformance', () => {
  for (const [name, serve] of Object.entries({ expressService, koaService, fetchService })) {
    it(`passes on the ${name}, which did the act once`, async () => {
      const service = await serve(options);
      const run = await runOn(service);
      assert.deepEqual(outcomes(run), ALL, JSON.stringify(run.checks));
      assert.equal(run.conformant, true);
      assert.equal(run.action, 'refund');
      assert.equal(service.done(), 1);
    });
  }

  it('fails on a service that ignores replay', async () => {
    const service = await expressService({ ...options, replay: { use: () => true } });
    const run = await runOn(service);
    assert.deepEqual(outcomes(run), { ...ALL, replay_refused: 'failed' });
    assert.equal(run.conformant, false);
  });

  it('fails on a service that takes what nobody has signed', async () => {
    const used = new Set<unknown>();
    const run = await runOn(
      await careless(({ receipt }) => {
        const fresh = receipt['outcome'] === 'PERMIT' && !used.has(receipt['entry_id']);
        used.add(receipt['entry_id']);
        return fresh;
      }),
    );
    assert.deepEqual(outcomes(run), { ...ALL, forged_refused: 'failed' });
  });

  it('fails on a service that runs nothing, and goes no further', async () => {
    const run = await runOn(await careless(() => false));
    assert.deepEqual(outcomes(run), {
      ...ALL,
      runs_on_valid: 'failed',
      replay_refused: 'not_run',
      forged_refused: 'not_run',
    });
  });

  it('fails on a challenge that is none', async () => {
    for (const challenge of [
      { status: 402 },
      { status: 200 },
      { header: null },
      { header: 'action=payment.refund' },
      { header: 'action="payment.release", action_hash="sha256:00"' },
      { header: 'action="payment.refund"' },
      { body: {} },
    ]) {
      const run = await runOn(await careless(() => true, challenge));
      const { manifest_valid, challenge_on_missing, runs_on_valid } = outcomes(run);
      assert.deepEqual(
        [manifest_valid, challenge_on_missing, runs_on_valid],
        ['passed', 'failed', 'not_run'],
        JSON.stringify(challenge),
      );
    }
  });

  it('does not claim what it could not try', async () => {
    const none = await runOn(await expressService(options), null);
    assert.deepEqual([none.conformant, outcomes(none)['runs_on_valid']], [false, 'not_run']);
    const silent = await runOn(await expressService(options), async () => 'the gate is silent');
    assert.equal(silent.checks[2]?.detail, 'the gate is silent');
    assert.equal(silent.conformant, false);
  });

  it('fails where there is no manifest, and tells where there is no service', async () => {
    const run = await runOn(await listening((_request, response) => response.writeHead(404).end()));
    assert.equal(outcomes(run)['manifest_valid'], 'failed');
    const gone = await listening((_request, response) => response.end());
    await gone.close();
    const asked = runConformance({ url: new URL(gone.url), permits: null });
    await assert.rejects(asked, { name: 'CommandError', exit: 2 });
  });

  it('forges so that only a signature or a proof shows it', () => {
    const permit = log.permit({ action_type: 'a', action_hash: 'sha256:00' });
    const forgeries = [...forgeriesOf(permit).values()];
    assert.equal(forgeries.length, 3);
    for (const { receipt, preimage } of forgeries) {
      assert.notEqual(receipt['entry_id'], permit.receipt['entry_id']);
      assert.equal(receipt['outcome'], 'PERMIT');
      assert.deepEqual(preimage, permit.preimage);
    }
  });
});

describe('a manifest', () => {
  const action: JsonObject = {
    id: 'refund',
    match: { protocol: 'http', method: 'POST', path: '/refunds' },
    action_type: 'payment.refund',
    risk: 'high',
    receipt_required: true,
    assurance_class: 'software',
  };
  const manifest = (actions: readonly JsonObject[], change: JsonObject = {}): JsonObject => ({
    '@version': 'EP-ACTION-RISK-MANIFEST-v0.1',
    service: { name: 'Refunds' },
    receipt_required: {
      status: 428,
      challenge_header: 'Receipt-Required',
      proof_header: 'X-Receipt',
    },
    actions,
    ...change,
  });

  it('is valid by the rules of its version', () => {
    assert.equal(faultOf(manifest([action])), null);
    const read = { id: 'list', match: { protocol: 'mcp', tool: 'list' }, receipt_required: false };
    assert.equal(faultOf(manifest([read, action])), null);
    assert.equal(
      faultOf(manifest([{ ...action, risk: 'critical', assurance_class: 'quorum' }])),
      null,
    );
  });

  it('is not where one of them is broken', () => {
    const { risk: _, ...riskless } = action;
    const { assurance_class: _class, ...unassured } = action;
    const { action_type: _type, ...untyped } = action;
    const bad: readonly JsonObject[] = [
      manifest([]),
      manifest([action], { '@version': 'EP-ACTION-RISK-MANIFEST-v0.2' }),
      manifest([action, action]),
      manifest([riskless]),
      manifest([unassured]),
      manifest([untyped]),
      manifest([{ ...action, risk: 'low' }]),
      manifest([{ ...action, risk: 'critical' }]),
      manifest([{ ...action, receipt_required: 'yes' }]),
      manifest([{ ...action, receipt_required: false }]),
      manifest([{ ...action, match: { protocol: 'http', method: 'POST' } }]),
      manifest([{ ...action, id: 7 }]),
    ];
    for (const [i, document] of bad.entries()) assert.notEqual(faultOf(document), null, String(i));
    assert.notEqual(faultOf(undefined), null);
    assert.notEqual(faultOf([]), null);
  });
});

describe('actlog conformance', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-conformance-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('takes receipts from files, writes the badge where it passes, and exits with 0', async () => {
    const service = await expressService(options);
    const { action_type, method, path: target, example } = REFUND;
    const fields = example ?? null;
    const action = actionOf({ audience: AUDIENCE, action_type, method, target, fields });
    const receipts = [join(folder, 'one.json'), join(folder, 'two.json')];
    for (const file of receipts) await writeFile(file, JSON.stringify(log.permit(action)));
    const badge = join(folder, 'badge.svg');
    const args = ['conformance', service.url, '--json', '--badge', badge, '--receipt', ...receipts];
    const ran = await actlog(args);
    await service.close();
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    assert.equal(ran.json.conformant, true);
    const svg = await readFile(badge, 'utf8');
    assert.ok(svg.includes('RR-1 conformant'));
    assert.ok(svg.includes(ran.json.checked_at.slice(0, 10)));
  });

  it('writes no badge where a check fails, and exits with 1', async () => {
    const service = await careless(() => true);
    const file = join(folder, 'permit.json');
    await writeFile(file, JSON.stringify(log.permit({ action_type: 'a', action_hash: 'b' })));
    const badge = join(folder, 'none.svg');
    const ran = await actlog(['conformance', service.url, '--badge', badge, '--receipt', file]);
    await service.close();
    assert.equal(ran.code, 1, ran.stdout + ran.stderr);
    assert.match(ran.stdout, /FAILED\s+replay_refused/);
    assert.match(ran.stdout, /NOT conformant/);
    await assert.rejects(readFile(badge), { code: 'ENOENT' });
  });

  it('asks the gate of the service itself where it is given a key and no gate', async () => {
    const running = await run();
    const key = running.live;
    const rules = [{ id: 'acts', effect: 'allow', action_types: ['require_receipt.act'] }];
    await running.post('/api/v1/execute-gate/policy', { rules }, { key });
    const args = ['conformance', running.url, '--json', '--header', `X-API-Key: ${key}`];
    const ran = await actlog([...args, '--key', key]);
    await running.close();
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    assert.deepEqual(outcomes(ran.json), ALL);
  });

  it('shows a key of the environment to nobody that was not named as gate', async () => {
    const asked: IncomingHttpHeaders[] = [];
    const service = await careless(() => true, {}, asked);
    const ran = await actlog(['conformance', service.url], {
      env: { ACTLOG_KEY: 'svc_live_secret' },
    });
    await service.close();
    assert.equal(ran.code, 2, ran.stdout + ran.stderr);
    assert.ok(asked.length >= 2, 'the manifest and the act, without a receipt');
    assert.ok(!JSON.stringify(asked).includes('svc_live_secret'));
  });
});
