// Encryption of key files that were written before a passphrase was set.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  encryptKeyFiles,
  generateKey,
  readKeyFile,
  writeKeyFile,
} from '../../../log/crypto/keys.ts';

describe('encryptKeyFiles', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-keys-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('encrypts plain keys of every algorithm, and keeps key, mode and time', async () => {
    const since = new Date(1_790_000_000_000);
    const keys = [generateKey(), generateKey('ES256'), generateKey()];
    const names = ['a.pem', 'b-1.pem', 'b-2.revoked.pem'];
    for (const [i, name] of names.entries()) {
      await writeKeyFile(join(folder, name), keys[i]!);
      await utimes(join(folder, name), since, since);
    }
    await writeKeyFile(join(folder, 'c.pem'), keys[0]!, 'open sesame');
    const before = await readFile(join(folder, 'c.pem'));
    assert.deepEqual(await encryptKeyFiles(folder, 'open sesame'), names);
    for (const [i, name] of names.entries()) {
      const path = join(folder, name);
      const text = await readFile(path, 'utf8');
      assert.match(text, /^-----BEGIN ENCRYPTED PRIVATE KEY-----/);
      const { mode, mtimeMs } = await stat(path);
      assert.deepEqual([mode & 0o777, mtimeMs], [0o600, since.getTime()]);
      const read = await readKeyFile(path, 'open sesame', i === 1 ? 'ES256' : 'Ed25519');
      assert.ok(read.equals(keys[i]!));
      await assert.rejects(readKeyFile(path), { code: 'key_invalid' });
    }
    assert.deepEqual(await readFile(join(folder, 'c.pem')), before);
    assert.deepEqual((await readdir(folder)).sort(), [...names, 'c.pem']);
    assert.deepEqual(await encryptKeyFiles(folder, 'open sesame'), []);
  });

  it('encrypts keys under PBKDF2 again with scrypt, so that each guess of the passphrase needs memory', async () => {
    const key = generateKey();
    const path = join(folder, 'a.pem');
    const options = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc' } as const;
    await writeFile(path, key.export({ ...options, passphrase: 'open sesame' }), { mode: 0o600 });
    assert.deepEqual(await encryptKeyFiles(folder, 'open sesame'), ['a.pem']);
    const text = await readFile(path, 'utf8');
    assert.match(text, /^-----BEGIN ENCRYPTED PRIVATE KEY-----/);
    // The object identifier of scrypt in DER, RFC 7914 §7.
    const der = Buffer.from(text.replace(/-----[A-Z ]+-----/g, ''), 'base64');
    assert.ok(der.includes(Buffer.from('06092b06010401da47040b', 'hex')));
    assert.ok((await readKeyFile(path, 'open sesame')).equals(key));
    await assert.rejects(readKeyFile(path, 'close sesame'), { code: 'key_invalid' });
    assert.deepEqual(await encryptKeyFiles(folder, 'open sesame'), []);
  });

  it('writes files that OpenSSL reads (skipped without openssl)', async function () {
    const path = join(folder, 'a.pem');
    const key = generateKey('ES256');
    await writeKeyFile(path, key, 'open sesame');
    const ran = spawnSync('openssl', ['pkey', '-in', path, '-passin', 'pass:open sesame']);
    if (ran.error !== undefined) this.skip();
    assert.equal(ran.status, 0, ran.stderr.toString());
    assert.ok(createPrivateKey(ran.stdout).equals(key));
  });

  it('encrypts nothing if another key has a different passphrase', async () => {
    await writeKeyFile(join(folder, 'a.pem'), generateKey());
    await writeKeyFile(join(folder, 'b.pem'), generateKey(), 'battery staple');
    const before = await readFile(join(folder, 'a.pem'));
    assert.deepEqual(await encryptKeyFiles(folder, 'open sesame'), []);
    assert.deepEqual(await readFile(join(folder, 'a.pem')), before);
  });

  it('ignores files that are not key files, and a missing folder', async () => {
    await writeFile(join(folder, 'open.pem'), '-----BEGIN PRIVATE KEY-----', { mode: 0o644 });
    await writeFile(join(folder, 'note.txt'), '-----BEGIN PRIVATE KEY-----', { mode: 0o600 });
    assert.deepEqual(await encryptKeyFiles(folder, 'open sesame'), []);
    assert.deepEqual(await encryptKeyFiles(join(folder, 'none'), 'open sesame'), []);
  });
});
