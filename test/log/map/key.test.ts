// Chain keys, against the vectors and the table of log/FORMAT.md §3.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { toHex } from '../../../log/encoding/bytes.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import {
  chainKeys,
  checkKey,
  checkReserved,
  isReservedMember,
  skey,
} from '../../../log/map/key.ts';
import type { ChainKey } from '../../../log/types.ts';

const VECTORS = new URL('../../vectors/absence.json', import.meta.url);

interface Vectors {
  origin: string;
  skeys: { key: ChainKey; skey: string }[];
  entries: string[];
}

const HASH_NAME = 'A'.repeat(43);
const UUID = '01a0c450-6c00-7000-8000-000000000000';

function coded(code: string) {
  return { name: 'LogError', code };
}

describe('map/key: vectors', () => {
  const vectors = JSON.parse(readFileSync(VECTORS, 'utf8')) as Vectors;

  it('gives the skey of each chain', () => {
    for (const { key, skey: expected } of vectors.skeys) {
      assert.equal(toHex(skey(native, vectors.origin, checkKey(key))), expected);
    }
  });

  it('gives the keys of the links of each entry', () => {
    for (const text of vectors.entries) {
      const entry = JSON.parse(text) as JsonObject & { links?: { key: ChainKey }[] };
      assert.deepEqual(
        chainKeys(entry, []),
        (entry.links ?? []).map((link) => link.key),
        text,
      );
    }
  });
});

describe('map/key: checkKey', () => {
  const good: ChainKey[] = [
    ['entity', 'acme'],
    ['surface', 'did:example:acme', 'policy_bind'],
    ['session', HASH_NAME],
    ['payment', '0'.repeat(64)],
    ['payment', 'pay:0123456789_+/=.-'],
    ['action', 'a'.repeat(64)],
    ['trigger', UUID],
    ['manifest', 'acme'],
    ['heartbeat', 'acme', 'policy_bind'],
    ['claim', 'acme'],
    ['key', HASH_NAME],
    ['type', 'gate.decision.v1'],
  ];
  for (const key of good) {
    it(`accepts ${JSON.stringify(key)}`, () => {
      assert.deepEqual(checkKey(key), key);
    });
  }

  const bad: [string, unknown][] = [
    ['no array', 'entity'],
    ['an empty array', []],
    ['a number as a member', ['entity', 1]],
    ['an unknown kind', ['nobody', 'acme']],
    ['a name of the prototype as kind', ['constructor', 'acme']],
    ['a kind in capitals', ['Entity', 'acme']],
    ['no member', ['entity']],
    ['a member too many', ['entity', 'acme', 'x']],
    ['an entity in capitals', ['entity', 'Acme']],
    ['an entity of 257 characters', ['entity', 'a'.repeat(257)]],
    ['an entity with a line feed', ['entity', 'acme\n']],
    ['a surface with a trailing slash', ['surface', 'acme', 'policy_bind/']],
    ['a surface in capitals', ['surface', 'acme', 'Policy_bind']],
    ['a surface with a Cyrillic letter', ['surface', 'acme', 'роlicy_bind']],
    ['a surface of 65 characters', ['surface', 'acme', 'a'.repeat(65)]],
    ['a session_ref with spare bits', ['session', `${'A'.repeat(42)}B`]],
    ['a session_ref of 44 characters', ['session', 'A'.repeat(44)]],
    ['a payment_hash of 15 characters', ['payment', 'a'.repeat(15)]],
    ['a payment_hash of 129 characters', ['payment', 'a'.repeat(129)]],
    ['a payment_hash with its prefix', ['payment', `sha256:${'0'.repeat(64)}`]],
    ['a payment_hash with 0x', ['payment', `0x${'0'.repeat(64)}`]],
    ['a payment_hash in capital hex', ['payment', 'A'.repeat(64)]],
    ['an action_ref in capitals', ['action', 'A'.repeat(64)]],
    ['a trigger_id that is a UUIDv4', ['trigger', '01a0c450-6c00-4000-8000-000000000000']],
    ['a trigger_id in capitals', ['trigger', UUID.toUpperCase()]],
    ['a type without version', ['type', 'gate.decision']],
    ['a type of version 0', ['type', 'gate.decision.v0']],
  ];
  for (const [what, key] of bad) {
    it(`refuses ${what}`, () => {
      assert.throws(() => checkKey(key), coded('key_invalid'));
    });
  }

  it('accepts a declared kind only with its number of members', () => {
    const declared = new Map([['pdtr.step', 2]]);
    assert.deepEqual(checkKey(['pdtr.step', 'a', 'Ünicode'], declared), [
      'pdtr.step',
      'a',
      'Ünicode',
    ]);
    assert.throws(() => checkKey(['pdtr.step', 'a'], declared), coded('key_invalid'));
    assert.throws(() => checkKey(['pdtr.step', 'a', '\ud800'], declared), coded('key_invalid'));
    assert.throws(() => checkKey(['pdtr.step', 'a', 'b']), coded('key_invalid'));
  });
});

