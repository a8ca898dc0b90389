// Signers and key files (gateway/API.md §2.3).

import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { chmodSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKey, jwkOf, readKeyFile, Signer, writeKeyFile } from '../../../log/crypto/keys.ts';
import { native } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { thumbprint } from '../../../log/crypto/thumbprint.ts';
import { seededSigner } from '../note/seeded-signer.ts';

const refused = { name: 'LogError', code: 'key_invalid' };

describe('signer', () => {
  it('signs as RFC 8032 §7.1, test 2', () => {
    const seed = '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb';
    const signer = seededSigner(Buffer.from(seed, 'hex'));
    assert.equal(
      Buffer.from(signer.publicKey).toString('hex'),
      '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    );
    assert.equal(
      Buffer.from(signer.sign(Uint8Array.of(0x72))).toString('hex'),
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da' +
        '085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    );
  });

  it('has the thumbprint of its key, and both suites accept its signatures', () => {
    const key = generateKey();
    const signer = new Signer(key);
    assert.deepEqual(signer.jwk, jwkOf(createPublicKey(key)));
    assert.equal(signer.kid, thumbprint(portable, signer.jwk));
    const message = Buffer.from('statement');
    const signature = signer.sign(message);
    assert.equal(native.verify(signer.publicKey, message, signature), true);
    assert.equal(portable.verify(signer.publicKey, message, signature), true);
  });

  it('refuses keys of other kinds', () => {
    const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    assert.throws(() => new Signer(p256.privateKey), refused);
    assert.throws(() => new Signer(generateKeyPairSync('x25519').privateKey), refused);
    assert.throws(() => new Signer(generateKeyPairSync('ed25519').publicKey), refused);
    assert.throws(() => jwkOf(p256.publicKey), refused);
  });
});

describe('key files', () => {
  let folder = '';
  let path = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'keys-'));
    path = join(folder, 'receipt.pem');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('are PKCS #8 PEM that only the owner can read', async () => {
    const key = generateKey();
    const umask = process.umask(0);
    try {
      await writeKeyFile(path, key);
    } finally {
      process.umask(umask);
    }
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.match(readFileSync(path, 'utf8'), /^-----BEGIN PRIVATE KEY-----\n/);
    assert.ok((await readKeyFile(path)).equals(key));
  });

  it('are encrypted with a passphrase, and open with that passphrase only', async () => {
    const key = generateKey();
    await writeKeyFile(path, key, 'correct horse');
    assert.match(readFileSync(path, 'utf8'), /^-----BEGIN ENCRYPTED PRIVATE KEY-----\n/);
    assert.ok((await readKeyFile(path, 'correct horse')).equals(key));
    await assert.rejects(readKeyFile(path, 'battery staple'), {
      ...refused,
      message: `key file ${path} has another passphrase`,
    });
    await assert.rejects(readKeyFile(path), {
      ...refused,
      message: `key file ${path} needs a passphrase`,
    });
  });

  it('are never replaced', async () => {
    const key = generateKey();
    await writeKeyFile(path, key);
    await assert.rejects(writeKeyFile(path, generateKey()), { code: 'EEXIST' });
    assert.ok((await readKeyFile(path)).equals(key));
  });

  it('are not written with an empty passphrase or into a missing folder', async () => {
    await assert.rejects(writeKeyFile(path, generateKey(), ''), refused);
    assert.deepEqual(readdirSync(folder), []);
    await assert.rejects(writeKeyFile(join(folder, 'no', 'key.pem'), generateKey()), {
      code: 'ENOENT',
    });
    await assert.rejects(readKeyFile(path), { code: 'ENOENT' });
    assert.equal(existsSync(path), false);
  });

  for (const mode of [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644]) {
    it(`are refused with mode 0${mode.toString(8)}`, async function () {
      if (process.platform === 'win32') this.skip();
      await writeKeyFile(path, generateKey());
      chmodSync(path, mode);
      await assert.rejects(readKeyFile(path), {
        ...refused,
        message: `key file ${path} has mode 0${mode.toString(8)}, the limit is 0600`,
      });
      chmodSync(path, 0o400);
      assert.equal((await readKeyFile(path)).asymmetricKeyType, 'ed25519');
    });
  }

  it('are refused if they contain no private key of the expected type', async () => {
    const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const publicPem = createPublicKey(generateKey()).export({ type: 'spki', format: 'pem' });
    const wrong = [
      p256.export({ type: 'pkcs8', format: 'pem' }),
      publicPem,
      '',
      'key',
      ' '.repeat(5000),
    ];
    for (const content of wrong) {
      writeFileSync(path, content, { mode: 0o600 });
      await assert.rejects(readKeyFile(path), refused);
    }
    await assert.rejects(readKeyFile(folder), refused);
  });

  it('are refused if they are truncated', async () => {
    await writeKeyFile(path, generateKey());
    truncateSync(path, statSync(path).size - 40);
    await assert.rejects(readKeyFile(path), refused);
  });
});
