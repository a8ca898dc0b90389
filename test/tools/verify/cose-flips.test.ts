// Flips a bit in each byte of a COSE statement and of a receipt: the message becomes invalid, and the check that covers the
// byte fails. Further members of an unprotected header change nothing, since no claim depends on them. RFC 9052 §4; RFC 9942.
// The size of the tree in an inclusion proof is left out: a receipt signs the root, and for some entries a tree of
// another size has the same path to it.

import assert from 'node:assert/strict';
import { decodeSign1, encodeSign1, ENTRY_LABEL, HEADER, native } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { trustFromKit } from '../../../log/verify.ts';
import type { Trust } from '../../../log/verify.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import { run } from '../../gateway/running.ts';

/** Bytes of a message, and the checks that may fail if one of them is changed. */
interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly checks: readonly string[];
}

describe('a flipped bit of a COSE message', function () {
  this.timeout(60_000);

  let kit: JsonObject;
  let trust: Trust;
  let statement: Buffer;
  let receipt: Buffer;

  before(async () => {
    const running = await run();
    try {
      const body = { message: 'one', session_id: 's' };
      const { live: key } = running;
      const { entry_id } = (await running.post('/api/v1/classify', body, { key })).json;
      const { json } = await running.get(`/export/scitt/air/${entry_id as string}.json`);
      statement = Buffer.from(json.cose_sign1_b64, 'base64');
      const response = await fetch(`${running.url}/entries/${entry_id as string}`);
      receipt = Buffer.from(await response.arrayBuffer());
      kit = (await running.get('/export/offline-verify-kit.json')).json;
      trust = trustFromKit(kit, running.gateway.logs.live.origin, { suite: native });
    } finally {
      await running.close();
    }
  });

  const outcomeOf = (bytes: Uint8Array) =>
    checkDocument({ kind: 'cose', document: bytes }, trust, { suite: native, kit });

  const failing = async (bytes: Uint8Array): Promise<string | undefined> =>
    (await outcomeOf(bytes)).checks.find(({ outcome }) => outcome === 'failed')?.name;

  /** The inclusion proof of a receipt: CBOR of [size, index, path]. */
  function proofIn({ unprotected }: ReturnType<typeof decodeSign1>): Uint8Array {
    const proofs = unprotected.get(HEADER.vdp) as unknown as Map<number, Uint8Array[]>;
    const [proof] = [...proofs.values()].flat();
    assert.ok(proof !== undefined);
    return proof;
  }

  /**
   * Flips one bit of every byte, except in the size of the tree; each part must be hit, and only its checks may fail.
   */
  async function flipAll(
    message: Buffer,
    proof: Uint8Array,
    parts: readonly Part[],
  ): Promise<void> {
    assert.equal(await failing(message), undefined);
    // The size follows the byte that begins the list: the tree has 24 to 255 entries, so its size is the byte after
    // 0x18.
    assert.deepEqual([proof[0], proof[1]], [0x83, 0x18]);
    const sizeAt = message.indexOf(proof) + 2;
    const places = parts.map(({ bytes, name }) => {
      const start = message.indexOf(bytes);
      assert.ok(start >= 0 && message.indexOf(bytes, start + 1) < 0, name);
      return { start, end: start + bytes.length };
    });
    // Under another label or as text, the entry inside the receipt of a statement is not part of any claim.
    const label = parts.some(({ name }) => name === 'receipt') ? message.indexOf('eentry') : -1;
    for (let at = 0; at < message.length; at += 1) {
      if (at === sizeAt || (label >= 0 && at >= label && at < label + 7)) continue;
      const other = Buffer.from(message);
      other[at] = (other[at] ?? 0) ^ (1 << (at % 8));
      const name = await failing(other);
      assert.ok(name !== undefined, `byte ${String(at)} may be another`);
      const i = places.findIndex(({ start, end }) => at >= start && at < end);
      const part = parts[i];
      if (part !== undefined) {
        assert.ok(part.checks.includes(name), `byte ${String(at)}, ${part.name}: ${name} failed`);
      }
    }
  }

  it('makes a statement invalid, by the check that covers it', async () => {
    const { protectedBytes, payload, signature, unprotected } = decodeSign1(statement);
    const [inner] = unprotected.get(HEADER.receipts) as unknown as Uint8Array[];
    assert.ok(payload !== null && inner !== undefined);
    await flipAll(statement, proofIn(decodeSign1(inner)), [
      // With another content type it is a third-party statement whose receipt contains its entry.
      ...[
        {
          name: 'protected',
          bytes: protectedBytes,
          checks: ['cose_form', 'cose_signature', 'cose_receipt'],
        },
      ],
      { name: 'payload', bytes: payload, checks: ['cose_signature'] },
      { name: 'signature', bytes: signature, checks: ['cose_signature'] },
      { name: 'receipt', bytes: inner, checks: ['cose_receipt'] },
    ]);
  });

  it('makes a receipt invalid, by the check that covers it', async () => {
    const opened = decodeSign1(receipt);
    const { protectedBytes, signature } = opened;
    const entry = opened.unprotected.get(ENTRY_LABEL);
    const path = proofIn(opened);
    assert.ok(entry instanceof Uint8Array);
    await flipAll(receipt, path, [
      { name: 'entry', bytes: entry, checks: ['entry'] },
      { name: 'path', bytes: path, checks: ['inclusion'] },
      { name: 'signature', bytes: signature, checks: ['inclusion'] },
      // Without a verifiable data structure it is not a receipt, but a statement without one.
      {
        ...{ name: 'protected', bytes: protectedBytes },
        checks: ['cose_form', 'inclusion', 'cose_receipt'],
      },
    ]);
  });

  it('changes nothing in another unprotected label', async () => {
    for (const message of [statement, receipt]) {
      const opened = decodeSign1(message);
      const unprotected = new Map([...opened.unprotected, ['note', 'anything']]);
      const outcome = await outcomeOf(encodeSign1({ ...opened, unprotected }));
      const details = outcome.checks.map(({ name, outcome: came }) => [name, came]);
      const before = (await outcomeOf(message)).checks.map(({ name, outcome: came }) => [
        name,
        came,
      ]);
      assert.deepEqual(details, before);
      assert.equal(outcome.valid, true);
    }
  });
});
