// Commands of plugins: through the socket of a running gateway, with their own schema, and by the clock.

import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { pino } from 'pino';
import Type from 'typebox';
import { adminCall } from '../../support/admin-call.ts';
import { startChores } from '../../../gateway/host/commands.ts';
import { LoopWatch } from '../../../gateway/host/loop-watch.ts';
import type { Gateway } from '../../../gateway/gateway.ts';
import { openMetrics } from '../../../gateway/metrics.ts';
import { AdminError } from '../../../gateway/tenants/tenants.ts';
import { ApiError, command, definePlugin, job } from '../../../plugins/contract/index.ts';
import type { EarlierPlugin } from '../../../plugins/contract/index.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

/** A plugin with a command of the operator and a scheduled one. */
function marks(ticked: () => void): EarlierPlugin {
  return definePlugin({
    contract: 1,
    name: 'marks',
    title: 'Marks',
    types: [
      {
        name: 'marks.mark.v1',
        schema: { type: 'object', properties: {}, additionalProperties: false },
        keys: [],
      },
    ],
    routes: () => [],
    commands: () => [
      command({
        name: 'marks set',
        summary: 'Mark a tenant',
        args: Type.Object({ tenant: Type.String() }),
        example: { tenant: 'first' },
        async perform({ args, append, tenantRef }) {
          const tenant_ref = await tenantRef(args.tenant, 'sandbox');
          const check = (): void => {
            if (args.tenant === 'public') throw new ApiError('tenant_forbidden', 'not that one');
          };
          const draft = { type: 'marks.mark.v1', tenant_ref, members: {} };
          const [entry] = await append('sandbox', [draft], { check });
          return { index: entry?.index ?? null };
        },
      }),
      command({
        name: 'marks tick',
        summary: 'Be reminded',
        args: Type.Object({}),
        example: {},
        every_ms: 3_600_000,
        perform() {
          ticked();
          return Promise.reject(new Error('a defect of one command is no end of the gateway'));
        },
      }),
    ],
  });
}

describe('commands of plugins', () => {
  let running: Running;
  let ticks = 0;
  before(async () => (running = await run({}, { plugins: [marks(() => (ticks += 1))] })));
  after(() => running.close());
  const call = (args: Readonly<Record<string, string>>) =>
    adminCall(running.data, 'marks set', args);

  it('append entries for a registered tenant', async () => {
    const { index } = (await call({ tenant: 'first' })) as { index: number };
    const entry = JSON.parse(running.gateway.logs.sandbox.entry(index) ?? '') as { type: string };
    assert.equal(entry.type, 'marks.mark.v1');
  });

  it('refuse with a message what their schema, their rule or the tenants do not allow', async () => {
    await assert.rejects(call({}), AdminError);
    await assert.rejects(call({ tenant: 'public' }), /not that one/);
    await assert.rejects(call({ tenant: 'nobody' }), /there is no tenant nobody/);
  });

  it('are performed at the start if they have a schedule, and may fail', () => {
    assert.equal(ticks, 1);
  });

  it('have the name of their plugin', async () => {
    const plugin = marks(() => undefined);
    const wrong = { ...plugin, name: 'others', types: [] };
    await assert.rejects(run({}, { plugins: [wrong] }), /command marks set, which is not its own/);
  });
});

describe('jobs', () => {
  const DAY_MS = 86_400_000;
  /** The longest delay that Node.js supports: a timer with a longer one fires after a millisecond. */
  const TIMER_MS = 2 ** 31 - 1;

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  });
  afterEach(() => {
    mock.timers.reset();
  });

  /** Starts a job with this interval and duration; `pass` advances the time in steps of at most one timer. */
  function started(every_ms: number, takes_ms = 0) {
    const waits = mock.method(globalThis, 'setTimeout');
    const runs: number[] = [];
    const reminder = job({
      name: 'marks tick',
      summary: 'Be reminded',
      args: Type.Object({}),
      example: {},
      every_ms,
      perform: async () => {
        runs.push(Date.now());
        if (takes_ms > 0) await new Promise((resolve) => setTimeout(resolve, takes_ms));
        return {};
      },
    });
    const gateway = {
      plugged: () => ({ jobs: [reminder] }),
      uptimeMs: () => Date.now(),
      metrics: openMetrics(),
      loop: new LoopWatch(() => undefined),
    } as unknown as Gateway;
    const chores = startChores(gateway, pino({ level: 'silent' }));
    const settled = async (): Promise<void> => {
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    };
    const pass = async (ms: number, step = 3_600_000): Promise<void> => {
      await settled();
      for (let left = ms; left > 0; left -= step) {
        mock.timers.tick(Math.min(step, left));
        await settled();
      }
    };
    return { runs, waits: () => waits.mock.calls.map(({ arguments: [, ms] }) => ms), pass, chores };
  }

  it('of a quarter run once a quarter, by timers that Node.js keeps', async () => {
    const quarter = 90 * DAY_MS;
    const { runs, waits, pass, chores } = started(quarter);
    await pass(quarter - 1);
    assert.deepEqual(runs, [0]);
    await pass(1);
    await pass(2 * quarter);
    assert.deepEqual(runs, [0, quarter, 2 * quarter, 3 * quarter]);
    assert.ok(waits().every((ms) => ms !== undefined && ms >= 1 && ms <= TIMER_MS));
    await chores.close();
  });

  it('that take longer than their interval skip the missed runs', async () => {
    const { runs, pass, chores } = started(1000, 2500);
    await pass(10_000, 100);
    assert.deepEqual(runs, [0, 3000, 6000, 9000]);
    await pass(1900, 100);
    await chores.close();
  });

  it('end with the gateway, also while they wait', async () => {
    const { runs, pass, chores } = started(366 * DAY_MS);
    await pass(DAY_MS);
    await chores.close();
    await pass(800 * DAY_MS, 20 * DAY_MS);
    assert.deepEqual(runs, [0]);
  });
});