describe('map/key: skey', () => {
  it('depends on the origin and on the boundaries of members', () => {
    const seen = new Set<string>();
    for (const [origin, key] of [
      ['a', ['k', 'bc', 'd']],
      ['a', ['k', 'b', 'cd']],
      ['a', ['k', 'bcd']],
      ['ak', ['bc', 'd']],
    ] as const) {
      seen.add(toHex(skey(native, origin, key)));
    }
    assert.equal(seen.size, 4);
  });

  it('refuses a member over 65,535 bytes', () => {
    assert.throws(() => skey(native, 'o', ['k', 'a'.repeat(65_536)]), coded('encoding_invalid'));
  });
});

describe('map/key: chainKeys', () => {
  const everything = {
    type: 'gate.decision.v1',
    entity: 'acme',
    surface: 'policy_bind',
    session_ref: HASH_NAME,
    payment_hash: '0'.repeat(64),
    action_ref: 'a'.repeat(64),
    trigger_id: UUID,
    a: 'x',
    b: 'y',
    n: 1,
  };

  it('follows the order of the table, then of the templates', () => {
    const kinds = chainKeys(everything, [
      ['gate.second', 'b', 'a'],
      ['gate.first', 'a'],
    ]).map((key) => key.join(' '));
    assert.deepEqual(kinds, [
      'entity acme',
      'surface acme policy_bind',
      `session ${HASH_NAME}`,
      `payment ${'0'.repeat(64)}`,
      `action ${'a'.repeat(64)}`,
      `trigger ${UUID}`,
      'gate.second y x',
      'gate.first x',
    ]);
  });

  it('does not depend on the order of members', () => {
    const expected = chainKeys(everything, [['gate.first', 'a']]);
    fc.assert(
      fc.property(fc.shuffledSubarray(Object.entries(everything), { minLength: 10 }), (entries) => {
        const shuffled = Object.fromEntries(entries) as JsonObject;
        assert.deepEqual(chainKeys(shuffled, [['gate.first', 'a']]), expected);
      }),
    );
  });

  it('skips a template if a member is missing or not a string', () => {
    const templates = [
      ['gate.n', 'n'],
      ['gate.c', 'c'],
      ['gate.p', '__proto__'],
      ['gate.t', 'a', 'toString'],
    ];
    assert.deepEqual(chainKeys({ type: 'gate.x.v1', a: 'x', n: 1 }, templates), []);
  });

  it('lists a repeated key once', () => {
    const keys = chainKeys({ type: 'gate.x.v1', a: 'x', b: 'x' }, [
      ['gate.k', 'a'],
      ['gate.k', 'b'],
    ]);
    assert.deepEqual(keys, [['gate.k', 'x']]);
  });

  it('refuses nine links', () => {
    const templates = [
      ['gate.k', 'a'],
      ['gate.l', 'a'],
      ['gate.m', 'a'],
    ];
    assert.throws(() => chainKeys(everything, templates), coded('links_exceeded'));
  });

  it('puts built-in types on no entity chain', () => {
    const manifest = { type: 'astl.manifest.v1', entity: 'acme' };
    assert.deepEqual(chainKeys(manifest, []), [['manifest', 'acme']]);
    const heartbeat = { type: 'astl.heartbeat.v1', entity: 'acme', surface: 's' };
    assert.deepEqual(chainKeys(heartbeat, []), [['heartbeat', 'acme', 's']]);
  });

  it('identifies a receipt key by its thumbprint', () => {
    // The example of RFC 8037, appendix A.3.
    const key = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
    assert.deepEqual(chainKeys({ type: 'log.key.v1', key, status: 'active' }, []), [
      ['key', 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'],
    ]);
  });

  it('refuses a statement of a built-in type that lacks the member of its key', () => {
    for (const type of ['astl.entity.v1', 'astl.heartbeat.v1', 'log.key.v1', 'log.entry_type.v1']) {
      assert.throws(() => chainKeys({ type }, []), coded('key_invalid'), type);
    }
    assert.throws(() => chainKeys({ entity: 'acme' }, []), coded('entry_invalid'));
  });
});

describe('map/key: reserved members', () => {
  it('must match their grammar on every type', () => {
    for (const [name, value] of [
      ['entity', 'Acme'],
      ['entity', null],
      ['session_ref', 7],
      ['payment_hash', 'short'],
      ['action_ref', ''],
      ['trigger_id', ['x']],
    ] as const) {
      assert.ok(isReservedMember(name));
      const statement = { type: 'gate.x.v1', [name]: value };
      assert.throws(() => {
        checkReserved(statement);
      }, coded('key_invalid'));
    }
    assert.equal(isReservedMember('kid'), false);
    assert.equal(isReservedMember('__proto__'), false);
  });

  it('puts no entry without an entity on a surface chain', () => {
    assert.throws(() => {
      checkReserved({ type: 'gate.x.v1', surface: 'policy_bind' });
    }, coded('key_invalid'));
  });
});
