// Links, tenants and entities as the sequencer assigns and checks them.

import assert from 'node:assert/strict';
import { LogError } from '../../../log/index.ts';
import type { Draft, EntryType, JsonObject } from '../../../log/index.ts';
import { code, note, OTHER_TENANT, TENANT, withLog } from './kept-log.ts';
import { act, claim, LOOSE, manifest } from './placing-drafts.ts';

describe('placing: links', () => {
  const WIDE: EntryType = {
    name: 'gate.wide.v1',
    schema: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 10 }, (_, i) => [`id${String(i)}`, { type: 'string' }]),
      ),
    },
    keys: Array.from({ length: 10 }, (_, i) => [`gate.id${String(i)}`, `id${String(i)}`]),
  };
  const wide = (n: number): Draft =>
    act(
      WIDE.name,
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`id${String(i)}`, 'x'])),
    );

  it(
    'are at most 8',
    withLog(async (kept) => {
      await kept.log.declare([WIDE]);
      const [entry] = await kept.append(wide(8));
      assert.equal(entry!.links.length, 8);
      await assert.rejects(kept.append(wide(9)), code('links_exceeded'));
      const [next] = await kept.append(wide(1));
      assert.equal(next!.links[0]?.seq, 1);
    }),
  );

  it(
    'are derived from reserved members by their grammar, in the order of the table',
    withLog(async (kept) => {
      await kept.log.declare([LOOSE]);
      await kept.append(claim('claim'));
      const session_ref = 's'.repeat(43);
      const [entry] = await kept.append(
        act(LOOSE.name, { session_ref, surface: 'bind', entity: 'acme' }),
      );
      assert.deepEqual(
        entry!.links.map(({ key }) => key),
        [
          ['entity', 'acme'],
          ['surface', 'acme', 'bind'],
          ['session', session_ref],
        ],
      );
      for (const bad of [
        { surface: 'bind' },
        { entity: 'Acme', surface: 'bind' },
        { entity: 'acme', surface: 7 },
        { session_ref: 'short' },
        { action_ref: 'x'.repeat(64) },
      ]) {
        await assert.rejects(kept.append(act(LOOSE.name, bad)), LogError);
      }
    }),
  );
});

describe('placing: tenants and entities', () => {
  it(
    'refuses an unknown tenant, and accepts one registered in the same round',
    withLog(async (kept) => {
      const draft = { ...note('a'), tenant_ref: OTHER_TENANT };
      await assert.rejects(kept.append(draft), code('tenant_unknown'));
      const [, entries] = await Promise.all([
        kept.log.registerTenant(OTHER_TENANT, '1'.repeat(64)),
        kept.append(draft),
      ]);
      assert.equal(entries.length, 1);
    }),
  );

  it(
    'registers a tenant once for any number of calls',
    withLog(async (kept) => {
      const size = kept.log.size();
      const register = () => kept.log.registerTenant(OTHER_TENANT, '1'.repeat(64));
      await Promise.all([register(), register(), register()]);
      await register();
      await kept.restart();
      await register();
      assert.equal(kept.log.size() - size, 2, 'the tenant and the map head of the restart');
      await assert.rejects(
        kept.append({
          type: 'log.tenant.v1',
          tenant_ref: OTHER_TENANT,
          members: { key_sha256: '2'.repeat(64) },
        }),
        LogError,
      );
    }),
  );

  it(
    'refuses a malformed registration',
    withLog(async (kept) => {
      await assert.rejects(kept.log.registerTenant('short', '1'.repeat(64)), LogError);
      await assert.rejects(kept.log.registerTenant(OTHER_TENANT, 'x'), LogError);
      await kept.log.registerTenant(OTHER_TENANT, '1'.repeat(64));
    }),
  );

  it(
    'applies claims, transfers and releases of an entity',
    withLog(async (kept) => {
      await kept.log.declare([LOOSE]);
      await kept.log.registerTenant(OTHER_TENANT, '1'.repeat(64));
      const on = (tenant_ref: string): Draft => ({
        ...act(LOOSE.name, { entity: 'acme', surface: 'bind' }),
        tenant_ref,
      });
      await assert.rejects(kept.append(on(TENANT)), code('entity_unclaimed'));
      await assert.rejects(kept.append(claim('release')), code('entity_unclaimed'));
      await kept.append(claim('claim'), on(TENANT));
      await assert.rejects(kept.append(claim('claim')), code('entity_forbidden'));
      await assert.rejects(kept.append(on(OTHER_TENANT)), code('entity_forbidden'));
      await kept.append(claim('transfer', { to_tenant_ref: OTHER_TENANT }), on(OTHER_TENANT));
      await assert.rejects(kept.append(on(TENANT)), code('entity_forbidden'));
      await assert.rejects(kept.append(claim('release')), code('entity_forbidden'));
      await kept.append({ ...claim('release'), tenant_ref: OTHER_TENANT });
      assert.equal(kept.log.surfaces().owner('acme'), null);
      await kept.append(claim('claim'));
      assert.equal(kept.log.surfaces().owner('acme'), TENANT);
    }),
  );

  it(
    'checks manifests and heartbeat runs',
    withLog(async (kept) => {
      await kept.append(claim('claim'), manifest());
      assert.deepEqual(kept.log.surfaces().manifest('acme')?.surfaces, ['bind']);
      const wrong = manifest({ surfaces: ['bind', 'quote'] });
      await assert.rejects(
        kept.append({
          ...wrong,
          members: { ...(wrong.members as JsonObject), valid_from_ms: 2 },
        }),
        code('entry_invalid'),
      );
      const beat = (interval_ms: number): Draft =>
        act('astl.heartbeat.v1', ({ surfaces, issued_at_ms }) => {
          const before = surfaces.heartbeat('acme', 'bind');
          const goesOn =
            before?.interval_ms === interval_ms &&
            issued_at_ms - before.issued_at_ms <= interval_ms;
          return {
            entity: 'acme',
            surface: 'bind',
            interval_ms,
            run_since_ms: goesOn ? before.run_since_ms : issued_at_ms,
          };
        });
      const since: number[] = [];
      for (const pass of [10, 1000, 1000, 1001, 5]) {
        kept.time.advance(pass);
        const [entry] = await kept.append(beat(1000));
        since.push(entry!.statement.run_since_ms as number);
      }
      const start = since[0]!;
      assert.deepEqual(since, [start, start, start, start + 3001, start + 3001]);
      await assert.rejects(
        kept.append(
          act('astl.heartbeat.v1', {
            entity: 'acme',
            surface: 'bind',
            interval_ms: 1000,
            run_since_ms: 1,
          }),
        ),
        code('entry_invalid'),
      );
    }),
  );
});
