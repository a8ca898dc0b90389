// Refuting an absence document with a receipt: false documents that a forged log signed, and documents that are true.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { native } from '../../log/crypto/native.ts';
import { toHex, utf8 } from '../../log/encoding/bytes.ts';
import type { Json, JsonObject } from '../../log/encoding/json.ts';
import { leafHash } from '../../log/merkle/hash.ts';
import { checkConsistency } from '../../log/merkle/check.ts';
import { consistencyPath } from '../../log/merkle/prove.ts';
import { parseCheckpoint } from '../../log/note/checkpoint.ts';
import { verifyAbsence, verifyReceipt } from '../../log/verify.ts';
import { refute } from '../../tools/refute/refute.ts';
import type { Refutation } from '../../tools/refute/refute.ts';
import { documentOf, MANIFEST, questionOf, SURFACE, trust } from '../support/absence-documents.ts';
import { actlog } from '../support/actlog.ts';
import { treeHash } from '../support/definitions.ts';
import { ACT, Forge, RECEIPT_KEY } from '../support/forge.ts';
import { forgeVkey, serveLogs } from '../support/serve-log.ts';

/** A log with one act that its map head denies, and a document that denies it too. */
function lyingLog(): { log: Forge; document: JsonObject; index: number } {
  const log = new Forge().open().tenant().declare('gate.decision.v1', {}, []).claim();
  const proof = log.mapProof(SURFACE);
  const map_root = toHex(log.mapRoot());
  const index = log.size;
  log.add('gate.decision.v1', ACT);
  const ms = log.ms;
  log.mapHead({ statement: { map_root } });
  const question = { key: SURFACE, from_ms: ms - 500, to_ms: ms + 500 };
  return { log, document: documentOf(log, question, { proof, verdict: 'UNDECLARED' }), index };
}

/** The receipt of an entry, with its proof in the present log. */
function receiptOf(log: Forge, index: number, place: JsonObject | null = null): JsonObject {
  const text = log.texts[index]!;
  const { origin } = log;
  return {
    ...(JSON.parse(text) as JsonObject),
    entry_hash: toHex(leafHash(native, utf8(text))),
    log: {
      ...{ origin, index },
      ...(place ?? { checkpoint: log.note(), inclusion_proof: log.path(index) }),
    },
  };
}

const nobody = { consistency: () => Promise.resolve(null), inclusion: () => Promise.resolve(null) };

/** Paths by the definition, as a mirror of this log would serve them. */
const from = (log: Forge): object => ({
  consistency: (older: number, newer: number) =>
    Promise.resolve(
      consistencyPath(
        {
          subtree: (height, index) =>
            treeHash(log.leaves.slice(index * 2 ** height, (index + 1) * 2 ** height)),
        },
        older,
        newer,
      ),
    ),
  inclusion: (index: number) =>
    Promise.resolve(log.path(index).map((node) => Buffer.from(node, 'base64'))),
});

const run = (receipt: JsonObject, document: JsonObject, more: object = {}): Promise<Refutation> =>
  refute({ receipt, document, trust, ...nobody, ...more });

/** The contradiction that the proof shows. */
function provenBy(refutation: Refutation): JsonObject {
  assert.equal(refutation.outcome, 'proven', refutation.reason);
  return (refutation as { proof: JsonObject }).proof;
}

/** With the offline verifier only: both objects are valid and contradict each other. */
function assertContradicts(proof: JsonObject): void {
  const document = proof['document'] as JsonObject;
  const { verdict } = verifyAbsence(document, questionOf(document), trust, { suite: native });
  assert.notEqual(verdict, 'ABSENT', 'a surface that nothing declares');
  const receipt = verifyReceipt(proof['receipt'] as Json, trust, { suite: native });
  assert.equal(receipt.valid, true);
  const { key, from_ms, to_ms } = questionOf(document);
  const at = receipt.statement?.['issued_at_ms'] as number;
  assert.ok(from_ms <= at && at <= to_ms);
  const links = receipt.statement?.['links'] as JsonObject[];
  assert.ok(links.some((link) => JSON.stringify(link['key']) === JSON.stringify(key)));
}

