// The witness by C2SP tlog-witness: the order of its checks with status and body, what it remembers.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { native } from '../../log/crypto/native.ts';
import { formatAddCheckpoint } from '../../log/note/add-checkpoint.ts';
import { openCheckpoint } from '../../log/note/checkpoint.ts';
import { formatNote, openNote, signatureLine, splitNote } from '../../log/note/note.ts';
import { COSIGNER_KEY, formatVkey, LOG_KEY, makeVerifier } from '../../log/note/vkey.ts';
import { serveWitness } from '../../tools/witness/server.ts';
import { Witness } from '../../tools/witness/witness.ts';
import { seededSigner } from '../log/note/seeded-signer.ts';
import { actlog, start } from '../support/actlog.ts';
import { GrowingTree } from '../support/growing-tree.ts';

const ORIGIN = 'log.example/log/live/1';
const NAME = 'witness.example/one';
const NOW_S = 1_790_000_000;
const signer = seededSigner(40);
const vkey = formatVkey(native, NAME, COSIGNER_KEY, signer.publicKey);
const SIZE_TYPE = 'text/x.tlog.size';

/** A served witness over a folder of its own. */
class Served {
  folder = '';
  url = '';
  #close: () => Promise<void> = async () => {};
  readonly vkeys: string[];

  constructor(...vkeys: string[]) {
    this.vkeys = vkeys;
  }

  async start(): Promise<void> {
    this.folder ||= await mkdtemp(join(tmpdir(), 'actlog-witness-'));
    const { folder, vkeys } = this;
    const options = { name: NAME, signer, vkeys, folder, now_s: () => NOW_S };
    const witness = await Witness.open(options);
    const server = await serveWitness(witness, { host: '127.0.0.1', port: 0 });
    this.url = `http://127.0.0.1:${String(server.port)}`;
    this.#close = async () => {
      await server.close();
      await witness.close();
    };
  }

  stop(): Promise<void> {
    return this.#close();
  }

  async end(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true });
  }

  post(body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
    return fetch(`${this.url}/add-checkpoint`, { method: 'POST', body });
  }

  /** Status and body, and the type of a size. */
  async answer(body: string | Uint8Array<ArrayBuffer>): Promise<[number, string]> {
    const response = await this.post(body);
    const text = await response.text();
    const type = response.headers.get('content-type');
    if (type === SIZE_TYPE) return [response.status, `size ${text}`];
    assert.equal(type, 'text/plain; charset=utf-8');
    return [response.status, text];
  }
}

const hashOf = (origin: string): string =>
  Buffer.from(native.sha256(Buffer.from(origin))).toString('hex');

