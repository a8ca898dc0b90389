// The client of one witness: which answers it accepts, and what it takes from them. C2SP tlog-witness.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { WitnessClient } from '../../../gateway/witnesses/witness-client.ts';
import { native, openCheckpoint, parsePolicy } from '../../../log/index.ts';
import { GrowingTree } from '../../support/growing-tree.ts';
import { cosignatureOf, cosignerKey, falseWitness, realWitness } from './answering.ts';
import type { Answer } from './answering.ts';
import type { Listening } from '../../support/listening.ts';

const NAME = 'witness.example/one';
const SEED = 50;
const NOW_S = 1_790_000_000;
const VKEY = cosignerKey(NAME, SEED);

function clientOf(url: string, timeout_ms = 60_000): WitnessClient {
  const { witnesses } = parsePolicy(native, `witness one ${VKEY} ${url}\nquorum one\n`);
  return new WitnessClient({ ...witnesses[0]!, url }, { timeout_ms, now: () => NOW_S * 1000 });
}

describe('witness client: a real witness', () => {
  let tree: GrowingTree;
  let witness: Listening;
  const now_s = (): number => NOW_S;

  beforeEach(async () => {
    tree = new GrowingTree('log.example/log/live/1', 51).grow(3);
    witness = await realWitness(NAME, SEED, [tree.vkey], now_s);
  });
  afterEach(() => witness.close());

  it('cosigns one size after another, and gets no proof for a size that it has', async () => {
    const client = clientOf(`${witness.url}/`);
    for (const more of [0, 1, 255, 300]) {
      const offer = tree.grow(more).offer();
      const line = (await client.cosign(offer))?.line;
      const keys = { origin: tree.origin, vkey: tree.vkey, cosigners: [VKEY] };
      const { cosignatures } = openCheckpoint(native, offer.note + line!, keys);
      assert.equal(cosignatures.length, 1);
      assert.deepEqual(client.state, {
        name: 'one',
        cosigned_size: tree.size,
        cosigned_at_ms: NOW_S * 1000,
        problem: null,
      });
    }
  });

  it('tells a new client the size that it has', async () => {
    await clientOf(witness.url).cosign(tree.offer());
    const again = clientOf(witness.url);
    assert.notEqual(await again.cosign(tree.grow(7).offer()), null);
  });

  it('cosigns a size that is offered again', async () => {
    const client = clientOf(witness.url);
    assert.notEqual(await client.cosign(tree.offer()), null);
    assert.notEqual(await client.cosign(tree.offer()), null);
  });

  it('does not cosign an older checkpoint or a fork', async () => {
    const client = clientOf(witness.url);
    await client.cosign(tree.grow(4).offer());
    assert.equal(await client.cosign(tree.offer(5)), null);
    assert.equal(client.state.problem, 'has cosigned 7 entries, more than offered');
    const fork = new GrowingTree(tree.origin, 51).grow(9, 'other');
    assert.equal(await client.cosign(fork.offer()), null);
    assert.equal(client.state.problem, 'refused the consistency proof (422)');
    assert.equal(client.state.cosigned_size, 7);
  });

  it('answers that it does not know the log, or its key', async () => {
    const other = new GrowingTree('other.example', 51).grow(2);
    const client = clientOf(witness.url);
    assert.equal(await client.cosign(other.offer()), null);
    assert.equal(client.state.problem, 'does not know this log or its key (404)');
    const forged = new GrowingTree(tree.origin, 52).grow(2);
    assert.equal(await client.cosign(forged.offer()), null);
    assert.equal(client.state.problem, 'does not know this log or its key (403)');
  });
});

