// Commands of plugins: through the socket of a running gateway, with their own schema, and by the clock.

import assert from 'node:assert/strict';
import Type from 'typebox';
import { adminCall } from '../../gateway/tenants/admin-call.ts';
import { AdminError } from '../../gateway/tenants/tenants.ts';
import { ApiError, command, definePlugin } from '../../plugins/contract.ts';
import type { Plugin } from '../../plugins/contract.ts';
import { run } from './running.ts';
import type { Running } from './running.ts';

/** A plugin with a command of the operator and one of the clock. */
function marks(ticked: () => void): Plugin {
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

  it('append for a tenant that is registered for it', async () => {
    const { index } = (await call({ tenant: 'first' })) as { index: number };
    const entry = JSON.parse(running.gateway.logs.sandbox.entry(index) ?? '') as { type: string };
    assert.equal(entry.type, 'marks.mark.v1');
  });

  it('refuse in words what their schema, their rule or the tenants do not know', async () => {
    await assert.rejects(call({}), AdminError);
    await assert.rejects(call({ tenant: 'public' }), /not that one/);
    await assert.rejects(call({ tenant: 'nobody' }), /there is no tenant nobody/);
  });

  it('are performed at the start when they have a time, and may fail', () => {
    assert.equal(ticks, 1);
  });

  it('have the name of their plugin', async () => {
    const plugin = marks(() => undefined);
    const wrong = { ...plugin, name: 'others', types: [] };
    await assert.rejects(run({}, { plugins: [wrong] }), /command marks set, which is not its own/);
  });
});
