// Map proofs: correct ones are accepted, and every known forgery is refused (log/FORMAT.md §6.4).

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { concat, toHex, utf8 } from '../../../log/encoding/bytes.ts';
import { checkMember, checkNonMember, emptyMap, mapLeafHash } from '../../../log/map/check.ts';
import type { MapLeaf, Siblings } from '../../../log/map/check.ts';
import { mapNode } from '../../support/definitions.ts';
import { naiveProof, naiveRoot } from './recursive-map.ts';

const refused = { name: 'LogError', code: 'proof_invalid' };

/** A key with the given first bits; the rest is a hash of them. */
function keyAt(bits: string, salt = ''): Uint8Array {
  const bytes = native.sha256(utf8(bits + salt));
  for (let d = 0; d < bits.length; d++) {
    const mask = 128 >> (d & 7);
    bytes[d >> 3] = ((bytes[d >> 3] ?? 0) & ~mask) | (bits[d] === '1' ? mask : 0);
  }
  return bytes;
}

const valueOf = (skey: Uint8Array): Uint8Array => native.sha256(skey);

// The map of these tests, by the first bits of its keys. Slots 01 and 1101 are empty; 0 has one child.
const KEYS = ['0010', '0011', '100', '1010', '1011', '1100', '111'].map((bits) => keyAt(bits));
const MAP = new Map(KEYS.map((skey) => [toHex(skey), toHex(valueOf(skey))]));
const ROOT = naiveRoot(MAP);

const member = (skey: Uint8Array, siblings: Siblings, vhash = valueOf(skey), root = ROOT): void => {
  checkMember(native, { root, skey, vhash, siblings });
};
const absent = (skey: Uint8Array, siblings: Siblings, foreign?: MapLeaf, root = ROOT): void => {
  checkNonMember(native, { root, skey, siblings, ...(foreign && { foreign }) });
};
const refuses = (call: () => void): void => {
  assert.throws(call, refused);
};

describe('map/check: correct proofs', () => {
  it('are accepted for every key', () => {
    for (const skey of KEYS) member(skey, naiveProof(MAP, skey).siblings);
  });

  it('are accepted for an empty slot and for a foreign leaf', () => {
    const empty = naiveProof(MAP, keyAt('01'));
    assert.equal(empty.leaf, null);
    absent(keyAt('01'), empty.siblings);
    const foreign = naiveProof(MAP, keyAt('100', 'other'));
    assert.ok(foreign.leaf !== null);
    absent(keyAt('100', 'other'), foreign.siblings, foreign.leaf);
  });

  it('are accepted in the empty map and in a map of one key', () => {
    absent(keyAt('0'), [], undefined, emptyMap());
    const skey = keyAt('1');
    const leaf = { skey, vhash: valueOf(skey) };
    const root = mapLeafHash(native, leaf);
    member(skey, [], leaf.vhash, root);
    absent(keyAt('0'), [], leaf, root);
  });

  it('exist for exactly one of presence and absence in every map', () => {
    const keys = fc.uniqueArray(fc.nat(40), { maxLength: 25 });
    fc.assert(
      fc.property(keys, fc.nat(40), (numbers, n) => {
        const keyOf = (i: number): Uint8Array => native.sha256(utf8(String(i)));
        const map = new Map(numbers.map((i) => [toHex(keyOf(i)), toHex(valueOf(keyOf(i)))]));
        const root = naiveRoot(map);
        const { siblings, leaf } = naiveProof(map, keyOf(n));
        const present = numbers.includes(n);
        const claimsPresence = (): void => {
          member(keyOf(n), siblings, valueOf(keyOf(n)), root);
        };
        const claimsAbsence = (): void => {
          absent(keyOf(n), siblings, leaf ?? undefined, root);
        };
        if (present) {
          claimsPresence();
          refuses(claimsAbsence);
        } else {
          claimsAbsence();
          refuses(claimsPresence);
        }
      }),
    );
  });
});