describe('a refutation', () => {
  it('is proven by an entry under the checkpoint of the document', async () => {
    const { log, document, index } = lyingLog();
    const proof = provenBy(await run(receiptOf(log, index), document));
    assert.equal(proof['contradiction'], 'left_out');
    assertContradicts(proof);
  });

  it('is proven under a later checkpoint with the consistency proof, and undecided without it', async () => {
    const { log, document, index } = lyingLog();
    log.add('gate.decision.v1', ACT);
    log.mapHead();
    const receipt = receiptOf(log, index);
    const without = await run(receipt, document);
    assert.equal(without.outcome, 'unknown');
    assert.match(without.reason, /consistency proof from 6 to 8/);
    const proof = provenBy(await run(receipt, document, from(log)));
    assertContradicts(proof);
    const { path, ...sizes } = proof['consistency'] as { from: number; to: number; path: string[] };
    const place = receipt['log'] as { checkpoint: string };
    const rootOf = (note: string) => parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)).root;
    checkConsistency(native, {
      ...sizes,
      fromRoot: rootOf(document['checkpoint'] as string),
      toRoot: rootOf(place.checkpoint),
      path: path.map((node) => Buffer.from(node, 'base64')),
    });
  });

  it('is proven under an earlier checkpoint than that of the document', async () => {
    const { log, index } = lyingLog();
    const receipt = receiptOf(log, index);
    const ms = log.ms;
    // The false map head comes later: the map of the second head lacks the chain too.
    const proof = new Forge().open().tenant().declare('gate.decision.v1', {}, []).claim();
    const map_root = toHex(proof.mapRoot());
    log.mapHead({ statement: { map_root } });
    const question = { key: SURFACE, from_ms: 0, to_ms: ms };
    const lie = { proof: proof.mapProof(SURFACE), verdict: 'UNDECLARED' };
    const later = documentOf(log, question, lie);
    assert.equal((await run(receipt, later)).outcome, 'unknown');
    assertContradicts(provenBy(await run(receipt, later, from(log))));
  });

  it('is proven for an entry that a complete list leaves out', async () => {
    const log = new Forge().open().tenant().declare('gate.decision.v1', {}, []).claim();
    log.add('gate.decision.v1', ACT);
    const shown = log.size - 1;
    const proof = log.mapProof(SURFACE);
    const map_root = toHex(log.mapRoot());
    log.add('gate.decision.v1', ACT);
    const { ms } = log;
    log.mapHead({ statement: { map_root } });
    const question = { key: SURFACE, from_ms: 0, to_ms: ms };
    const entries = [log.opened(shown)];
    const document = documentOf(log, question, { proof, entries, verdict: 'PRESENT' });
    assertContradicts(provenBy(await run(receiptOf(log, shown + 1), document)));
    const { outcome, reason } = await run(receiptOf(log, shown), document);
    assert.equal(outcome, 'not_denied');
    assert.match(reason, /shows the entry itself/);
  });

  it('is proven by two different trees of one size', async () => {
    const { document, index } = lyingLog();
    const other = lyingLog().log;
    const forked = new Forge().open().tenant().declare('gate.decision.v1', {}, []).claim();
    forked.add('gate.decision.v1', { ...ACT, outcome: 'DENY' });
    forked.mapHead();
    assert.equal(forked.size, other.size);
    const proof = provenBy(await run(receiptOf(forked, index), document));
    assert.equal(proof['contradiction'], 'two_roots');
  });

  it('is proven by another entry of the same index', async () => {
    const log = new Forge().usual();
    log.add('gate.decision.v1', ACT);
    const shown = log.size - 1;
    const { ms } = log;
    log.mapHead();
    const forked = new Forge().usual();
    forked.add('gate.decision.v1', { ...ACT, outcome: 'DENY' });
    forked.mapHead();
    const proof = log.mapProof(SURFACE);
    const entries = [log.opened(shown)];
    const question = { key: SURFACE, from_ms: ms, to_ms: ms };
    const document = documentOf(log, question, { proof, entries, verdict: 'PRESENT' });
    const told = provenBy(await run(receiptOf(forked, shown, {}), document));
    assert.equal(told['contradiction'], 'two_entries');
  });

  it('fetches a path under the checkpoint of the document if the receipt has none', async () => {
    const { log, document, index } = lyingLog();
    const bare = receiptOf(log, index, {});
    const promised = await run(bare, document);
    assert.equal(promised.outcome, 'unknown');
    assert.match(promised.reason, /only promised/);
    const proof = provenBy(await run(bare, document, from(log)));
    assert.equal((proof['inclusion'] as JsonObject)['checkpoint'], document['checkpoint']);
    const wrong = { inclusion: () => Promise.resolve([new Uint8Array(32)]) };
    assert.equal((await run(bare, document, wrong)).outcome, 'unknown');
  });

  it('is not found if the document is about something else', async () => {
    const { log, document, index } = lyingLog();
    const { ms } = log;
    const asked = (key: string[], from_ms: number, to_ms: number) => {
      const proof = new Forge().open().tenant().declare('gate.decision.v1', {}, []).claim();
      return documentOf(
        log,
        { key, from_ms, to_ms },
        { proof: proof.mapProof(key), verdict: 'UNDECLARED' },
      );
    };
    const receipt = receiptOf(log, index);
    for (const [other, why] of [
      [asked(SURFACE, 0, ms - 1001), /the document speaks of/],
      [{ ...asked(MANIFEST, 0, ms), verdict: 'ABSENT' }, /is not on the chain/],
    ] as const) {
      const { outcome, reason } = await run(receipt, other);
      assert.equal(outcome, 'not_denied', reason);
      assert.match(reason, why);
    }
    const elsewhere = new Forge('log.example/log/live/2').usual();
    const question = { key: SURFACE, from_ms: 0, to_ms: elsewhere.ms };
    const { outcome } = await run(
      receipt,
      documentOf(elsewhere, question, { verdict: 'UNDECLARED' }),
    );
    assert.equal(outcome, 'not_denied');
    assert.equal((await run(receipt, document)).outcome, 'proven');
  });

  it('is undecided with a document or receipt that does not verify', async () => {
    const { log, document, index } = lyingLog();
    const receipt = receiptOf(log, index);
    for (const [one, other] of [
      [{ ...receipt, outcome: 'DENY' }, document],
      [receipt, { ...document, verdict: 'ABSENT' }],
      [receipt, { ...document, question: null }],
    ] as const) {
      assert.equal((await run(one, other)).outcome, 'unknown');
    }
    log.mapHead();
    const wrong = { consistency: () => Promise.resolve([new Uint8Array(32)]) };
    assert.equal((await run(receiptOf(log, index), document, wrong)).outcome, 'unknown');
  });

  it('is a command with exit codes, which fetches what is missing from the tiles', async () => {
    const { log, document, index } = lyingLog();
    const folder = await mkdtemp(join(tmpdir(), 'actlog-refute-'));
    log.mapHead();
    const server = await serveLogs();
    server.put(log);
    try {
      const { kid, jwk } = RECEIPT_KEY;
      const kit = {
        schema: 'svc-offline-verify-kit-v1',
        logs: [{ origin: log.origin, vkey: forgeVkey(log.origin) }],
        keys: { keys: [{ ...jwk, kid, origin: log.origin }] },
      };
      const files = { kit, receipt: receiptOf(log, index), document };
      for (const [name, value] of Object.entries(files)) {
        await writeFile(join(folder, `${name}.json`), JSON.stringify(value));
      }
      const args = ['refute', 'receipt.json', 'document.json', '--kit', 'kit.json'];
      const alone = await actlog(args, { cwd: folder });
      assert.equal(alone.code, 2, alone.stderr);
      assert.match(alone.stderr, /CANNOT TELL: .*--consistency FILE or --url/);
      const fetched = await actlog([...args, '--url', server.url], { cwd: folder });
      assert.equal(fetched.code, 3, fetched.stderr);
      assert.equal(fetched.json.schema, 'actlog-refutation-v1');
      assertContradicts(fetched.json);
      const { consistency } = fetched.json;
      await writeFile(join(folder, 'consistency.json'), JSON.stringify(consistency));
      const given = ['--consistency', 'consistency.json', '--out', 'lie.json'];
      assert.equal((await actlog([...args, ...given], { cwd: folder })).code, 3);
      const kept = JSON.parse(await readFile(join(folder, 'lie.json'), 'utf8')) as JsonObject;
      assert.deepEqual(kept, fetched.json);
      const other = { ...receiptOf(log, 1), log: { origin: log.origin, index: 1 } };
      await writeFile(join(folder, 'receipt.json'), JSON.stringify(other));
      const none = await actlog(args, { cwd: folder });
      assert.equal(none.code, 0, none.stderr);
      assert.match(none.stderr, /NOT DENIED: the entry is not on the chain/);
      await writeFile(join(folder, 'receipt.json'), JSON.stringify(other).slice(0, -9));
      const cut = await actlog(args, { cwd: folder });
      assert.equal(cut.code, 2, cut.stderr);
      assert.match(cut.stderr, /receipt\.json: INVALID: this is not JSON/);
    } finally {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    }
  }).timeout(240_000);
});