describe('witness: add-checkpoint', () => {
  let served: Served;
  let tree: GrowingTree;

  beforeEach(async () => {
    tree = new GrowingTree(ORIGIN, 41).grow(5);
    served = new Served(tree.vkey);
    await served.start();
  });
  afterEach(() => served.end());

  /** Brings it to a size. */
  const cosigned = async (size: number): Promise<void> => {
    assert.equal((await served.answer(tree.request(0, size)))[0], 200);
  };

  it('cosigns the first checkpoint and each later one, with its time', async () => {
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

  it('refuses what is malformed before anything else: 400', async () => {
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
      // An extension line may be anything but empty.
      `old 0\n\n${ORIGIN}\n5\n${Buffer.alloc(32).toString('base64')}\n\nx\n\n${note.split('\n\n')[1]!}`,
      // Of an unknown log, too.
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

  it('refuses an old size over that of the checkpoint, also of an unknown log: 400', async () => {
    const request = { old: 6, path: [], note: tree.note() };
    assert.equal((await served.answer(formatAddCheckpoint(request)))[0], 400);
    const other = new GrowingTree('other.example', 42).grow(3);
    const unknown = formatAddCheckpoint({ ...request, note: other.note() });
    assert.equal((await served.answer(unknown))[0], 400);
  });

  it('knows only its logs: 404, whatever their signatures', async () => {
    const other = new GrowingTree('other.example', 41).grow(3);
    assert.equal((await served.answer(other.request(0)))[0], 404);
    await cosigned(5);
    assert.equal((await served.answer(other.request(1)))[0], 404);
  });

  it('wants a good signature of the log, and no bad one: 403', async () => {
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
    // Before the size is looked at.
    await cosigned(5);
    assert.equal((await served.answer(forged.request(1)))[0], 403);
  });

  it('ignores signatures of keys that it does not know, and never passes them on', async () => {
    const junk = signatureLine('someone.example', 7, new Uint8Array(64));
    const sameName = signatureLine(ORIGIN, 7, new Uint8Array(64));
    const note = tree.note() + junk + sameName;
    const [status] = await served.answer(formatAddCheckpoint({ old: 0, path: [], note }));
    assert.equal(status, 200);
    const shown = await (await fetch(`${served.url}/${hashOf(ORIGIN)}/checkpoint`)).text();
    assert.equal(splitNote(shown).signatures.length, 2);
  });

  it('tells the size it has: 409, before any proof is looked at', async () => {
    const path = [new Uint8Array(32)];
    const wrong = formatAddCheckpoint({ old: 3, path, note: tree.note() });
    assert.deepEqual(await served.answer(wrong), [409, 'size 0\n']);
    await cosigned(4);
    assert.deepEqual(await served.answer(tree.request(0)), [409, 'size 4\n']);
    assert.deepEqual(await served.answer(tree.request(3)), [409, 'size 4\n']);
    assert.deepEqual(await served.answer(wrong), [409, 'size 4\n']);
    assert.deepEqual(await served.answer(tree.request(0, 3)), [409, 'size 4\n'], 'no way back');
    const [status] = await served.answer(tree.request(4));
    assert.equal(status, 200);
  });

  it('wants the proof, and it must lead there: 422', async () => {
    const path = [new Uint8Array(32)];
    const from0 = formatAddCheckpoint({ old: 0, path, note: tree.note() });
    assert.equal((await served.answer(from0))[0], 422, 'a proof from nothing');
    await cosigned(3);
    const good = tree.consistency(3);
    const note = tree.note();
    for (const wrong of [[], good.slice(1), [...good, new Uint8Array(32)], good.toReversed()]) {
      const [status] = await served.answer(formatAddCheckpoint({ old: 3, path: wrong, note }));
      assert.equal(status, 422);
    }
    const fork = new GrowingTree(ORIGIN, 41).grow(5, 'other');
    assert.equal((await served.answer(fork.request(3)))[0], 422, 'a fork');
    assert.equal((await served.answer(tree.request(3)))[0], 200, 'nothing was kept of these');
  });

  it('never cosigns another root of a size: 422', async () => {
    await cosigned(5);
    const fork = new GrowingTree(ORIGIN, 41).grow(5, 'other');
    assert.equal((await served.answer(fork.request(5)))[0], 422);
    const proof = formatAddCheckpoint({ old: 5, path: [new Uint8Array(32)], note: tree.note() });
    assert.equal((await served.answer(proof))[0], 422, 'between equal sizes nothing is to prove');
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
    assert.equal((await served.answer(tree.request(0)))[0], 200, 'and grows from it');
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

  it('takes one of two roots that are posted at once, and one of two growths', async () => {
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

  it('remembers over a restart', async () => {
    await cosigned(4);
    await served.stop();
    await served.start();
    const fork = new GrowingTree(ORIGIN, 41).grow(5, 'other');
    assert.deepEqual(await served.answer(fork.request(0)), [409, 'size 4\n']);
    assert.equal((await served.answer(fork.request(4)))[0], 422);
    assert.equal((await served.answer(tree.request(4)))[0], 200);
  });

  it('takes both keys of a log that changes its key', async () => {
    const next = new GrowingTree(ORIGIN, 43).grow(9);
    await cosigned(5);
    assert.equal((await served.answer(next.request(5)))[0], 403);
    await served.stop();
    served.vkeys.push(next.vkey);
    await served.start();
    assert.equal((await served.answer(next.request(5)))[0], 200);
  });

  it('keeps its logs apart', async () => {
    const other = new GrowingTree('other.example', 44).grow(9);
    await served.stop();
    served.vkeys.push(other.vkey);
    await served.start();
    await cosigned(5);
    assert.deepEqual(await served.answer(other.request(3)), [409, 'size 0\n']);
    assert.equal((await served.answer(other.request(0)))[0], 200);
  });
});

describe('witness: serving', () => {
  let served: Served;
  const tree = new GrowingTree(ORIGIN, 41).grow(5);

  before(async () => {
    served = new Served(tree.vkey);
    await served.start();
  });
  after(() => served.end());

  it('shows monitors what it cosigned last, with both signatures; 404 for never', async () => {
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

  it('has nothing else', async () => {
    const get = await fetch(`${served.url}/add-checkpoint`);
    assert.equal(get.status, 405);
    assert.equal(get.headers.get('allow'), 'POST');
    assert.equal((await fetch(served.url)).status, 404);
  });

  it('cuts off a body over 16 KiB: 413', async () => {
    const response = await served.post('old 0\n'.padEnd(16 * 1024 + 1, 'x'));
    assert.equal(response.status, 413);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`${served.url}/add-checkpoint`, { method: 'POST' }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject);
      // Chunked, and never ended.
      sent.write('y'.repeat(20_000));
    });
    assert.equal(status, 413);
  });

  it('goes on after a client that leaves in the middle', async () => {
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

  /** Starts it and reads the line for the policy. */
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

  it('prints its policy line, with the same key each time, and stops in good order', async () => {
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
    // While it runs nobody else has its memory.
    const twin = await actlog(args());
    assert.equal(twin.code, 1);
    assert.match(twin.stderr, /does another witness run on it/);
    await second.end();
  }).timeout(240_000);

  it('does not run without what it cosigned, under a name of monitors, or for a key that is none', async () => {
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
