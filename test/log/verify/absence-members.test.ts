// The form of absence documents, of the entries in them and of receipts. log/FORMAT.md §6, steps 0 to 2.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { toHex, utf8 } from '../../../log/encoding/bytes.ts';
import { canonical } from '../../../log/encoding/canonical.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { leafHash } from '../../../log/merkle/hash.ts';
import type { Trust } from '../../../log/verify.ts';
import { check, documentOf, refuses, trust } from '../../support/absence-documents.ts';
import { Forge, name43, RECEIPT_KEY, seedKey } from '../../support/forge.ts';

describe('the members of an absence document', () => {
  const log = new Forge().usual();
  const question = { key: ['session', name43(1)], from_ms: 0, to_ms: log.ms };
  const good = documentOf(log, question, { verdict: 'ABSENT' });
  const mapHead = log.opened(log.size - 1);

  it('may contain statements that prove nothing', () => {
    const words = {
      statement: 'nothing happened',
      does_not_assert: ['acts that were never logged'],
    };
    assert.deepEqual(check({ ...good, ...words }), check(good));
  });

  for (const [title, change] of [
    ['another schema', { schema: 'svc-absence-witness-v2' }],
    ['a statement that is no text', { statement: { unknown: 1 } }],
    ['a does_not_assert that is no list', { does_not_assert: 'x' }],
    ['another verdict', { verdict: 'PRESENT' }],
    ['a question with another member', { question: { ...question, note: 1 } }],
    ['a checkpoint that is no text', { checkpoint: 1 }],
    ['a map head with another member', { map_head: { ...mapHead, note: 1 } }],
    ['a map head at another index', { map_head: { ...mapHead, index: 4 } }],
    [
      'a path with a node too many',
      { map_head: { ...mapHead, path: [...log.path(5), log.path(5)[0]!] } },
    ],
    ['a proof without a type', { proof: { siblings: [] } }],
    ['a proof that is no object', { proof: null }],
    ['a proof with a member of another', { proof: { ...(good.proof as JsonObject), head: null } }],
    ['entries that are empty', { entries: [] }],
    ['more without entries', { more: true }],
    ['more that is false', { more: false }],
    ['coverage of a chain that is no surface', { coverage: { heartbeat: mapHead } }],
    ['an invalid receipt', { receipt: {} }],
  ] as const) {
    it(`are refused with ${title}`, () => {
      refuses({ ...good, ...(change as JsonObject) }, /./);
    });
  }

  it('are refused with an entry of another log, of an unknown key, or with an invalid signature', () => {
    const bad = (bend: Parameters<Forge['mapHead']>[0]): JsonObject => {
      const other = new Forge().usual().mapHead(bend);
      return documentOf(other, question, { verdict: 'ABSENT' });
    };
    refuses(
      bad({ statement: { origin: 'log.example/log/live/2' } }),
      /step 2: opened entry is of another log/,
    );
    refuses(bad({ key: seedKey(0x44) }), /step 2: kid is not a trusted/);
    refuses(bad({ key: seedKey(0x44), statement: { kid: RECEIPT_KEY.kid } }), /step 2: signature/);
    refuses(bad({ text: (text) => text.replace(':', ': ') }), /step 2: entry is not canonical/);
    refuses(bad({ statement: { index: 7 } }), /step 2: index of an opened entry/);
    refuses(bad({ statement: { covered: 5 } }), /step 2: map head does not cover/);
  });

  it('may have a chain kind only if the trust declares it', () => {
    const kind = { key: ['gate.case', 'c-1'], from_ms: 0, to_ms: log.ms };
    const document = documentOf(log, kind, { verdict: 'ABSENT' });
    assert.equal(check(document, { kinds: new Map([['gate.case', 1]]) }).verdict, 'ABSENT');
    refuses(document, /step 0/);
    refuses(document, /step 0/, { kinds: new Map([['gate.case', 2]]) });
  });

  it('apply a revocation from its own index on', () => {
    const revoked = (change: object): Partial<Trust> => ({
      keys: [{ ...trust.keys[0]!, status: 'revoked', ...change }],
    });
    check(good, revoked({ revoked_index: 6 }));
    check(good, revoked({ revoked_at_ms: log.ms + 1 }));
    refuses(good, /revoked before the entry/, revoked({ revoked_index: 5 }));
    refuses(good, /revoked before the entry/, revoked({ revoked_at_ms: log.ms }));
    refuses(good, /revoked before the entry/, revoked({}));
    check(good, { keys: [{ ...trust.keys[0]!, status: 'retired' }] });
  });

  it('cache the verified bytes of a valid signature only', () => {
    check(good);
    const other = { keys: [{ kid: RECEIPT_KEY.kid, jwk: seedKey(0x44).jwk }] };
    refuses(good, /thumbprint/, other);
    refuses(good, /thumbprint/, other);
    const changed = { ...trust.keys[0]! };
    check(good, { keys: [changed] });
    Object.assign(changed, { jwk: seedKey(0x44).jwk });
    refuses(good, /thumbprint/, { keys: [changed] });
    check(good);
  });

  it('must match the receipt that is verified with the document', () => {
    const commit = (document: JsonObject): JsonObject => {
      const other = new Forge().usual();
      const members = { document_sha256: toHex(native.sha256(utf8(canonical(document)))) };
      const text = other.add('absence.witness.v1', members);
      const receipt = JSON.parse(text) as JsonObject;
      return { ...receipt, entry_hash: toHex(leafHash(native, utf8(text))) };
    };
    const receipt = commit(good);
    check({ ...good, receipt });
    refuses({ ...good, statement: 'x', receipt }, /receipt: receipt is of another document/);
    refuses({ ...good, receipt: { ...receipt, index: 7 } }, /receipt: receipt is not valid/);
    refuses({ ...good, receipt }, /receipt/, {
      keys: [{ ...trust.keys[0]!, status: 'revoked', revoked_index: 100 }],
    });
  });
});
