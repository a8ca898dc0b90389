// A node that follows answers like the leader: with what its copy has, and with whatever its plugins keep in memory,
// although the leader wrote after it was filled.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ok } from '../../tools/plugin-test/running.ts';
import type { Answer, Running } from '../../tools/plugin-test/running.ts';
import { FOUNDRY_BODIES } from '../plugins/foundry/bodies.ts';
import { GATE_BODIES } from '../plugins/gate/asking.ts';
import { postgresSuite } from '../support/postgres.ts';
import { caughtUp, startHere } from './here.ts';

/** What a request of the suite of plugins asks with; others have an example. */
const BODIES: Readonly<Record<string, (running: Running) => Promise<unknown>>> = {
  ...GATE_BODIES,
  ...FOUNDRY_BODIES,
};

/** How often two answers are compared, half a second apart. */
const TRIES = 25;

/** Answers of the process, of the machine or of a node. */
const OF_THE_NODE = /^\/(?:metrics|health|healthz|readyz|livez|api\/v1\/(?:service|keys|events))/;

/** An answer without times: each node states when it has published a checkpoint, or looked. */
const timeless = ({ text }: Answer): string =>
  text.replace(/\b\d{13}\b|\d{4}-\d\d-\d\d[T ][\d:.]+|\b\d+ (?:ms|s|seconds?)\b/g, '…');

/** Where two texts begin to differ. */
function difference(one: string, two: string): string {
  let at = 0;
  while (at < one.length && one[at] === two[at]) at += 1;
  const around = (text: string): string =>
    JSON.stringify(text.slice(Math.max(0, at - 80), at + 80));
  return `${around(one)} at the leader, ${around(two)} at the follower`;
}

postgresSuite('a node that follows', (postgres) => {
  let folder: string;
  let leader: Running;
  let follower: Running;

  before(async function () {
    this.timeout(180_000);
    folder = await mkdtemp(join(tmpdir(), 'actlog-followers-'));
    const database = await postgres().database();
    leader = await startHere(join(folder, 'a'), database);
    follower = await startHere(join(folder, 'b'), database);
  });
  after(async () => {
    await follower.close(true);
    await leader.close(true);
    await rm(folder, { recursive: true, force: true });
  });

  /** The addresses of all answers without a parameter in their path. */
  const paths = (): string[] =>
    leader.gateway
      .routes()
      .filter(({ method, path }) => method === 'GET' && !/[:{]/.test(path))
      .map(({ path }) => path)
      .filter((path) => !OF_THE_NODE.test(path));

  /** One request to each route that writes, at one node. */
  async function writeAll(node: Running): Promise<number> {
    let written = 0;
    for (const route of leader.gateway.routes()) {
      const { method, path, example } = route;
      if (method !== 'POST' || /[:{]/.test(path) || path.endsWith('/batch')) continue;
      const { live, sandbox } = leader;
      const body = (await BODIES[path]?.({ ...node, live, sandbox })) ?? example;
      if (body === undefined || typeof body !== 'object') continue;
      const { status } = await node.post(path, body, { key: sandbox });
      assert.notEqual(Math.floor(status / 100), 5, path);
      if (status === 200) written += 1;
    }
    return written;
  }

  /**
   * Compares the answers of both nodes. The log's page lists values that each node remembers for ten seconds, and some
   * GETs append: an answer that differs is asked for again meanwhile.
   */
  async function compare(path: string, key: string): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      const one = await leader.get(path, { key });
      await caughtUp(follower, leader);
      const own = await follower.get(path, { key });
      if (own.status === one.status && timeless(own) === timeless(one)) return 'same';
      // An answer that the leader itself gives differently a second time states its own time.
      const two = await leader.get(path, { key });
      if (own.status === one.status && timeless(one) !== timeless(two)) return 'of its own time';
      if (tries === TRIES) return `${path}: ${difference(timeless(one), timeless(own))}`;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  it('answers every address like the leader, before and after the leader has written', async function () {
    this.timeout(180_000);
    const key = leader.sandbox;
    const asked = paths();
    assert.ok((await writeAll(follower)) > 10, 'routes wrote');
    await caughtUp(follower, leader);
    // Whatever the plugins keep in memory, they have now.
    for (const path of asked) await follower.get(path, { key });
    assert.ok((await writeAll(leader)) > 10, 'routes wrote');
    await caughtUp(follower, leader);
    let compared = 0;
    const different: string[] = [];
    for (const path of asked) {
      const found = await compare(path, key);
      if (found === 'same') compared += 1;
      else if (found !== 'of its own time') different.push(found);
    }
    assert.deepEqual(different, []);
    const { text } = await leader.get('/metrics', { key: leader.live });
    assert.match(text, /actlog_commit_duration_seconds_count\{kind="sandbox"\} [1-9]/);
    assert.ok(compared > asked.length / 2, `only ${String(compared)} answers were compared`);
  });

  it('has the entries of a batch when its answer ends', async () => {
    await caughtUp(follower, leader);
    const size = follower.gateway.logs.live.size();
    const bytes = Buffer.from(`${JSON.stringify({ message: 'x' })}\n`.repeat(20));
    const asked = { key: leader.live, bytes, headers: { 'Content-Type': 'application/x-ndjson' } };
    for (let sent = 1; sent <= 10; sent += 1) {
      await follower.ask('POST', '/api/v1/classify/batch', asked);
      const there = follower.gateway.logs.live.size();
      assert.ok(there >= size + 20 * sent, `${String(there)} entries after batch ${String(sent)}`);
    }
  });

  it('leaves a lookup to the leader whose window a map head must close', async () => {
    const to_ms = leader.clock.wall() + 100;
    const chain = encodeURIComponent(JSON.stringify(['session', 'A'.repeat(43)]));
    const asked = `/log/live/proof/lookup?key=${chain}&to_ms=${String(to_ms)}`;
    const { question } = ok(await follower.get(asked, { headers: { Prefer: 'wait=10' } }));
    assert.equal(question.to_ms, to_ms);
  });

  it('sends the events of what the leader publishes, and ends its streams when it takes over', async function () {
    this.timeout(180_000);
    const stream = await fetch(`${follower.url}/api/v1/events`, {
      headers: { 'X-API-Key': leader.live, Accept: 'text/event-stream' },
    });
    assert.ok(stream.body !== null);
    const message = { message: 'x' };
    const { entry_id } = ok(await leader.post('/api/v1/classify', message, { key: leader.live }));
    let text = '';
    let closing = false;
    let closed = Promise.resolve();
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      if (!text.includes(entry_id as string) || closing) continue;
      closing = true;
      closed = leader.close(true);
    }
    assert.match(text, /event: entry\nid: \d+\n/);
    await closed;
    const again = await fetch(`${follower.url}/api/v1/events`, {
      headers: { 'X-API-Key': leader.live, Accept: 'text/event-stream' },
    });
    assert.equal(again.status, 200);
    await again.body?.cancel();
    assert.equal((await follower.get('/readyz')).json.role, 'leader');
  });
});
