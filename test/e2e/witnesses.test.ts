// Three witnesses as processes of their own, and a server that publishes with two of them, whichever.

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { native, openCheckpoint } from '../../log/index.ts';
import { start } from '../support/actlog.ts';
import { freePort } from '../support/free-port.ts';
import { listening } from '../support/listening.ts';
import type { Listening } from '../support/listening.ts';

/** A process with what its first lines said. */
interface Started {
  readonly child: ChildProcess;
  readonly found: readonly RegExpExecArray[];
}

/** Starts a command and reads its output until each pattern has been there. */
async function startUntil(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ...patterns: readonly RegExp[]
): Promise<Started> {
  const child = start(args, { env });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const found: RegExpExecArray[] = [];
  for await (const line of createInterface(child.stdout)) {
    const next = patterns[found.length]?.exec(line);
    if (next) found.push(next);
    if (found.length < patterns.length) continue;
    child.stdout.resume();
    return { child, found };
  }
  throw new Error(`actlog ${args.join(' ')} ended: ${stderr}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/** A way to a witness that takes its time. */
function slowWay(to: string, ms: number): Promise<Listening> {
  return listening((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void (async () => {
        await sleep(ms);
        const answer = await fetch(to + (request.url ?? ''), {
          method: 'POST',
          body: Buffer.concat(chunks),
        });
        const type = answer.headers.get('content-type') ?? '';
        response.writeHead(answer.status, { 'content-type': type }).end(await answer.text());
      })().catch(() => response.destroy());
    });
  });
}

describe('three witnesses and a server', () => {
  let folder: string;
  const children = new Set<ChildProcess>();
  let closeWay = async (): Promise<void> => {};

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-witnessed-'));
  });
  after(async () => {
    for (const child of children) {
      child.kill('SIGCONT');
      await end(child, 'SIGKILL');
    }
    await closeWay();
    await rm(folder, { recursive: true, force: true });
  });

  const data = (): string => join(folder, 'data');
  const serve = async (env: Record<string, string> = {}) => {
    const { child, found } = await startUntil(
      ['serve', '--data', data()],
      { PORT: '0', LOG_ORIGIN: 'log.example', CHECKPOINT_INTERVAL_MS: '100', ...env },
      ...(Object.keys(env).length === 0 ? [/^live key: (\S+)$/] : []),
      /^log (\S+\/log\/live\/1\+\S+) \S+$/,
      /^actlog serves .* port (\d+)$/,
    );
    children.add(child);
    const [port = '', vkey = '', key = ''] = found.map((match) => match[1] ?? '').reverse();
    return { child, url: `http://127.0.0.1:${port}`, vkey, key };
  };
  /** Starts the witness of a number; the second time on the port that it had. */
  const witness = async (n: number, vkey: string, port = '0') => {
    const { child, found } = await startUntil(
      ['witness', '--name', `witness.example/${String(n)}`, '--log', vkey].concat([
        '--data',
        join(folder, `witness-${String(n)}`),
        '--port',
        port,
      ]),
      {},
      /^witness (\S+) (\S+) (\S+)$/,
    );
    children.add(child);
    const [[, name = '', key = '', url = ''] = []] = found;
    return { child, name, key, url };
  };

  it('goes on with one killed, one slow and one that answers 409; the third catches up', async () => {
    const first = await serve();
    const { vkey, key } = first;
    const origin = 'log.example/log/live/1';
    const note = await (await fetch(`${first.url}/log/live/1/checkpoint`)).text();
    await end(first.child, 'SIGTERM');

    let one = await witness(1, vkey, String(await freePort()));
    const two = await witness(2, vkey);
    const three = await witness(3, vkey);
    // Somebody else has shown it a checkpoint: the server will not know, and be told by 409.
    const shown = await fetch(`${three.url}/add-checkpoint`, {
      method: 'POST',
      body: `old 0\n\n${note}`,
    });
    assert.equal(shown.status, 200);
    const way = await slowWay(two.url, 100);
    closeWay = way.close;
    await end(one.child, 'SIGKILL');

    const policy = join(folder, 'policy');
    await writeFile(
      policy,
      [
        `log ${vkey}`,
        `witness one ${one.key} ${one.url}`,
        `witness two ${two.key} ${way.url}`,
        `witness three ${three.key} ${three.url}`,
        'group q 2 one two three',
        'quorum q\n',
      ].join('\n'),
    );
    const server = await serve({ WITNESS_POLICY: policy, WITNESS_TIMEOUT_MS: '10000' });
    assert.equal(server.vkey, vkey);
    const cosigners = [one.key, two.key, three.key];

    /** Appends and waits until it is published; who cosigned, in order of names. */
    const publish = async (): Promise<{ size: number; by: string[] }> => {
      const answer = await fetch(`${server.url}/api/v1/classify`, {
        method: 'POST',
        headers: {
          'X-API-Key': key,
          'Content-Type': 'application/json',
          Prefer: 'wait=30',
        },
        body: JSON.stringify({ message: 'hello' }),
      });
      assert.equal(answer.status, 200);
      const { log } = (await answer.json()) as { log: { checkpoint?: string } };
      assert.ok(log.checkpoint !== undefined, 'published in time');
      const opened = openCheckpoint(native, log.checkpoint, { origin, vkey, cosigners });
      return { size: opened.size, by: opened.cosignatures.map(({ name }) => name).sort() };
    };
    /** Publishes until this witness is among those who cosigned. */
    const publishUntil = async (name: string): Promise<number> => {
      for (;;) {
        const { size, by } = await publish();
        assert.ok(by.length >= 2);
        if (by.includes(name)) return size;
      }
    };
    /** The size that a witness shows monitors. */
    const sizeAt = async ({ url }: { readonly url: string }): Promise<number> => {
      const hash = createHash('sha256').update(origin).digest('hex');
      const text = await (await fetch(`${url}/${hash}/checkpoint`)).text();
      return openCheckpoint(native, text, { origin, vkey, cosigners }).size;
    };

    let last = 0;
    for (let i = 0; i < 3; i += 1) {
      const { size, by } = await publish();
      assert.ok(size > last);
      last = size;
      assert.deepEqual(by, [two.name, three.name]);
    }
    const health = await (await fetch(`${server.url}/health`)).json();
    assert.equal(health.status, 'ok', 'two of three are enough');
    assert.deepEqual(
      health.witnesses[0].witnesses.map(({ ok }: { ok: boolean }) => ok),
      [false, true, true],
    );

    // The killed one comes back with what it remembers, and catches up.
    one = await witness(1, vkey, new URL(one.url).port);
    assert.equal(one.key, cosigners[0], 'the same key');
    const caughtUp = await publishUntil(one.name);
    assert.ok((await sizeAt(one)) >= caughtUp);

    // The slow one stops altogether.
    two.child.kill('SIGSTOP');
    for (let i = 0; i < 3; i += 1) {
      assert.deepEqual((await publish()).by, [one.name, three.name]);
    }
    const behind = await (async () => {
      two.child.kill('SIGCONT');
      return sizeAt(two);
    })();
    assert.ok(behind <= (await sizeAt(one)));
    // With the third one gone it is needed, and there.
    await end(three.child, 'SIGKILL');
    const { size, by } = await publish();
    assert.deepEqual(by, [one.name, two.name]);
    assert.equal(await sizeAt(two), size);

    // Alone, nobody is enough: entries are taken, and published when another is back.
    await end(one.child, 'SIGTERM');
    const waiting = publish();
    one = await witness(1, vkey, new URL(one.url).port);
    assert.deepEqual((await waiting).by, [one.name, two.name]);
    await end(server.child, 'SIGTERM');
  }).timeout(240_000);
});
