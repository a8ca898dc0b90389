// The quorum over the witnesses of a log: which witnesses are asked, which count, and how long the log waits. C2SP tlog-policy.

import assert from 'node:assert/strict';
import { native, openCheckpoint } from '../../../log/index.ts';
import { GrowingTree } from '../../support/growing-tree.ts';
import { cosignatureOf, cosignerKey, falseWitness } from './answering.ts';
import { keyName, NAMES, Network, NOW_S, seedOf } from './five-witnesses.ts';
import type { Name } from './five-witnesses.ts';

describe('witnesses of a log', () => {
  let network: Network;
  const tree = new GrowingTree('log.example/log/live/1', 51).grow(9);
  const NESTED = 'group ab 1 a b\ngroup cde 2 c d e\ngroup both all ab cde\nquorum both';

  before(async () => {
    network = await new Network().start();
  });
  beforeEach(() => {
    network.down();
    network.asked.length = 0;
  });
  after(() => network.close());

  it('add every received cosignature to the note', async () => {
    const witnesses = network.witnesses(network.policy('group q 2 a b c\nquorum q', 'a', 'b', 'c'));
    const offer = tree.offer();
    assert.equal(witnesses.health().quorum, 'pending');
    const cosigned = await witnesses.cosign(offer);
    assert.equal(cosigned?.cosignatures, 3);
    assert.ok(cosigned.note.startsWith(offer.note));
    const cosigners = (['a', 'b', 'c'] as const).map((name) => {
      return cosignerKey(keyName(name), seedOf(name));
    });
    const { cosignatures } = openCheckpoint(native, cosigned.note, { ...offer, cosigners });
    assert.deepEqual(cosignatures.map(({ name }) => name).sort(), [
      'a.example',
      'b.example',
      'c.example',
    ]);
    assert.equal(witnesses.health().quorum, 'met');
  });

  for (const [down, met] of [
    ['', true],
    ['a', true],
    ['ab', false],
    ['c', true],
    ['cd', false],
    ['ac', true],
    ['bd', true],
    ['bce', false],
    ['abcde', false],
  ] as const) {
    it(`of two groups, without ${down || 'none'}: ${met ? 'published' : 'not published'}`, async () => {
      network.down(...(down as Iterable<Name>));
      const witnesses = network.witnesses(network.policy(NESTED, ...NAMES));
      const cosigned = await witnesses.cosign(tree.offer());
      assert.equal(cosigned?.cosignatures ?? null, met ? 5 - down.length : null);
      const health = witnesses.health();
      assert.equal(health.quorum, met ? 'met' : 'missing');
      assert.deepEqual(
        health.witnesses.filter(({ problem }) => problem !== null).map(({ name }) => name),
        Array.from(down),
      );
    });
  }

  it('fail open, if configured to, with the received cosignatures, and report the missing quorum', async () => {
    network.down('b', 'c');
    const policy = network.policy('group q 2 a b c\nquorum q', 'a', 'b', 'c');
    const witnesses = network.witnesses(policy, true);
    const cosigned = await witnesses.cosign(tree.offer());
    assert.equal(cosigned?.cosignatures, 1);
    assert.equal(witnesses.health().quorum, 'missing');
    assert.equal(witnesses.health().fail_open, true);
    network.down();
    await witnesses.cosign(tree.offer());
    assert.equal(witnesses.health().quorum, 'met');
  });

  it('named …/map are asked after the checkpoint is published, and count for no quorum', async () => {
    const monitor = await falseWitness((request, response) => {
      asked.push('map');
      response.end(cosignatureOf(request.note, 'm.example/map', 90, NOW_S));
    });
    const asked: string[] = [];
    try {
      const line = `witness m ${cosignerKey('m.example/map', 90)} ${monitor.url}\n`;
      const witnesses = network.witnesses(line + network.policy('quorum a', 'a'));
      const offer = tree.offer();
      const cosigned = await witnesses.cosign(offer);
      assert.deepEqual([cosigned?.cosignatures, asked], [1, []]);
      const later = await cosigned?.later?.();
      assert.equal(later?.cosignatures, 1);
      assert.deepEqual(asked, ['map']);
      const cosigners = [cosignerKey('a.example', 70), cosignerKey('m.example/map', 90)];
      const { cosignatures } = openCheckpoint(native, later.note, { ...offer, cosigners });
      assert.deepEqual(
        cosignatures.map(({ name, map }) => [name, map]),
        [
          ['a.example', false],
          ['m.example/map', true],
        ],
      );
      assert.deepEqual(
        witnesses.health().witnesses.map(({ name, cosigned_size }) => [name, cosigned_size]),
        [
          ['a', 9],
          ['m', 9],
        ],
      );
      network.down('a');
      assert.equal(await witnesses.cosign(offer), null);
      assert.deepEqual(asked, ['map'], 'monitors are asked only for published checkpoints');
    } finally {
      await monitor.close();
    }
  });

  it('are not waited for after the quorum is met, nor longer than the time-out', async () => {
    const policy = network.policy('group q 2 a b c\nquorum q', 'a', 'b', 'c');
    network.answers.set('c', () => {});
    const patient = network.witnesses(policy, false, 60_000, 50);
    assert.equal((await patient.cosign(tree.offer()))?.cosignatures, 2);
    network.answers.set('b', () => {});
    const witnesses = network.witnesses(policy, false, 100);
    assert.equal(await witnesses.cosign(tree.offer()), null);
    assert.equal(await witnesses.cosign(tree.offer()), null, 'while the witness is still busy');
  });

  it('are also asked if none is needed, without a long wait', async () => {
    const witnesses = network.witnesses(network.policy('quorum none', 'a', 'b'), false, 60_000);
    assert.equal((await witnesses.cosign(tree.offer()))?.cosignatures, 2);
    assert.equal(witnesses.health().quorum, 'none');
    network.answers.set('a', () => {});
    network.answers.set('b', () => {});
    const again = network.witnesses(network.policy('quorum none', 'a', 'b'), false, 60_000, 50);
    assert.equal((await again.cosign(tree.offer()))?.cosignatures, 0);
  });

  it('cannot together make a note invalid that is valid with each of them', async () => {
    // A note may have sixty lines of one answer, but not those of two.
    for (const name of ['a', 'b'] as const) {
      network.answers.set(name, ({ note: text }, response) => {
        const line = cosignatureOf(text, keyName(name), seedOf(name), NOW_S);
        const junk = cosignatureOf(text, 'junk.example', 99, NOW_S);
        response.end(line + junk.repeat(59));
      });
    }
    const witnesses = network.witnesses(network.policy('group q all a b\nquorum q', 'a', 'b'));
    const cosigned = await witnesses.cosign(tree.offer());
    assert.equal(cosigned?.cosignatures, 2);
    assert.equal(cosigned.note.includes('junk'), false);
  });
});
