// The sign pool with and without its thread, and its behaviour when the thread ends.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { openSignPool } from '../../../log/crypto/sign-pool.ts';
import type { SignPool } from '../../../log/crypto/sign-pool.ts';
import { generateKey, Signer } from '../../../log/crypto/keys.ts';

const first = generateKey();
const second = generateKey();
const messages = Array.from({ length: 40 }, (_, i) => new Uint8Array(i * 17).fill(i));
/** Keeps the thread busy for tens of milliseconds, so that it is still signing when the test ends it. */
const large = Array.from({ length: 2000 }, () => new Uint8Array(200));
const unavailable = { name: 'LogError', code: 'log_unavailable' };
const refused = { name: 'LogError', code: 'key_invalid' };

for (const threads of [false, true]) {
  describe(`sign pool ${threads ? 'with its thread' : 'on the calling thread'}`, () => {
    let pool: SignPool;
    before(() => {
      pool = openSignPool({ threads });
      pool.addKey('first', first);
    });
    after(() => pool.close());

    it('returns the signatures of each key in the order of the messages', async () => {
      const [one] = await Promise.all([pool.signAll('first', messages)]);
      pool.addKey('second', second); // while the thread is running
      const two = await pool.signAll('second', messages);
      // Ed25519 is deterministic.
      const expected = [first, second].map((key) => messages.map((m) => new Signer(key).sign(m)));
      assert.deepEqual([one, two], expected);
    });

    it('copies the messages before it returns', async () => {
      const message = Uint8Array.of(1, 2, 3);
      const signing = pool.signAll('first', [message, message]);
      assert.deepEqual(message, Uint8Array.of(1, 2, 3));
      message.fill(9);
      const expected = new Signer(first).sign(Uint8Array.of(1, 2, 3));
      assert.deepEqual(await signing, [expected, expected]);
    });

    it('accepts an empty batch', async () => {
      assert.deepEqual(await pool.signAll('first', []), []);
    });

    it('returns to each of several concurrent batches its own signatures', async () => {
      const batches = fc.array(fc.array(fc.uint8Array(), { maxLength: 5 }), { maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(batches, async (all) => {
          const signed = await Promise.all(all.map((batch) => pool.signAll('first', batch)));
          const signer = new Signer(first);
          const expected = all.map((batch) => batch.map((message) => signer.sign(message)));
          assert.deepEqual(signed, expected);
        }),
        { numRuns: 30 },
      );
    });

    it('signs with ES256, with r and s in 64 bytes', async () => {
      const key = generateKey('ES256');
      pool.addKey('p-256', key);
      const signatures = await pool.signAll('p-256', messages);
      assert.equal(signatures.length, messages.length);
      const how = { key: createPublicKey(key), dsaEncoding: 'ieee-p1363' } as const;
      for (const [i, message] of messages.entries()) {
        assert.ok(verify('sha256', message, how, signatures[i]!));
      }
    });

    it('refuses unknown keys, other types of keys, and a second key of the same name', async () => {
      await assert.rejects(pool.signAll('third', messages), refused);
      assert.throws(() => {
        pool.addKey('first', second);
      }, refused);
      pool.addKey('first', first);
      assert.throws(() => {
        const { publicKey } = new Signer(first);
        pool.addKey('public', publicKey as unknown as typeof first);
      }, refused);
    });

    it('rejects calls after close', async () => {
      const closed = openSignPool({ threads });
      closed.addKey('first', first);
      await closed.signAll('first', messages);
      await closed.close();
      await closed.close();
      await assert.rejects(closed.signAll('first', messages), unavailable);
    });
  });
}

describe('the signing thread', () => {
  let pool: SignPool;
  let started: Worker[] = [];
  const onWorker = (worker: Worker): void => {
    started.push(worker);
  };
  beforeEach(() => {
    started = [];
    process.on('worker', onWorker);
    pool = openSignPool({ threads: true });
    pool.addKey('first', first);
  });
  afterEach(async () => {
    process.off('worker', onWorker);
    await pool.close();
  });

  it('rejects pending calls when it ends, and is replaced by one with all keys', async () => {
    await pool.signAll('first', messages);
    pool.addKey('second', second);
    const lost = [1, 2, 3].map(() => assert.rejects(pool.signAll('first', large), unavailable));
    const ended = started[0]?.terminate();
    await Promise.all(lost);
    await ended;
    const [signature] = await pool.signAll('second', [Uint8Array.of(1)]);
    assert.deepEqual(signature, new Signer(second).sign(Uint8Array.of(1)));
    assert.equal(started.length, 2);
  });

  it('rejects pending calls when it throws', async () => {
    await pool.signAll('first', messages);
    const lost = assert.rejects(pool.signAll('first', large), unavailable);
    started[0]?.emit('error', new Error('out of memory'));
    await lost;
    assert.equal((await pool.signAll('first', messages)).length, messages.length);
    await started[0]?.terminate();
    assert.equal((await pool.signAll('first', messages)).length, messages.length);
    assert.equal(started.length, 2);
  });

  it('rejects pending calls when the pool is closed', async () => {
    const lost = assert.rejects(pool.signAll('first', messages), unavailable);
    await pool.close();
    await lost;
  });

  it('keeps a process alive only until its signatures are done', async function () {
    this.timeout(240_000);
    const url = (name: string): string =>
      JSON.stringify(new URL(`../../../log/crypto/${name}.ts`, import.meta.url).href);
    const code = `
      const { openSignPool } = await import(${url('sign-pool')});
      const { generateKey } = await import(${url('keys')});
      const pool = openSignPool({ threads: true });
      pool.addKey('key', generateKey());
      void pool.signAll('key', [new Uint8Array(3)]).then(([s]) => console.log(s.length));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', code],
      { cwd: fileURLToPath(new URL('../../..', import.meta.url)), timeout: 200_000 },
    );
    assert.equal(stdout, '64\n');
  });
});