describe('witness client: false witnesses', () => {
  const tree = new GrowingTree('log.example/log/live/1', 51).grow(9);
  const good = (note: string): string => cosignatureOf(note, NAME, SEED, NOW_S);

  /** An answer, and the reason why it is rejected. */
  async function problemOf(answer: Answer, timeout_ms?: number): Promise<string | null> {
    const server = await falseWitness(answer);
    try {
      const client = clientOf(server.url, timeout_ms);
      const line = await client.cosign(tree.offer());
      assert.equal(line === null, client.state.problem !== null);
      assert.equal(client.state.cosigned_size, line === null ? 0 : tree.size);
      return client.state.problem;
    } finally {
      await server.close();
    }
  }
  const answering =
    (status: number, body: string | ((note: string) => string), headers = {}): Answer =>
    ({ note }, response) => {
      response.writeHead(status, headers).end(typeof body === 'string' ? body : body(note));
    };

  for (const [what, answer, wanted] of [
    ['404', answering(404, 'no'), /^does not know this log or its key \(404\)$/],
    ['403', answering(403, ''), /^does not know this log or its key \(403\)$/],
    ['409 without a size', answering(409, ''), /^answered 409 without its size/],
    ['409 with words', answering(409, 'root mismatch\n'), /^answered 409 without its size/],
    ['409 with a false size', answering(409, '05\n'), /^answered 409 without its size/],
    ['409 with 2^53', answering(409, '9007199254740992\n'), /^answered 409 without its size/],
    ['409 with a larger size', answering(409, '10\n'), /^has cosigned 10 entries, more than/],
    ['409 for what it has', answering(409, '0\n'), /^answered 409 for the size that it names$/],
    ['422', answering(422, ''), /^refused the consistency proof \(422\)$/],
    [
      '429',
      answering(429, '', { 'retry-after': '1' }),
      /^answered that it gets too many requests \(429\)$/,
    ],
    ['500', answering(500, 'oops'), /^answered 500$/],
    ['a redirect', answering(302, '', { location: 'http://127.0.0.1:1/' }), /cannot be reached/],
    ['an empty 200', answering(200, ''), /^answered no signature line$/],
    ['200 and the checkpoint', answering(200, (note) => note), /./],
    ['garbage', answering(200, 'ok\n'), /em dash/],
    ['no newline at its end', answering(200, (note) => good(note).trim()), /^answered no sig/],
    [
      'a good line and garbage',
      answering(200, (note) => `${good(note)}<html>\n`),
      /does not begin with an em dash/,
    ],
    [
      'a blank line that moves the signed text',
      answering(200, (note) => `extension\n\n${good(note)}`),
      /./,
    ],
    [
      'a valid line of another key',
      answering(200, (note) => cosignatureOf(note, 'witness.example/two', 60, NOW_S)),
      /^answered without a cosignature of its key$/,
    ],
    [
      'a valid line of another key in its name',
      answering(200, (note) => cosignatureOf(note, NAME, 60, NOW_S)),
      /^answered without a cosignature of its key$/,
    ],
    [
      'its key in another name',
      answering(200, (note) => cosignatureOf(note, 'witness.example/two', SEED, NOW_S)),
      /^answered without a cosignature of its key$/,
    ],
    [
      'a cosignature of another checkpoint',
      answering(200, () => good(tree.note(5))),
      /^signature of .* is not valid$/,
    ],
    [
      'a good line and a bad one of its key',
      answering(200, (note) => good(note) + good(tree.note(5))),
      /^signature of .* is not valid$/,
    ],
    [
      'a time long past',
      answering(200, (note) => cosignatureOf(note, NAME, SEED, NOW_S - 61)),
      /^its clock is more than a minute away/,
    ],
    [
      'a time to come',
      answering(200, (note) => cosignatureOf(note, NAME, SEED, NOW_S + 61)),
      /^its clock is more than a minute away/,
    ],
    [
      'over a hundred lines',
      answering(200, (note) => good(note).repeat(100)),
      /signatures, the limit is 100$/,
    ],
    [
      'over 16 KiB',
      answering(200, (note) => good(note).repeat(200)),
      /^answered over 16384 bytes$/,
    ],
    ['over 16 KiB of an error', answering(500, 'x'.repeat(20_000)), /^answered over 16384 bytes$/],
  ] as [string, Answer, RegExp][]) {
    it(`gets nothing from one that answers ${what}`, async () => {
      assert.match((await problemOf(answer)) ?? 'no problem', wanted);
    });
  }

  it('refuses a line with another time than the signed one', async () => {
    const problem = await problemOf(({ note }, response) => {
      const [dash, name, base64] = good(note).trim().split(' ');
      const bytes = Buffer.from(base64!, 'base64');
      bytes.writeBigUInt64BE(BigInt(NOW_S + 1), 4);
      response.end(`${dash!} ${name!} ${bytes.toString('base64')}\n`);
    });
    assert.match(problem ?? '', /is not valid$/);
  });

  it('waits at most for the time-out for an answer, or for its end', async () => {
    assert.equal(await problemOf(() => {}, 50), 'did not answer in time');
    const slow: Answer = ({ note }, response) => {
      response.writeHead(200).write(good(note).slice(0, 20));
    };
    assert.equal(await problemOf(slow, 50), 'did not answer in time');
  });

  it('stops reading an endless body', async () => {
    let sent = 0;
    const server = await falseWitness((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(4096))) sent += 4096;
      };
      response.on('drain', more);
      more();
    });
    const client = clientOf(server.url);
    assert.equal(await client.cosign(tree.offer()), null);
    assert.match(client.state.problem ?? '', /^answered over 16384 bytes$/);
    await server.close();
    assert.ok(sent < 100_000_000);
  });

  it('reports a witness that cannot be reached, or closes the connection', async () => {
    const hanging = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    const { port } = hanging.address() as AddressInfo;
    const url = `http://127.0.0.1:${String(port)}`;
    const client = clientOf(url);
    assert.equal(await client.cosign(tree.offer()), null);
    assert.match(client.state.problem ?? '', /^cannot be reached/);
    hanging.close();
    await once(hanging, 'close');
    assert.equal(await client.cosign(tree.offer()), null);
    assert.equal(client.state.problem, 'cannot be reached (ECONNREFUSED)');
  });

  it('takes only the newest line by its key from a valid answer', async () => {
    const server = await falseWitness(({ note }, response) => {
      const lines = [
        cosignatureOf(note, 'witness.example/two', 60, NOW_S),
        cosignatureOf(note, NAME, 60, NOW_S),
        cosignatureOf(note, NAME, SEED, NOW_S - 5),
        good(note),
        good(note),
      ];
      response.end(lines.join(''));
    });
    const offer = tree.offer();
    assert.equal((await clientOf(server.url).cosign(offer))?.line, good(offer.note));
    await server.close();
  });

  it('asks again from the size that a 409 names, a few times only', async () => {
    let turn = 0;
    const server = await falseWitness(({ note }, response) => {
      turn += 1;
      if (turn === 2) response.end(good(note));
      else response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end(`${String(turn)}\n`);
    });
    const client = clientOf(server.url);
    assert.notEqual(await client.cosign(tree.offer()), null);
    assert.deepEqual(
      server.requests.map(({ old, path }) => [old, path]),
      [
        [0, []],
        [1, tree.consistency(1)],
      ],
    );
    // The client assumes that the witness has the whole tree; the witness claims 3, then 4, then 5 entries.
    assert.equal(await client.cosign(tree.offer()), null);
    assert.equal(client.state.problem, 'its size kept changing');
    assert.equal(server.requests.length, 5);
    await server.close();
  });

  it('sends one request at a time, and only the newest of the waiting checkpoints', async () => {
    const held: (() => void)[] = [];
    let entered = (): void => {};
    const asked = (): Promise<void> => new Promise((resolve) => (entered = resolve));
    const server = await falseWitness(({ note }, response) => {
      held.push(() => response.end(good(note)));
      entered();
    });
    const client = clientOf(server.url);
    let next = asked();
    const first = client.cosign(tree.offer(3));
    await next;
    next = asked();
    const second = client.cosign(tree.offer(5));
    const third = client.cosign(tree.offer(8));
    held[0]!();
    assert.notEqual(await first, null);
    assert.equal(await second, null);
    await next;
    held[1]!();
    assert.notEqual(await third, null);
    assert.deepEqual(
      server.requests.map(({ old, note }) => [old, note.split('\n')[1]]),
      [
        [0, '3'],
        [3, '8'],
      ],
    );
    await server.close();
  });
});
