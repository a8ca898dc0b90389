// A log that publishes with a quorum of witnesses: while they are unavailable, available again, slow, and after restarts.
// log/FORMAT.md §5.

import assert from 'node:assert/strict';
import type { Witnesses } from '../../../gateway/witnesses/witnesses.ts';
import type { Log } from '../../../log/index.ts';
import { NOTE, note, TENANT, withLog } from '../../log/write/kept-log.ts';
import { cosignatureOf } from './answering.ts';
import { keyName, Network, NOW_S, seedOf } from './five-witnesses.ts';
import type { Name } from './five-witnesses.ts';

describe('a log with witnesses', () => {
  let network: Network;
  let policy: string;
  let witnesses: Witnesses;
  const cosign: Witnesses['cosign'] = (offer) => witnesses.cosign(offer);
  const options = { bare: true, checkpoint_interval_ms: 5, cosign };

  before(async () => {
    network = await new Network().start();
    policy = network.policy('group q 2 a b c\nquorum q', 'a', 'b', 'c');
  });
  beforeEach(() => {
    network.down();
    network.asked.length = 0;
    witnesses = network.witnesses(policy);
  });
  after(() => network.close());

  /** Resolves with each request that a witness gets. */
  const offersTo = (name: Name, count: number): Promise<string[]> => {
    const notes: string[] = [];
    return new Promise((resolve) => {
      network.answers.set(name, ({ note: text }, response) => {
        notes.push(text);
        response.writeHead(503).end();
        if (notes.length === count) resolve(notes);
      });
    });
  };
  const sizeOf = (text: string): number => Number(text.split('\n')[1]);
  const next = (log: Log): Promise<{ size: number; cosignatures: number; note: string }> =>
    new Promise((resolve) => {
      const stop = log.onPublished((published) => {
        stop();
        resolve(published);
      });
    });

  it(
    'publishes with two of three, whichever is down',
    withLog(async ({ log, time }) => {
      assert.equal(log.published().cosignatures, 3);
      for (const down of ['a', 'b', 'c'] as const) {
        network.down(down);
        time.advance(1);
        const published = await log.whenPublished(log.size() + 1);
        assert.equal(published.cosignatures, 2);
        assert.equal(log.checkpointAt(published.size), published.note);
      }
    }, options),
  );

  it(
    'offers a size again while nothing follows it, and publishes that very note in the end',
    withLog(
      async ({ log }) => {
        assert.equal(log.published().size, 0);
        const notes = await offersTo('a', 3);
        assert.equal(new Set(notes).size, 1);
        const size = sizeOf(notes[0]!);
        assert.equal(size, log.size());
        network.down();
        const published = await next(log);
        assert.equal(published.size, size);
        assert.ok(published.note.startsWith(notes[0]!));
      },
      {
        ...options,
        // No witness cosigns when the log is opened.
        cosign: (offer) => {
          if (network.asked.length === 0) network.down('a', 'b', 'c');
          return cosign(offer);
        },
      },
    ),
  );

  it(
    'takes entries without a quorum and publishes them all when the quorum is back',
    withLog(async (kept) => {
      const { log } = kept;
      await log.registerTenant(TENANT, '0'.repeat(64));
      await log.declare([NOTE]);
      const { size: published } = await log.whenPublished(log.size());
      network.down('b', 'c');
      const asked = offersTo('a', 4);
      const appended = [];
      for (let i = 0; i < 20; i += 1) {
        kept.time.advance(1);
        appended.push(...(await kept.append(note(String(i)))));
      }
      const waiting = log.whenPublished(appended.at(-1)!.index + 1);
      const sizes = (await asked).map(sizeOf);
      assert.deepEqual(
        sizes,
        sizes.toSorted((a, b) => a - b),
        'sizes never decrease',
      );
      assert.equal(log.published().size, published, 'nothing was published meanwhile');
      assert.equal(witnesses.health().quorum, 'missing');
      assert.ok(log.health().waiting >= 20);
      network.down();
      const { size } = await waiting;
      assert.ok(size > appended.at(-1)!.index);
      assert.equal(witnesses.health().quorum, 'met');
    }, options),
  );

  it(
    'does not offer more often because many ask',
    withLog(
      async ({ log, time }) => {
        network.down('a', 'b', 'c');
        time.advance(1);
        const first = AbortSignal.timeout(300);
        const waits: Promise<unknown>[] = [];
        const offers = network.asked.length;
        for (let i = 0; i < 50; i += 1) {
          waits.push(log.whenPublished(log.size() + 1, first).catch(() => 'gave up'));
          await new Promise(setImmediate);
        }
        assert.deepEqual(new Set(await Promise.all(waits)), new Set(['gave up']));
        // The first request causes one offer; the interval of this log is one hour.
        assert.ok(network.asked.length - offers <= 3, String(network.asked.length - offers));
        network.down();
      },
      { ...options, checkpoint_interval_ms: 3_600_000 },
    ),
  );

  it(
    'starts again behind a checkpoint that only witnesses have seen',
    withLog(async (kept) => {
      await kept.log.whenPublished(kept.log.size());
      network.down('b', 'c');
      const [offered = ''] = await new Promise<string[]>((resolve) => {
        // It cosigns, but no other witness does.
        network.answers.set('a', ({ note: text }, response) => {
          response.end(cosignatureOf(text, keyName('a'), seedOf('a'), NOW_S));
          resolve([text]);
        });
        kept.time.advance(1);
        kept.log.whenPublished(kept.log.size() + 1).catch(() => 'closing');
      });
      await kept.stop();
      network.down();
      witnesses = network.witnesses(policy);
      const log = await kept.start();
      const { size } = await log.whenPublished(log.size());
      assert.ok(size > sizeOf(offered), 'its own map head follows');
      assert.equal(log.checkpointAt(sizeOf(offered)), null);
    }, options),
  );

  it(
    'closes without a quorum, and without losing anything',
    withLog(async (kept) => {
      network.down('a', 'b', 'c');
      await kept.log.registerTenant(TENANT, '0'.repeat(64));
      const size = kept.log.size();
      await kept.stop();
      network.down();
      const log = await kept.start();
      assert.ok(log.size() >= size);
      await log.whenPublished(log.size());
    }, options),
  );
});
