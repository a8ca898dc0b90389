// gateway/host/plugin-keys.ts: keys of plugins are separate files for each kind of log, and older ones are kept.

import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyFiles } from '../../../gateway/host/key-files.ts';
import { PluginKeys } from '../../../gateway/host/plugin-keys.ts';
import { generateKey, native, verifyCose, writeKeyFile } from '../../../log/index.ts';
import { definePlugin } from '../../../plugins/contract/index.ts';

const plugin = definePlugin({
  contract: 1,
  name: 'signing',
  title: 'Signing',
  keys: [
    { name: 'first', algorithm: 'ES256', jwks: true },
    { name: 'second', algorithm: 'Ed25519', jwks: false },
  ],
  types: [],
  routes: () => [],
});

const kidsOf = (keys: PluginKeys): string[] =>
  keys.signers('signing', 'first', 'live').map(({ kid }) => kid);

describe('gateway/host/plugin-keys', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'actlog-keys-'))));
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const opened = async (passphrase?: string): Promise<PluginKeys> =>
    PluginKeys.open([plugin], await KeyFiles.open(folder, { passphrase }));

  it('creates a key for each name and kind, in files that only their owner can read', async () => {
    const keys = await opened();
    const names = await readdir(folder);
    assert.deepEqual(names.sort(), [
      'signing-first-live-1.pem',
      'signing-first-sandbox-1.pem',
      'signing-second-live-1.pem',
      'signing-second-sandbox-1.pem',
    ]);
    for (const name of names) assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600);
    assert.equal(new Set(keys.all().map(({ signer }) => signer.kid)).size, 4);
  });

  it('signs with the published key', async () => {
    const keys = await opened();
    const message = Buffer.from('message');
    for (const [name, alg] of [
      ['first', -7],
      ['second', -19],
    ] as const) {
      const [signer] = keys.signers('signing', name, 'live');
      assert.ok(await verifyCose(native, signer.jwk, alg, message, await signer.sign(message)));
      const messages = ['', 'a', 'message'].map((text) => Buffer.from(text));
      const signatures = await signer.signAll(messages);
      assert.equal(signatures.length, messages.length);
      for (const [i, signature] of signatures.entries()) {
        assert.ok(await verifyCose(native, signer.jwk, alg, messages[i]!, signature));
      }
    }
    assert.throws(() => keys.signers('signing', 'third', 'live'), /declares no key third/);
  });

  it('keeps them, also encrypted, and signs with the highest number', async () => {
    const before = await opened('passphrase');
    const [old] = before.signers('signing', 'first', 'live');
    const path = join(folder, 'signing-first-live-10.pem');
    await writeKeyFile(path, generateKey('ES256'), 'passphrase');
    const after = await opened('passphrase');
    const signers = after.signers('signing', 'first', 'live');
    assert.equal(signers.length, 2);
    assert.notEqual(signers[0].kid, old.kid);
    assert.equal(signers[1]?.kid, old.kid);
    await assert.rejects(opened(), { code: 'key_invalid' });
  });

  it('withdraws a key permanently: its successor signs, and its number is not used again', async () => {
    const keys = await opened();
    const [stolen] = keys.signers('signing', 'first', 'live');
    const signs = await keys.revoke('signing', 'first', 'live', stolen.kid);
    assert.deepEqual(kidsOf(keys), [signs]);
    assert.notEqual(signs, stolen.kid);
    assert.equal(await keys.revoke('signing', 'first', 'live', stolen.kid), undefined);
    assert.equal(await keys.revoke('signing', 'first', 'sandbox', signs ?? ''), undefined);

    const third = await keys.rotate('signing', 'first', 'live');
    assert.equal(await keys.revoke('signing', 'first', 'live', signs ?? ''), third);
    const again = await opened();
    assert.deepEqual(kidsOf(again), [third]);
    const fourth = await again.revoke('signing', 'first', 'live', third);
    assert.deepEqual(kidsOf(again), [fourth]);
    const names = (await readdir(folder)).filter((name) => name.startsWith('signing-first-live'));
    assert.deepEqual(names.sort(), [
      'signing-first-live-1.revoked.pem',
      'signing-first-live-2.revoked.pem',
      'signing-first-live-3.revoked.pem',
      'signing-first-live-4.pem',
    ]);
  });

  it('serialises rotations and withdrawals', async () => {
    const keys = await opened();
    const [first = ''] = kidsOf(keys);
    const [second, signs, third] = await Promise.all([
      keys.rotate('signing', 'first', 'live'),
      keys.revoke('signing', 'first', 'live', first),
      keys.rotate('signing', 'first', 'live'),
    ]);
    assert.equal(signs, second);
    assert.deepEqual(kidsOf(keys), [third, second]);
    assert.deepEqual(kidsOf(await opened()), [third, second]);
  });

  it('refuses a file that other users can read, and a key of another kind', async () => {
    await opened();
    await writeKeyFile(join(folder, 'signing-first-live-2.pem'), generateKey());
    await assert.rejects(opened(), /has no ES256 key/);
    await rm(join(folder, 'signing-first-live-2.pem'));
    await chmod(join(folder, 'signing-second-live-1.pem'), 0o644);
    await assert.rejects(opened(), /mode 0644/);
  });
});
