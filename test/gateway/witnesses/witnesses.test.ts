// The quorum over the witnesses of a log, and a log that publishes with it. C2SP tlog-policy; formats.md §5.

import assert from 'node:assert/strict';
import { ConfigError } from '../../../gateway/config.ts';
import { witnessPolicyOf } from '../../../gateway/witnesses/witness-policy.ts';
import { Witnesses } from '../../../gateway/witnesses/witnesses.ts';
import { native, openCheckpoint } from '../../../log/index.ts';
import type { Log } from '../../../log/index.ts';
import { GrowingTree } from '../../support/growing-tree.ts';
import { NOTE, note, TENANT, withLog } from '../../log/kept-log.ts';
import { cosignatureOf, cosignerKey, falseWitness } from './answering.ts';
import type { Answer, Listening } from './answering.ts';

const NOW_S = 1_790_000_000;
const NAMES = ['a', 'b', 'c', 'd', 'e'] as const;
type Name = (typeof NAMES)[number];
const seedOf = (name: Name): number => 70 + NAMES.indexOf(name);
const keyName = (name: Name): string => `${name}.example`;

/** Witnesses that cosign everything, but for those whose answer the test gives. */
class Network {
  readonly answers = new Map<Name, Answer>();
  readonly asked: Name[] = [];
  readonly #servers = new Map<Name, Listening>();

  async start(): Promise<this> {
    for (const name of NAMES) {
      const server = await falseWitness((request, response, incoming) => {
        this.asked.push(name);
        const answer = this.answers.get(name);
        if (answer !== undefined) answer(request, response, incoming);
        else response.end(cosignatureOf(request.note, keyName(name), seedOf(name), NOW_S));
      });
      this.#servers.set(name, server);
    }
    return this;
  }

  /** These do not cosign. */
  down(...names: Name[]): void {
    this.answers.clear();
    for (const name of names) {
      this.answers.set(name, (_, response) => response.writeHead(503).end());
    }
  }

  policy(rules: string, ...names: Name[]): string {
    const lines = names.map((name) => {
      const url = this.#servers.get(name)!.url;
      return `witness ${name} ${cosignerKey(keyName(name), seedOf(name))} ${url}`;
    });
    return [...lines, rules, ''].join('\n');
  }

  /** All who answer are waited for, however slow this machine is, unless `grace_ms` is less. */
  witnesses(
    policy: string,
    fail_open = false,
    timeout_ms = 60_000,
    grace_ms = timeout_ms,
  ): Witnesses {
    const now = (): number => NOW_S * 1000;
    return new Witnesses(witnessPolicyOf(policy), { timeout_ms, fail_open, grace_ms, now });
  }

  async close(): Promise<void> {
    for (const server of this.#servers.values()) await server.close();
  }
}

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

  it('put every cosignature that came into the note', async () => {
    const witnesses = network.witnesses(network.policy('group q 2 a b c\nquorum q', 'a', 'b', 'c'));
    const offer = tree.offer();
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
    it(`of two groups, without ${down || 'nobody'}: ${met ? 'published' : 'not published'}`, async () => {
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

  it('fail open, when told to, with what came, and say that the quorum is missing', async () => {
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

  it('named …/map are asked once the checkpoint can be read, and count for no quorum', async () => {
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
      assert.deepEqual(asked, ['map'], 'nobody is asked for what is not published');
    } finally {
      await monitor.close();
    }
  });

  it('are not waited for once there are enough, nor for longer than the time-out', async () => {
    const policy = network.policy('group q 2 a b c\nquorum q', 'a', 'b', 'c');
    network.answers.set('c', () => {});
    const patient = network.witnesses(policy, false, 60_000, 50);
    assert.equal((await patient.cosign(tree.offer()))?.cosignatures, 2);
    network.answers.set('b', () => {});
    const witnesses = network.witnesses(policy, false, 100);
    assert.equal(await witnesses.cosign(tree.offer()), null);
    assert.equal(await witnesses.cosign(tree.offer()), null, 'while it is still busy');
  });

  it('are asked also when none is needed, and none is waited for long', async () => {
    const witnesses = network.witnesses(network.policy('quorum none', 'a', 'b'), false, 60_000);
    assert.equal((await witnesses.cosign(tree.offer()))?.cosignatures, 2);
    assert.equal(witnesses.health().quorum, 'none');
    network.answers.set('a', () => {});
    network.answers.set('b', () => {});
    const again = network.witnesses(network.policy('quorum none', 'a', 'b'), false, 60_000, 50);
    assert.equal((await again.cosign(tree.offer()))?.cosignatures, 0);
  });

  it('cannot break a note together that each leaves whole', async () => {
    // Sixty lines are good for one answer; of two such answers the note would have too many.
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
        // Nobody cosigns when it is opened.
        cosign: (offer) => {
          if (network.asked.length === 0) network.down('a', 'b', 'c');
          return cosign(offer);
        },
      },
    ),
  );

  it(
    'goes on taking entries without a quorum, and publishes them all once it is back',
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
        'never back',
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
        // One offer because of the first who asked; the clock of this log comes once an hour.
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
        // It cosigns, but is alone.
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
      assert.ok(size > sizeOf(offered), 'a map head of its own follows');
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

describe('a policy file for this service', () => {
  const key = cosignerKey('a.example', 70);
  const refuses = (text: string, reason: RegExp): void => {
    assert.throws(
      () => witnessPolicyOf(text),
      (error: unknown) => error instanceof ConfigError && reason.test(error.message),
    );
  };

  it('must be one', () => {
    refuses('witness a', /^WITNESS_POLICY is no tlog-policy: line 1: /);
    refuses('', /no quorum line/);
  });

  it('must be one that can be met', () => {
    refuses(`witness a ${key}\nquorum a\n`, /that the witnesses with an address cannot meet/);
    refuses(`witness a ${key} ftp://a.example\nquorum a\n`, /no http or https address for .* a$/);
    refuses(`witness a ${key} a.example/w\nquorum a\n`, /no http or https address/);
  });

  it('shows verifiers all but addresses and comments', () => {
    const text = `# ours\nlog ${new GrowingTree('l.example', 1).vkey}\nwitness  a\t${key} https://u:p@a.example/w \n group g 1 a\nquorum g`;
    assert.deepEqual(witnessPolicyOf(text).shown, [`witness a ${key}`, 'group g 1 a', 'quorum g']);
    assert.deepEqual(witnessPolicyOf(text).vkeys, [key]);
  });
});
