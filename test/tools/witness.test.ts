// The witness as an HTTP server and as a command: what it publishes, its limits, start and stop.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { native } from '../../log/crypto/native.ts';
import { openCheckpoint } from '../../log/note/checkpoint.ts';
import { actlog, start } from '../support/actlog.ts';
import { GrowingTree } from '../support/growing-tree.ts';
import { hashOf, NAME, ORIGIN, Served, vkey } from './witness-served.ts';

describe('witness: serving', () => {
  let served: Served;
  const tree = new GrowingTree(ORIGIN, 41).grow(5);

  before(async () => {
    served = new Served(tree.vkey);
    await served.start();
  });
  after(() => served.end());

  it('publishes the last cosigned checkpoint with both signatures; 404 if there is none', async () => {
    const url = `${served.url}/${hashOf(ORIGIN)}/checkpoint`;
    assert.equal((await fetch(url)).status, 404);
    const [, line] = await served.answer(tree.request(0));
    const response = await fetch(url);
    assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    assert.equal(await response.text(), tree.note() + line);
    assert.equal((await fetch(`${served.url}/${hashOf('other')}/checkpoint`)).status, 404);
    assert.equal((await fetch(url.replace(/[a-f]/, 'F'))).status, 404);
    assert.equal((await fetch(url, { method: 'DELETE' })).status, 405);
    assert.equal((await fetch(url, { method: 'HEAD' })).status, 200);
  });

  it('accepts a note with 16 signatures of 5 kB', async () => {
    const line = (i: number): string => {
      const bytes = Buffer.concat([Buffer.from([1, 2, 3, i]), Buffer.alloc(5000, i)]);
      return `\u2014 other.example/${String(i)} ${bytes.toString('base64')}\n`;
    };
    const others = Array.from({ length: 15 }, (_, i) => line(i)).join('');
    const [status] = await served.answer(tree.request(5) + others);
    assert.equal(status, 200);
  });

  it('answers 404 for every other path', async () => {
    const get = await fetch(`${served.url}/add-checkpoint`);
    assert.equal(get.status, 405);
    assert.equal(get.headers.get('allow'), 'POST');
    assert.equal((await fetch(served.url)).status, 404);
  });

  it('refuses a body over 128 KiB: 413', async () => {
    const response = await served.post('old 0\n'.padEnd(128 * 1024 + 1, 'x'));
    assert.equal(response.status, 413);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`${served.url}/add-checkpoint`, { method: 'POST' }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject);
      // A chunked body that never ends.
      sent.write('y'.repeat(140_000));
    });
    assert.equal(status, 413);
  });

  it('continues after a client that disconnects during a request', async () => {
    const { port, hostname } = new URL(served.url);
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write('POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nold');
        setImmediate(() => socket.destroy());
      });
      socket.on('close', () => resolve());
    });
    assert.deepEqual(await served.answer(tree.request(4)), [409, 'size 5\n']);
  });
});

describe('actlog witness', () => {
  let folder: string;
  const tree = new GrowingTree(ORIGIN, 41).grow(5);
  const args = (...more: string[]): string[] =>
    ['witness', '--name', NAME, '--log', tree.vkey, '--data', join(folder, 'w')]
      .concat(['--port', '0'])
      .concat(more);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-witness-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Starts the witness, and reads the line for the policy. */
  async function running(): Promise<{ line: string; end: () => Promise<number | null> }> {
    const child = start(args());
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return {
      line,
      end: async () => {
        const exit = once(child, 'exit') as Promise<[number | null]>;
        child.kill('SIGTERM');
        return (await exit)[0];
      },
    };
  }

  it('prints its policy line, with the same key at each start, and stops on a signal', async () => {
    const first = await running();
    const [, name, key = '', url = ''] = first.line.split(' ');
    assert.equal(name, NAME);
    const answer = await fetch(`${url}/add-checkpoint`, { method: 'POST', body: tree.request(0) });
    const keys = { origin: ORIGIN, vkey: tree.vkey, cosigners: [key] };
    const note = tree.note() + (await answer.text());
    assert.equal(openCheckpoint(native, note, keys).cosignatures.length, 1);
    assert.equal(await first.end(), 0);
    const second = await running();
    assert.equal(second.line.split(' ')[2], key);
    const again = await fetch(`${second.line.split(' ')[3]!}/add-checkpoint`, {
      method: 'POST',
      body: tree.request(0),
    });
    assert.equal(again.status, 409);
    // While it runs, no other process can open its state.
    const twin = await actlog(args());
    assert.equal(twin.code, 1);
    assert.match(twin.stderr, /does another witness run on it/);
    await second.end();
  }).timeout(240_000);

  it('does not start if its state is missing, if its name is that of a monitor, or with an invalid key', async () => {
    await (await running()).end();
    await rm(join(folder, 'w', 'cosigned'), { recursive: true });
    const lost = await actlog(args());
    assert.equal(lost.code, 1);
    assert.match(lost.stderr, /it could cosign a fork now/);
    const map = await actlog(args('--name', `${NAME}/map`));
    assert.match(map.stderr, /names in \/map are of monitors/);
    const cosigner = await actlog(args('--data', join(folder, 'v'), '--log', vkey));
    assert.equal(cosigner.code, 1);
    assert.match(cosigner.stderr, /is no key of a log/);
  }).timeout(240_000);
});
