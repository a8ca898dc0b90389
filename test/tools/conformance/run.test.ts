// The five checks of RR-1 against conforming services, and against services that each break one of them.

import assert from 'node:assert/strict';
import { forgeriesOf } from '../../../tools/conformance/forgeries.ts';
import type { PermitSource } from '../../../tools/conformance/permits.ts';
import { runConformance } from '../../../tools/conformance/run.ts';
import type { Conformance } from '../../../tools/conformance/run.ts';
import {
  expressService,
  fetchService,
  koaService,
} from '../../plugins/require-receipt/services.ts';
import { listening } from '../../support/listening.ts';
import type { Listening } from '../../support/listening.ts';
import { ALL, careless, log, options, outcomes } from './tried-services.ts';

const permits: PermitSource = async ({ action_type, scope }) =>
  log.permit({ action_type, action_hash: scope });

async function runOn(
  service: Listening,
  source: PermitSource | null = permits,
): Promise<Conformance> {
  try {
    return await runConformance({ url: new URL(service.url), permits: source });
  } finally {
    await service.close();
  }
}

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

  it('fails on a service that accepts an unsigned receipt', async () => {
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

  it('fails on a service that performs no act, and stops there', async () => {
    const run = await runOn(await careless(() => false));
    assert.deepEqual(outcomes(run), {
      ...ALL,
      runs_on_valid: 'failed',
      replay_refused: 'not_run',
      forged_refused: 'not_run',
    });
  });

  it('fails on a malformed challenge', async () => {
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

  it('reports checks that it could not perform as such', async () => {
    const none = await runOn(await expressService(options), null);
    assert.deepEqual([none.conformant, outcomes(none)['runs_on_valid']], [false, 'not_run']);
    const silent = await runOn(await expressService(options), async () => 'the gate is silent');
    assert.equal(silent.checks[2]?.detail, 'the gate is silent');
    assert.equal(silent.conformant, false);
  });

  it('fails without a manifest, and reports a service that does not answer', async () => {
    const run = await runOn(await listening((_request, response) => response.writeHead(404).end()));
    assert.equal(outcomes(run)['manifest_valid'], 'failed');
    const gone = await listening((_request, response) => response.end());
    await gone.close();
    const asked = runConformance({ url: new URL(gone.url), permits: null });
    await assert.rejects(asked, { name: 'CommandError', exit: 2 });
  });

  it('forges receipts of which only the signature or the proof is invalid', () => {
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
