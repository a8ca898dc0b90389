// `actlog conformance` as a command: its exit codes, the badge, and which host gets the API key.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { actionOf } from '../../plugins/require-receipt/action.ts';
import { run } from '../gateway/running.ts';
import { expressService, REFUND } from '../plugins/require-receipt/services.ts';
import { actlog } from '../support/actlog.ts';
import { ALL, AUDIENCE, careless, log, options, outcomes } from './conformance/tried-services.ts';

describe('actlog conformance', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-conformance-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('takes receipts from files, writes the badge if all checks pass, and exits with 0', async () => {
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

  it('writes no badge if a check fails, and exits with 1', async () => {
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

  it('asks the gate of the service itself if it is given a key and no gate', async () => {
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

  it('sends a key of the environment only to the named gate', async () => {
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
