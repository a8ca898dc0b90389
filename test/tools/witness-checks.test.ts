// `actlog witness` by C2SP tlog-witness: the order of its checks, status and body of its answers, and what it stores.

import assert from 'node:assert/strict';
import { native } from '../../log/crypto/native.ts';
import { formatAddCheckpoint, openCheckpoint } from '../../log/note/checkpoint.ts';
import {
  formatNote,
  openNote,
  signatureLine,
  splitNote,
  COSIGNER_KEY,
  LOG_KEY,
  makeVerifier,
} from '../../log/note/note.ts';
import { seededSigner } from '../log/note/seeded-signer.ts';
import { GrowingTree } from '../support/growing-tree.ts';
import { hashOf, NAME, NOW_S, ORIGIN, Served, signer, vkey } from './witness-served.ts';

describe('witness: add-checkpoint', () => {
  let served: Served;
  let tree: GrowingTree;

  beforeEach(async () => {
    tree = new GrowingTree(ORIGIN, 41).grow(5);
    served = new Served(tree.vkey);
    await served.start();
  });
  afterEach(() => served.end());

  /** Cosigns checkpoints up to this size. */
  const cosigned = async (size: number): Promise<void> => {
    assert.equal((await served.answer(tree.request(0, size)))[0], 200);
  };

  it('cosigns the first checkpoint and each later one, with the current time', async () => {
    const [status, line] = await served.answer(tree.request(0));
    assert.equal(status, 200);
    const keys = { origin: ORIGIN, vkey: tree.vkey, cosigners: [vkey] };
    const [one] = openCheckpoint(native, tree.note() + line, keys).cosignatures;
    assert.equal(one?.time_s, NOW_S);
    assert.match(line, /^— witness\.example\/one [A-Za-z0-9+/]+=*\n$/);
    tree.grow(300);
    assert.equal((await served.answer(tree.request(5)))[0], 200);
    assert.equal((await served.answer(tree.request(305)))[0], 200, 'the same size again');
  });

  it('refuses a malformed request before any other check: 400', async () => {
    const good = tree.request(0);
    const note = tree.note();
    for (const body of [
      '',
      'old 0\n',
      good.replace('old 0', 'old 00'),
      good.replace('\n5\n', '\n05\n'),
      good.replace('\n\nlog', '\nAAAA\n\nlog'),
      good.slice(0, -1),
      good.replace('\u2014', '-'),
      formatAddCheckpoint({ old: 0, path: [], note: note.replace('\n\n', '\n\n\n') }),
      // An extension line must not be empty.
      `old 0\n\n${ORIGIN}\n5\n${Buffer.alloc(32).toString('base64')}\n\nx\n\n${note.split('\n\n')[1]!}`,
      // Also for an unknown log.
      good.replaceAll(ORIGIN, 'other.example').replace('\n5\n', '\n5 \n'),
    ]) {
      assert.equal((await served.answer(body))[0], 400, JSON.stringify(body));
    }
  });

  it('reads its body as strict UTF-8', async () => {
    const good = Buffer.from(tree.request(0));
    const mark = Buffer.from('\ufeff');
    assert.equal((await served.answer(Buffer.concat([mark, good])))[0], 400);
    assert.equal((await served.answer(Buffer.concat([good, Buffer.of(0xff, 10)])))[0], 400);
  });

  it('refuses an old size above that of the checkpoint, also for an unknown log: 400', async () => {
    const request = { old: 6, path: [], note: tree.note() };
    assert.equal((await served.answer(formatAddCheckpoint(request)))[0], 400);
    const other = new GrowingTree('other.example', 42).grow(3);
    const unknown = formatAddCheckpoint({ ...request, note: other.note() });
    assert.equal((await served.answer(unknown))[0], 400);
  });

  it('refuses a log that it was not configured for, whatever the signatures: 404', async () => {
    const other = new GrowingTree('other.example', 41).grow(3);
    assert.equal((await served.answer(other.request(0)))[0], 404);
    await cosigned(5);
    assert.equal((await served.answer(other.request(1)))[0], 404);
  });

  it('requires a valid signature of the log, and refuses an invalid one: 403', async () => {
    const forged = new GrowingTree(ORIGIN, 42).grow(5);
    assert.equal((await served.answer(forged.request(0)))[0], 403);
    const { text, signatures } = splitNote(tree.note());
    const [good] = signatures;
    const bad = signatureLine(ORIGIN, good!.key_id, new Uint8Array(64).fill(1));
    const line = signatureLine(ORIGIN, good!.key_id, good!.signature);
    for (const lines of [[bad], [line, bad], [bad, line]]) {
      const note = formatNote(text, lines);
      const [status] = await served.answer(formatAddCheckpoint({ old: 0, path: [], note }));
      assert.equal(status, 403, String(lines.length));
    }
    // Checked before the size.
    await cosigned(5);
    assert.equal((await served.answer(forged.request(1)))[0], 403);
  });

  it('ignores signatures of unknown keys, and does not publish them', async () => {
    const junk = signatureLine('someone.example', 7, new Uint8Array(64));
    const sameName = signatureLine(ORIGIN, 7, new Uint8Array(64));
    const note = tree.note() + junk + sameName;
    const [status] = await served.answer(formatAddCheckpoint({ old: 0, path: [], note }));
    assert.equal(status, 200);
    const shown = await (await fetch(`${served.url}/${hashOf(ORIGIN)}/checkpoint`)).text();
    assert.equal(splitNote(shown).signatures.length, 2);
  });

  it('answers with the size that it cosigned before it checks a proof: 409', async () => {
    const path = [new Uint8Array(32)];
    const wrong = formatAddCheckpoint({ old: 3, path, note: tree.note() });
    assert.deepEqual(await served.answer(wrong), [409, 'size 0\n']);
    await cosigned(4);
    assert.deepEqual(await served.answer(tree.request(0)), [409, 'size 4\n']);
    assert.deepEqual(await served.answer(tree.request(3)), [409, 'size 4\n']);
    assert.deepEqual(await served.answer(wrong), [409, 'size 4\n']);
    assert.deepEqual(
      await served.answer(tree.request(0, 3)),
      [409, 'size 4\n'],
      'the size never decreases',
    );
    const [status] = await served.answer(tree.request(4));
    assert.equal(status, 200);
  });

  it('requires a valid consistency proof: 422', async () => {
    const path = [new Uint8Array(32)];
    const from0 = formatAddCheckpoint({ old: 0, path, note: tree.note() });
    assert.equal((await served.answer(from0))[0], 422, 'a proof from size 0');
    await cosigned(3);
    const good = tree.consistency(3);
    const note = tree.note();
    for (const wrong of [[], good.slice(1), [...good, new Uint8Array(32)], good.toReversed()]) {
      const [status] = await served.answer(formatAddCheckpoint({ old: 3, path: wrong, note }));
      assert.equal(status, 422);
    }
    const fork = new GrowingTree(ORIGIN, 41).grow(5, 'other');
    assert.equal((await served.answer(fork.request(3)))[0], 422, 'a fork');
    assert.equal(
      (await served.answer(tree.request(3)))[0],
      200,
      'the witness stored none of these',
    );
  });

  it('never cosigns another root of a size: 422', async () => {
    await cosigned(5);
    const fork = new GrowingTree(ORIGIN, 41).grow(5, 'other');
    assert.equal((await served.answer(fork.request(5)))[0], 422);
    const proof = formatAddCheckpoint({ old: 5, path: [new Uint8Array(32)], note: tree.note() });
    assert.equal((await served.answer(proof))[0], 422, 'a proof between equal sizes must be empty');
  });

  it('cosigns the empty log only with its own root: 422', async () => {
    const empty = new GrowingTree(ORIGIN, 41);
    const root = Buffer.from(empty.root()).toString('base64');
    const text = `${ORIGIN}\n0\n${Buffer.alloc(32).toString('base64')}\n`;
    const { key_id } = makeVerifier(native, ORIGIN, LOG_KEY, seededSigner(41).publicKey);
    const line = signatureLine(ORIGIN, key_id, seededSigner(41).sign(Buffer.from(text)));
    const note = formatNote(text, [line]);
    assert.equal((await served.answer(formatAddCheckpoint({ old: 0, path: [], note })))[0], 422);
    assert.equal((await served.answer(empty.request(0)))[0], 200, root);
    assert.equal(
      (await served.answer(tree.request(0)))[0],
      200,
      'larger checkpoints are cosigned afterwards',
    );
  });

  it('cosigns the extension lines of other logs', async () => {
    const [origin, size, root] = tree.note().split('\n');
    const text = `${origin!}\n${size!}\n${root!}\nextension of that log\n`;
    const { key_id } = makeVerifier(native, ORIGIN, LOG_KEY, seededSigner(41).publicKey);
    const line = signatureLine(ORIGIN, key_id, seededSigner(41).sign(Buffer.from(text)));
    const note = formatNote(text, [line]);
    const [status, cosignature] = await served.answer(
      formatAddCheckpoint({ old: 0, path: [], note }),
    );
    assert.equal(status, 200);
    const key = makeVerifier(native, NAME, COSIGNER_KEY, signer.publicKey);
    assert.equal(openNote(native, note + cosignature, [key]).text, text);
  });

  it('accepts one of two roots, and one of two larger checkpoints, that are posted concurrently', async () => {
    const fork = new GrowingTree(ORIGIN, 41).grow(5, 'other');
    const both = [tree, fork, tree, fork].map((one) => served.answer(one.request(0)));
    const answers = await Promise.all(both);
    assert.deepEqual(answers.map(([status]) => status).sort(), [200, 409, 409, 409]);
    const shown = await (await fetch(`${served.url}/${hashOf(ORIGIN)}/checkpoint`)).text();
    const winner = shown.startsWith(tree.note().slice(0, -1)) ? tree : fork;
    winner.grow(20);
    const sizes = [7, 25, 9, 11];
    const grown = await Promise.all(sizes.map((size) => served.answer(winner.request(5, size))));
    assert.deepEqual(grown.map(([status]) => status).sort(), [200, 409, 409, 409]);
    const size = sizes[grown.findIndex(([status]) => status === 200)]!;
    for (const [status, body] of grown) {
      if (status === 409) assert.equal(body, `size ${String(size)}\n`);
    }
  });

  it('keeps its state over a restart', async () => {
    await cosigned(4);
    await served.stop();
    await served.start();
    const fork = new GrowingTree(ORIGIN, 41).grow(5, 'other');
    assert.deepEqual(await served.answer(fork.request(0)), [409, 'size 4\n']);
    assert.equal((await served.answer(fork.request(4)))[0], 422);
    assert.equal((await served.answer(tree.request(4)))[0], 200);
  });

  it('accepts both keys of a log that changes its key', async () => {
    const next = new GrowingTree(ORIGIN, 43).grow(9);
    await cosigned(5);
    assert.equal((await served.answer(next.request(5)))[0], 403);
    await served.stop();
    served.vkeys.push(next.vkey);
    await served.start();
    assert.equal((await served.answer(next.request(5)))[0], 200);
  });

  it('keeps the state of each log separate', async () => {
    const other = new GrowingTree('other.example', 44).grow(9);
    await served.stop();
    served.vkeys.push(other.vkey);
    await served.start();
    await cosigned(5);
    assert.deepEqual(await served.answer(other.request(3)), [409, 'size 0\n']);
    assert.equal((await served.answer(other.request(0)))[0], 200);
  });
});
