// A server and `actlog monitor` as processes, and a receiver of webhooks: what the monitor finds arrives there
// signed with its key. Behind one address the server is then replaced by one that tells another story.

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { native, openCheckpoint, parseVkey } from '../../log/index.ts';
import { trustFromKit, verifyReceipt } from '../../log/verify.ts';
import { IN_CLUSTER, skipInCluster } from '../cluster/suite-cluster.ts';
import { startReceiver } from '../gateway/egress/receiver.ts';
import type { Received, Receiver } from '../gateway/egress/receiver.ts';
import { header } from '../gateway/webhooks/receiving.ts';
import { start } from '../support/actlog.ts';
import { copyUnnoticed } from '../support/copy-unnoticed.ts';
import { listening } from '../support/listening.ts';
import type { Listening } from '../support/listening.ts';
import { startProcess } from './process.ts';
import type { ServerProcess } from './process.ts';
import type { Body } from '../support/body.ts';

const ORIGIN = 'log.example/log/live/1';

describe('a monitor with a webhook', function () {
  this.timeout(300_000);

  let folder: string;
  let receiver: Receiver;
  let door: Listening;
  let behind: ServerProcess;
  let other: ServerProcess | null = null;
  let monitor: ChildProcess;
  let address: string;
  let key: string;
  /** Verifier keys: of the log, and of the monitor. */
  let vkey = '';
  let own = '';

  const told = async (server: ServerProcess, message: string): Promise<Body> => {
    const response = await fetch(`${server.url}/api/v1/classify`, {
      method: 'POST',
      body: JSON.stringify({ message, session_id: 'watched' }),
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json', Prefer: 'wait=30' },
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  };
  const watching = (...more: readonly string[]): ReturnType<typeof start> =>
    start(
      ['monitor', address, '--log', 'live', '--state', join(folder, 'state')].concat(
        ['--webhook', receiver.url(), '--cosign', 'm.example', '--cosign-serve', '127.0.0.1:0'],
        ['--interval', '200ms', ...more],
      ),
    );
  /** Reads what it says about itself until its first look is done. */
  const settled = async (child: ReturnType<typeof start>): Promise<void> => {
    for await (const line of createInterface(child.stdout)) {
      own = /^cosigner {2}witness \S+ (\S+) http/.exec(line)?.[1] ?? own;
      vkey = /^live\/1 {2}trusting (\S+)/.exec(line)?.[1] ?? vkey;
      if (/^live\/1 {2}ok/.test(line)) break;
    }
    child.stdout.resume();
    assert.ok(own !== '' && vkey !== '', 'it says whom it trusts and with what it signs');
  };
  /** The message, once its signature by the monitor's key has been checked. */
  const opened = (received: Received): { type: string; data: Body } => {
    const { publicKey } = parseVkey(native, own);
    const signed = `${header(received, 'id')}.${header(received, 'timestamp')}.${received.body}`;
    const [version, base64 = ''] = header(received, 'signature').split(',');
    assert.equal(version, 'v1a');
    const signature = Buffer.from(base64, 'base64');
    assert.ok(native.verify(publicKey, Buffer.from(signed), signature), 'it is signed');
    assert.equal(native.verify(publicKey, Buffer.from(`${signed} `), signature), false);
    return JSON.parse(received.body);
  };

  const serverOf = (name: 'a' | 'b'): Promise<ServerProcess> =>
    startProcess(join(folder, name), { CHECKPOINT_DIR: join(folder, name, 'checkpoints') });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-monitored-'));
    receiver = await startReceiver();
    const first = await serverOf('a');
    ({ key } = first);
    await told(first, 'before');
    await first.stop();
    if (!IN_CLUSTER) await copyUnnoticed(join(folder, 'a'), join(folder, 'b'));
    behind = await serverOf('a');
    door = await listening((asked, answer) => {
      const { method, headers } = asked;
      const way = request(behind.url + (asked.url ?? ''), { method, headers }, (got) => {
        answer.writeHead(got.statusCode ?? 502, got.headers);
        got.pipe(answer);
      });
      way.on('error', () => answer.destroy());
      asked.pipe(way);
    });
    address = door.url;
  });
  after(async () => {
    if (monitor.exitCode === null) {
      const exit = once(monitor, 'exit');
      monitor.kill('SIGKILL');
      await exit;
    }
    await door.close();
    await behind.stop();
    await other?.stop();
    await receiver.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('tells of an entry on a watched chain, with a receipt that holds', async () => {
    const chain = (await told(behind, 'one')).links[0].key;
    const child = watching('--watch', JSON.stringify(chain));
    monitor = child;
    await settled(child);
    assert.deepEqual(receiver.received, [], 'what was there at the first look is not new');
    const receipt = await told(behind, 'two');
    const [received] = await receiver.whenReceived(1);
    const { type, data } = opened(received!);
    assert.equal(type, 'monitor.watched');
    assert.deepEqual(
      [data.log, data.keys, data.entry_id, data.index],
      ['live/1', [chain], receipt.entry_id, receipt.index],
    );
    const kit = await (await fetch(`${behind.url}/export/offline-verify-kit.json`)).json();
    const verdict = verifyReceipt(data.receipt, trustFromKit(kit, ORIGIN), { suite: native });
    assert.equal(verdict.valid, true, JSON.stringify(verdict));
  });

  it('tells of another story of the same log with both notes, exits 3, and holds', async function () {
    skipInCluster(this, 'the database of a cluster lets no second story begin');
    other = await serverOf('b');
    for (const message of 'abcdefgh') await told(other, message);
    const exit = once(monitor, 'exit');
    [behind, other] = [other, behind];
    assert.deepEqual(await exit, [3, null]);
    // Entries of the other story that it could not know for one are no news.
    const [, received, ...more] = receiver.received;
    assert.deepEqual(more, []);
    const { type, data } = opened(received!);
    assert.equal(type, 'monitor.fork');
    assert.equal(data.rule, 'inconsistent');
    assert.equal(data.origin, ORIGIN);
    const heads = data.notes.map((note: string) =>
      openCheckpoint(native, note, { origin: ORIGIN, vkey }),
    );
    assert.equal(heads.length, 2, 'two notes, each signed by the log');
    assert.ok((await readdir(join(folder, 'state'))).includes('live-1.violation.json'));

    // Well again or not: it looks at nothing until somebody has moved the finding away, and says it again.
    [behind, other] = [other, behind];
    monitor = watching();
    const [code] = await once(monitor, 'exit');
    assert.equal(code, 3);
    const again = receiver.received.slice(2);
    assert.deepEqual(
      again.map((message) => [opened(message).type, header(message, 'id')]),
      [['monitor.fork', header(received!, 'id')]],
    );
  });
});
