// Sealed texts: libsodium and node:crypto make what only the right key and entry id open.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { encryptByOpenssl, openSealed, seal } from '../../../gateway/tenants/sealing.ts';
import { sodium } from '../../../log/index.ts';

const TEXTS = Array.from({ length: 60 }, (_, i) => `${'é'.repeat(i)} private ${String(i)}`);

/** A key and a copy of it, because the key that is used is wiped. */
const twoOf = (key = randomBytes(32)): [Uint8Array, Uint8Array] => [key, Uint8Array.from(key)];

for (const [library, encrypt] of [
  ['the fastest library', undefined],
  ['node:crypto', encryptByOpenssl],
] as const) {
  describe(`a text that is sealed by ${library}`, () => {
    it('opens with its key and its entry id, and with no others', () => {
      for (const [i, text] of TEXTS.entries()) {
        const [given, key] = twoOf();
        const sealed = seal(`entry-${String(i)}`, given, text, encrypt);
        assert.equal(openSealed(`entry-${String(i)}`, key, sealed), text);
        assert.throws(() => openSealed(`entry-${String(i)}0`, key, sealed));
        assert.throws(() => openSealed(`entry-${String(i)}`, randomBytes(32), sealed));
        assert.equal(Buffer.from(sealed).includes('private'), false);
        assert.deepEqual(given, randomBytes(32).fill(0), 'the key is wiped');
      }
    });

    it('does not open with a flipped bit', () => {
      const [given, key] = twoOf();
      const sealed = seal('entry-1', given, 'the text', encrypt);
      for (let bit = 0; bit < sealed.length * 8; bit += 1) {
        const flipped = Uint8Array.from(sealed);
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        assert.throws(() => openSealed('entry-1', key, flipped), String(bit));
      }
    });
  });
}

describe('the ciphers of sealed texts', () => {
  it('are the same in libsodium and node:crypto', function () {
    if (sodium === null) {
      assert.ok(process.env['CI'] === undefined, 'CI runs this with libsodium');
      this.skip();
    }
    const [key, nonce, entry_id] = [randomBytes(32), randomBytes(12), Buffer.from('entry-1')];
    for (const length of [0, 1, 63, 64, 65, 5000]) {
      const text = randomBytes(length);
      const [ours, theirs] = [Buffer.alloc(16 + length), Buffer.alloc(16 + length)];
      const [tag, hidden] = [ours.subarray(0, 16), ours.subarray(16)];
      encryptByOpenssl(key, nonce, entry_id, text, { tag, hidden });
      sodium.crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        ...([
          theirs.subarray(16),
          theirs.subarray(0, 16),
          text,
          entry_id,
          null,
          nonce,
          key,
        ] as const),
      );
      assert.deepEqual(ours, theirs, String(length));
    }
  });
});
