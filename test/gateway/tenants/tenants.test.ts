// Tenants and the life cycle of their keys, with a real database.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileRegister } from '../../../log/index.ts';
import { openGatewayStore } from '../../../gateway/tenants/store.ts';
import type { GatewayStore } from '../../../gateway/tenants/store.ts';
import { AdminError, PUBLIC, Tenants } from '../../../gateway/tenants/tenants.ts';

describe('tenants', () => {
  let folder: string;
  let store: GatewayStore;
  let now = 1000;
  let tenants: Tenants;
  const open = async (): Promise<void> => {
    store = await openGatewayStore(
      join(folder, 'gateway'),
      new FileRegister(join(folder, 'register')),
    );
    tenants = await Tenants.load(store, () => now);
  };
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-tenants-'));
    await open();
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const standing = (key: string) => {
    const found = tenants.authenticate(key);
    return typeof found === 'string' ? found : found.tenant;
  };

  it('are none at first, except the public one', () => {
    assert.equal(tenants.empty, true);
    assert.deepEqual(
      tenants.tenants().map(({ name }) => name),
      [PUBLIC],
    );
  });

  it('have another name and key in each kind of log', async () => {
    await tenants.issue({ tenant: 'acme', kind: 'live' });
    const { live, sandbox } = {
      live: tenants.inLog('acme', 'live'),
      sandbox: tenants.inLog('acme', 'sandbox'),
    };
    for (const { tenant_ref, tenant_key } of [live, sandbox]) {
      assert.match(tenant_ref, /^[A-Za-z0-9_-]{22}$/);
      assert.match(tenant_key, /^[0-9a-f]{64}$/);
    }
    assert.notEqual(live.tenant_ref, sandbox.tenant_ref);
    assert.notEqual(live.tenant_key, sandbox.tenant_key);
  });

  it('are listed without secrets', () => {
    assert.doesNotMatch(JSON.stringify(tenants.tenants()), /[0-9a-f]{64}/);
  });

  it('survive a restart with their keys, whose text is not on disk', async () => {
    const { key } = await tenants.issue({
      tenant: 'acme',
      kind: 'live',
      role: 'insured',
      scopes: ['a'],
    });
    const before = tenants.inLog('acme', 'live');
    await store.close();
    const files = await readdir(join(folder, 'gateway'));
    for (const file of files) {
      const bytes = await readFile(join(folder, 'gateway', file));
      assert.equal(bytes.includes(key.slice(9)), false, file);
    }
    await open();
    const record = tenants.authenticate(key);
    assert.ok(typeof record === 'object');
    assert.deepEqual(
      [record.tenant, record.kind, record.role, record.scopes],
      ['acme', 'live', 'insured', ['a']],
    );
    assert.deepEqual(tenants.inLog('acme', 'live'), before);
    assert.equal(tenants.empty, false);
  });

  it('give keys of the first start of an earlier release their role, and other keys no role of the service', async () => {
    const issued = [
      await tenants.issue({ tenant: 'first', kind: 'live', role: 'operator' }),
      await tenants.issue({ tenant: 'first', kind: 'live', role: 'carrier' }),
      await tenants.issue({ tenant: 'acme', kind: 'live', role: 'operator' }),
    ];
    const roles = () =>
      issued.map(({ key }) => {
        const found = tenants.authenticate(key);
        return typeof found === 'string' ? found : found.role;
      });
    const records = tenants
      .list()
      .filter(({ key_id }) => issued.some((one) => one.key_id === key_id));
    // Rows of a release that had one role for both.
    await store.putKeys(records.map(({ form: _, ...record }) => record));
    await store.close();
    await open();
    assert.deepEqual(roles(), ['service', 'carrier', 'operator']);
    const [first, ...others] = issued;
    const later = await tenants.issue({ tenant: 'first', kind: 'live', role: 'operator' });
    issued.splice(0, issued.length, first!, ...others, later);
    await store.close();
    await open();
    assert.deepEqual(roles(), ['service', 'carrier', 'operator', 'operator']);
    const rotated = await tenants.rotate(first!.key_id, 1000);
    assert.equal(rotated.role, 'service');
    assert.equal('form' in rotated, false);
  });

  it('cannot have the name public, or an invalid name', async () => {
    for (const tenant of [PUBLIC, '', 'A', 'a b', '-a', 'x'.repeat(64)]) {
      await assert.rejects(tenants.issue({ tenant, kind: 'live' }), AdminError, tenant);
    }
  });

  it('rotate a key with two valid at a time, never three', async () => {
    const first = await tenants.issue({ tenant: 'acme', kind: 'sandbox', role: 'operator' });
    const second = await tenants.rotate(first.key_id, 1000);
    assert.equal(second.role, 'operator');
    assert.equal(second.kind, 'sandbox');
    assert.deepEqual([standing(first.key), standing(second.key)], ['acme', 'acme']);
    const third = await tenants.rotate(second.key_id, 1000);
    assert.deepEqual(
      [standing(first.key), standing(second.key), standing(third.key)],
      ['api_key_revoked', 'acme', 'acme'],
    );
    now += 1000;
    assert.deepEqual([standing(second.key), standing(third.key)], ['api_key_expired', 'acme']);
    await assert.rejects(tenants.rotate(second.key_id, 1000), /not valid any more/);
  });

  it('let a rotation end with the key that it rotates', async () => {
    const first = await tenants.issue({ tenant: 'acme', kind: 'live', expires_at_ms: now + 10 });
    await tenants.rotate(first.key_id, 1000);
    now += 10;
    assert.equal(standing(first.key), 'api_key_expired');
  });

  it('rotate to a key with another expiry, or without one', async () => {
    const first = await tenants.issue({ tenant: 'acme', kind: 'live', expires_at_ms: now + 10 });
    const second = await tenants.rotate(first.key_id, 1000, now + 20);
    const third = await tenants.rotate(second.key_id, 1000);
    assert.deepEqual([second.expires_at_ms, third.expires_at_ms], [now + 20, undefined]);
    now += 20;
    assert.deepEqual([standing(second.key), standing(third.key)], ['api_key_expired', 'acme']);
  });

  it('do not rotate a key a second time while its successor is valid', async () => {
    const first = await tenants.issue({ tenant: 'acme', kind: 'live' });
    const [one, other] = await Promise.allSettled([
      tenants.rotate(first.key_id, 1000),
      tenants.rotate(first.key_id, 1000),
    ]);
    assert.ok(one.status === 'fulfilled' && other.status === 'rejected');
    assert.match(String(other.reason), new RegExp(`was rotated to ${one.value.key_id}`));
    await tenants.revoke(one.value.key_id);
    const next = await tenants.rotate(first.key_id, 1000);
    assert.deepEqual([standing(first.key), standing(next.key)], ['acme', 'acme']);
  });

  it('revoke a key also while it is rotated', async () => {
    const { key, key_id } = await tenants.issue({ tenant: 'acme', kind: 'live' });
    await Promise.all([tenants.rotate(key_id, 1000), tenants.revoke(key_id)]);
    assert.equal(standing(key), 'api_key_revoked');
    const other = await tenants.issue({ tenant: 'acme', kind: 'live' });
    const revoking = tenants.revoke(other.key_id);
    await assert.rejects(tenants.rotate(other.key_id, 1000), /not valid any more/);
    await revoking;
    assert.equal(standing(other.key), 'api_key_revoked');
  });

  it('revoke a key at once and permanently', async () => {
    const { key, key_id } = await tenants.issue({ tenant: 'acme', kind: 'live' });
    const revoked = await tenants.revoke(key_id);
    now += 5;
    assert.equal(standing(key), 'api_key_revoked');
    assert.equal((await tenants.revoke(key_id)).revoked_at_ms, revoked.revoked_at_ms);
    await assert.rejects(tenants.revoke('key_none'), /there is no key/);
  });

  it('can be copied to another folder completely', async () => {
    await store.copyTo(join(folder, 'copy'));
    const copy = await openGatewayStore(
      join(folder, 'copy'),
      new FileRegister(join(folder, 'register')),
    );
    assert.deepEqual(new Map(copy.keys), new Map(store.keys));
    assert.deepEqual(new Map(copy.tenants), new Map(store.tenants));
    await copy.close();
    await assert.rejects(store.copyTo(join(folder, 'copy')));
  });

  it('are not created again if their database lost its CURRENT file', async () => {
    const lost = join(folder, 'lost');
    await store.copyTo(lost);
    await (await openGatewayStore(lost, new FileRegister(join(folder, 'register')))).close();
    await rm(join(lost, 'CURRENT'));
    const before = (await readdir(lost)).sort();
    const refusal = { code: 'store_corrupt', message: /CURRENT/ };
    await assert.rejects(
      openGatewayStore(lost, new FileRegister(join(folder, 'register'))),
      refusal,
    );
    assert.deepEqual((await readdir(lost)).sort(), before);
  });
});
