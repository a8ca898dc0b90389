// From statement to entry to receipt: the texts are canonical (RFC 8785), and receipts are valid offline.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  canonical,
  fromHex,
  LogError,
  receiptOf,
  sessionRef,
  toBase64,
  toHex,
} from '../../../log/index.ts';
import type { Json, JsonObject } from '../../../log/index.ts';
import { native } from '../../../log/crypto/native.ts';
import { formatTlogProof } from '../../../log/note/tlog-proof.ts';
import {
  commit,
  entryBytesOf,
  entryText,
  leafHashOf,
  readEntry,
  signedBytes,
  statementText,
} from '../../../log/write/statement.ts';
import { verifyReceipt, verifyTlogProof } from '../../../log/verify.ts';
import { vectors } from '../../support/absence-vectors.ts';
import { note, withLog } from './kept-log.ts';

const SIGNATURE = 'A'.repeat(86) + '==';
const LINKS = { base_url: 'https://log.example', sandbox: false };

describe('statement: texts', () => {
  it('are the canonical texts of the statement, without and with its signature', () => {
    const name = fc.oneof(
      fc.constantFrom(
        'signatur',
        'signaturf',
        'signature0',
        '__proto__',
        'é',
        '\u{1f600}',
        '\ufb33',
      ),
      fc.string({ maxLength: 6, unit: 'binary' }).filter((text) => text.isWellFormed()),
    );
    const members = fc.dictionary(name, fc.jsonValue() as fc.Arbitrary<Json>, {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(members, (own) => {
        const forbidden = ['signature', 'entry_hash', 'permalink', 'verify_url', 'log'];
        fc.pre(!Object.keys(own).some((member) => forbidden.includes(member)));
        const statement: JsonObject = { ...own, entry_id: 'x', type: 'a.b.v1' };
        const text = statementText(statement);
        assert.equal(signedBytes(text).toString(), canonical(statement));
        const entry = entryText(text, SIGNATURE);
        assert.equal(entry, canonical({ ...statement, signature: SIGNATURE }));
        const { bytes, leaf_hash } = entryBytesOf(text, signedBytes(text), SIGNATURE);
        assert.equal(bytes.toString(), entry);
        assert.equal(leaf_hash.toString('hex'), toHex(leafHashOf(bytes)));
        assert.deepEqual(readEntry(entry).signature, SIGNATURE);
        assert.equal(canonical(readEntry(entry).statement), canonical(statement));
      }),
    );
  });

  it('have links in canonical form', () => {
    const text = fc.string({ maxLength: 8, unit: 'binary' }).filter((part) => part.isWellFormed());
    const count = fc.option(fc.nat());
    const link = fc.record({
      ...{ prev_ms: count, seq: fc.nat(), key: fc.array(text, { minLength: 1, maxLength: 3 }) },
      prev_index: count,
    });
    fc.assert(
      fc.property(fc.array(link, { minLength: 1, maxLength: 8 }), (links) => {
        const statement = { entry_id: 'x', links, type: 'a.b.v1' } as unknown as JsonObject;
        assert.equal(signedBytes(statementText(statement, links)).toString(), canonical(statement));
      }),
    );
    const broken = { key: ['a', '\udc00'], seq: 0, prev_index: null, prev_ms: null };
    assert.throws(() => statementText({ links: [broken], type: 'a.b.v1' }, [broken]), LogError);
  });

  it('may not have members that only receipts have, or values that are not JSON', () => {
    for (const bad of [
      { signature: 'x' },
      { disclosures: {} },
      { text: '\udc00' },
      { text: undefined as unknown as Json },
      { text: NaN },
    ]) {
      assert.throws(() => statementText({ entry_id: 'x', type: 'a.b.v1', ...bad }), LogError);
    }
    assert.throws(() => readEntry('{"type":"a.b.v1"}'), LogError);
  });

  it('hash to RFC 6962 leaves', () => {
    for (const [i, text] of vectors.entries.entries()) {
      assert.equal(toHex(leafHashOf(Buffer.from(text))), vectors.leaf_hashes[i]);
      const { statement, signature } = readEntry(text);
      assert.equal(entryText(statementText(statement), signature), text);
    }
  });
});

describe('statement: commitments and references', () => {
  it('have 16 fresh random bytes each time', () => {
    const made = Array.from({ length: 600 }, () => commit({ a: 0.5 }));
    const salts = new Set(made.map(({ disclosure }) => disclosure.salt));
    assert.equal(salts.size, made.length);
    for (const { commitment, disclosure } of made) {
      assert.match(disclosure.salt, /^[0-9a-f]{32}$/);
      const opened = Buffer.concat([fromHex(disclosure.salt), Buffer.from('{"a":0.5}')]);
      assert.equal(Buffer.from(native.sha256(opened)).toString('hex'), commitment);
    }
  });

  it('name a session as the vectors do, and differ for another log or session', () => {
    const { session_ref } = vectors as unknown as {
      session_ref: { tenant_key: string; session_id: string; session_ref: string };
    };
    const key = fromHex(session_ref.tenant_key);
    const ref = sessionRef(key, vectors.origin, session_ref.session_id);
    assert.equal(ref, session_ref.session_ref);
    assert.notEqual(sessionRef(key, vectors.origin, 'sess-2'), ref);
    assert.notEqual(sessionRef(key, `${vectors.origin}x`, session_ref.session_id), ref);
  });
});

describe('statement: receipts', () => {
  it(
    'have the seven members, and are valid offline with and without a proof',
    withLog(async (kept) => {
      const [entry] = await kept.append(note('a', { outcome: 'DENY' }));
      const receipt = receiptOf(entry!, LINKS);
      for (const field of ['entry_id', 'entry_hash', 'issued_at_ms', 'signature', 'kid']) {
        assert.ok(field in receipt, field);
      }
      assert.equal(receipt.permalink, `https://log.example/r/${entry!.entry_id}`);
      assert.equal(receipt.verify_url, `https://log.example/verify?entry_id=${entry!.entry_id}`);
      assert.ok(!('disclosures' in receipt));
      const alone = verifyReceipt(receipt, kept.trust());
      assert.equal(alone.valid, true);
      assert.equal(alone.size, undefined);
      const { size, note: checkpoint } = await kept.log.whenPublished(entry!.index + 1);
      const path = kept.log.inclusion(entry!.index, size);
      const proven = {
        ...receipt,
        log: { ...(receipt.log as JsonObject), checkpoint, inclusion_proof: path.map(toBase64) },
      };
      assert.equal(verifyReceipt(proven, kept.trust()).size, size);
      const proof = formatTlogProof({ index: entry!.index, path: [...path], checkpoint });
      assert.equal(verifyReceipt(receipt, kept.trust(), { tlogProof: proof }).size, size);
      assert.equal(verifyTlogProof(proof, entry!.text, kept.trust()).size, size);
    }),
  );

  it(
    'of a sandbox have sandbox in their links, and are valid for the sandbox only',
    withLog(
      async (kept) => {
        const [entry] = await kept.append(note('a'));
        const receipt = receiptOf(entry!, { ...LINKS, sandbox: true });
        assert.match(receipt.permalink as string, /\?log=sandbox$/);
        assert.match(receipt.verify_url as string, /&log=sandbox$/);
        assert.equal(verifyReceipt(receipt, kept.trust()).valid, true);
        const live = { ...kept.trust(), origin: 'log.example/log/live/1' };
        assert.equal(verifyReceipt(receipt, live).valid, false);
      },
      { kind: 'sandbox' },
    ),
  );

  it(
    'verify disclosures as deep as a request may send them',
    withLog(async (kept) => {
      const deep = JSON.parse(`${'['.repeat(15)}0.5${']'.repeat(15)}`) as Json;
      const [entry] = await kept.append({ ...note('a'), private: { input: deep } });
      const receipt = receiptOf(entry!, LINKS, entry!.disclosures);
      const { valid, checks } = verifyReceipt(receipt, kept.trust());
      assert.deepEqual(
        checks.filter(({ outcome }) => outcome === 'failed'),
        [],
      );
      assert.equal(valid, true);
    }),
  );
});