describe('map/check: forged absence', () => {
  const present = KEYS[2]!; // the leaf at 100
  const own = naiveProof(MAP, present);
  const missing = keyAt('01');
  const empty = naiveProof(MAP, missing);

  it('refuses the leaf of the key itself as foreign leaf', () => {
    refuses(() => {
      absent(present, own.siblings, { skey: present, vhash: valueOf(present) });
    });
  });

  it('refuses a genuine leaf that is not on the path of the key', () => {
    // The siblings lead to the root only with the bits of the leaf; with those of the key the root differs.
    for (const skey of KEYS.slice(3)) {
      const { siblings, leaf } = naiveProof(MAP, skey);
      assert.ok(leaf !== null);
      refuses(() => {
        absent(present, siblings, leaf);
      });
    }
  });

  it('refuses a leaf off the path even if the hashes match', () => {
    // Both children of the root are the same leaf hash, so only rule B distinguishes the sides.
    const leaf = { skey: keyAt('1'), vhash: valueOf(keyAt('1')) };
    const hash = mapLeafHash(native, leaf);
    const root = mapNode(hash, hash);
    absent(keyAt('1', 'other'), [hash], leaf, root);
    refuses(() => {
      absent(keyAt('0'), [hash], leaf, root);
    });
  });

  it('refuses a leaf at a shallower node', () => {
    // 10 is an inner node above the key: no leaf and no empty slot is accepted in its place.
    const above = own.siblings.slice(0, 2);
    refuses(() => {
      absent(present, above);
    });
    refuses(() => {
      absent(keyAt('100', 'other'), above, { skey: present, vhash: valueOf(present) });
    });
  });

  it('refuses an inner node as a leaf', () => {
    // The children of 10 given as skey and vhash: the tag distinguishes a node from a leaf.
    const left = mapLeafHash(native, { skey: present, vhash: valueOf(present) });
    const right = own.siblings.at(-1);
    assert.ok(right);
    assert.deepEqual(native.sha256(concat(Uint8Array.of(3), left, right)), mapNode(left, right));
    for (const bits of ['100', '10', '101']) {
      refuses(() => {
        absent(keyAt(bits, 'x'), own.siblings.slice(0, 2), { skey: left, vhash: right });
      });
    }
  });

  it('refuses an inner node as a leaf whose key was chosen to lie on the path', () => {
    const a = keyAt('10');
    const left = concat(a.subarray(0, 31), Uint8Array.of(1));
    const right = valueOf(a);
    const node = mapNode(left, right);
    const other = mapNode(right, right);
    const root = mapNode(other, node);
    refuses(() => {
      absent(keyAt('10', 'x'), [other], { skey: left, vhash: right }, root);
    });
  });

  it('refuses an empty slot above a populated subtree', () => {
    for (let d = 0; d < own.siblings.length; d++) {
      const siblings = own.siblings.slice(0, d);
      refuses(() => {
        absent(present, siblings);
      });
    }
    refuses(() => {
      absent(present, own.siblings);
    });
  });

  it('refuses truncated and padded siblings', () => {
    refuses(() => {
      absent(missing, empty.siblings.slice(0, -1));
    });
    refuses(() => {
      absent(missing, empty.siblings.slice(1));
    });
    refuses(() => {
      absent(missing, [...empty.siblings, valueOf(missing)]);
    });
    refuses(() => {
      absent(missing, [valueOf(missing), ...empty.siblings]);
    });
  });

  it('refuses an empty last sibling', () => {
    refuses(() => {
      absent(missing, [...empty.siblings, null]);
    });
    const leaf = { skey: keyAt('1'), vhash: valueOf(keyAt('1')) };
    const root = mapNode(emptyMap(), mapLeafHash(native, leaf));
    refuses(() => {
      member(leaf.skey, [null], leaf.vhash, root);
    });
    refuses(() => {
      absent(keyAt('1', 'other'), [null], leaf, root);
    });
  });

  it('refuses an explicit hash for an empty sibling', () => {
    const first = KEYS[0]!; // 0010, next to the empty slot 01
    const { siblings } = naiveProof(MAP, first);
    assert.ok(siblings.includes(null));
    member(first, siblings);
    refuses(() => {
      member(
        first,
        siblings.map((sibling) => sibling ?? emptyMap()),
      );
    });
  });

  it('refuses the proof of another key', () => {
    for (const skey of [keyAt('1101'), keyAt('100', 'other'), keyAt('0011', 'other')]) {
      refuses(() => {
        absent(skey, empty.siblings);
      });
    }
    const foreign = naiveProof(MAP, keyAt('100', 'other'));
    assert.ok(foreign.leaf !== null);
    const { leaf } = foreign;
    refuses(() => {
      absent(keyAt('101', 'other'), foreign.siblings, leaf);
    });
  });

  it('refuses a changed value in the foreign leaf', () => {
    const skey = keyAt('100', 'other');
    refuses(() => {
      absent(skey, own.siblings, { skey: present, vhash: valueOf(skey) });
    });
  });

  it('refuses 257 siblings, and hashes that are not 32 bytes', () => {
    refuses(() => {
      absent(
        missing,
        Array.from({ length: 257 }, () => valueOf(missing)),
      );
    });
    const short = new Uint8Array(31);
    refuses(() => {
      absent(short, empty.siblings);
    });
    refuses(() => {
      absent(missing, empty.siblings, undefined, new Uint8Array(0));
    });
    refuses(() => {
      absent(missing, [short]);
    });
    refuses(() => {
      absent(missing, empty.siblings, { skey: short, vhash: ROOT });
    });
    refuses(() => {
      absent(missing, empty.siblings, { skey: keyAt('01', 'x'), vhash: short });
    });
    refuses(() => {
      member(present, own.siblings, short);
    });
  });

  it('refuses a proof with any bit of root, value or siblings flipped', () => {
    const flip = (bytes: Uint8Array, bit: number): Uint8Array =>
      bytes.map((byte, i) => (i === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
    fc.assert(
      fc.property(fc.nat(255), fc.nat(own.siblings.length - 1), (bit, at) => {
        refuses(() => {
          member(present, own.siblings, flip(valueOf(present), bit));
        });
        refuses(() => {
          member(present, own.siblings, valueOf(present), flip(ROOT, bit));
        });
        refuses(() => {
          const siblings = own.siblings.map((sibling, i) =>
            i === at && sibling !== null ? flip(sibling, bit) : sibling,
          );
          member(present, siblings);
        });
      }),
    );
  });
});
