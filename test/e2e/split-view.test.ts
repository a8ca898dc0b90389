// Two servers with the same keys that are given different entries: each of their logs is right by itself.
// Who has seen both checkpoints proves the split, and a witness does not cosign the second view.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equal, native, openCheckpoint } from '../../log/index.ts';
import type { JsonObject, Log } from '../../log/index.ts';
import { checkConsistency } from '../../log/merkle/check.ts';
import { verifyReceipt } from '../../log/verify.ts';
import { skipInCluster } from '../cluster/suite-cluster.ts';
import { cosignerKey, realWitness } from '../gateway/witnesses/answering.ts';
import { run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import { until } from '../gateway/webhooks/receiving.ts';
import { actlog } from '../support/actlog.ts';
import { copyUnnoticed } from '../support/copy-unnoticed.ts';
import { TilesReader } from '../support/tiles-reader.ts';

type Receipt = JsonObject & { readonly index: number; readonly entry_hash: string };

describe('a split view', () => {
  let folder: string;
  let views: Running[] = [];
  let key: string;
  const origin = 'test.example/log/live/1';

  before(function () {
    skipInCluster(this, 'the database of a cluster lets no second story begin');
  });

  /** One log with a few entries, and two data folders that have it with its keys. */
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-split-'));
    const checkpoints = join(folder, 'a', 'checkpoints');
    const one = await run({ DATA_DIR: join(folder, 'a'), CHECKPOINT_DIR: checkpoints });
    key = one.live;
    await one.post('/api/v1/classify', { message: 'before' }, { key });
    await one.close(true);
    await copyUnnoticed(join(folder, 'a'), join(folder, 'b'));
  });
  afterEach(async () => {
    for (const view of views) await view.close(true);
    views = [];
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts the server of a folder; checkpoints come when they are asked for. */
  async function view(name: 'a' | 'b', env: Record<string, string> = {}): Promise<Running> {
    const started = await run({
      DATA_DIR: join(folder, name),
      CHECKPOINT_DIR: join(folder, name, 'checkpoints'),
      CHECKPOINT_INTERVAL_MS: '60000',
      ...env,
    });
    views.push(started);
    return started;
  }
  const logOf = ({ gateway }: Running): Log => gateway.logs.live;
  /** Appends what only this server is told, and publishes. */
  async function tell(server: Running, ...messages: string[]): Promise<Receipt[]> {
    const receipts: Receipt[] = [];
    for (const message of messages) {
      const { status, json } = await server.post('/api/v1/classify', { message }, { key });
      assert.equal(status, 200);
      receipts.push(json);
    }
    await logOf(server).whenPublished(logOf(server).size());
    return receipts;
  }
  const watch = (server: Running): ReturnType<typeof actlog> =>
    actlog(['monitor', server.url, '--log', 'live', '--once', '--state', join(folder, 'state')]);

  for (const [what, toA, toB, rule] of [
    ['of one size', ['x', 'y'], ['p', 'q'], 'two_roots'],
    ['where the second is longer', ['x'], ['p', 'q', 'r'], 'inconsistent'],
    ['where the second is shorter', ['x', 'y', 'z'], ['p'], 'inconsistent'],
  ] as [string, string[], string[], string][]) {
    it(`${what} is proven by a monitor that has seen both`, async () => {
      const a = await view('a');
      const b = await view('b');
      const vkey = logOf(a).vkey;
      assert.equal(logOf(b).vkey, vkey);
      const [ofA] = await tell(a, ...toA);
      const [ofB] = await tell(b, ...toB);

      // Each by itself is without fault.
      const first = await watch(a);
      assert.equal(first.code, 0, first.stdout + first.stderr);
      const alone = join(folder, 'alone');
      const other = await actlog(['monitor', b.url, '--log', 'live', '--once', '--state', alone]);
      assert.equal(other.code, 0, other.stdout + other.stderr);

      const second = await watch(b);
      assert.equal(second.code, 3, second.stdout + second.stderr);
      const found = JSON.parse(
        await readFile(join(folder, 'state', 'live-1.violation.json'), 'utf8'),
      ) as {
        rule: string;
        proof: string;
        origin: string;
        vkey: string;
        notes: string[];
        consistency?: { from: number; to: number; from_root: string; path: string[] };
      };
      assert.deepEqual(
        { rule: found.rule, proof: found.proof, origin: found.origin, vkey: found.vkey },
        { rule, proof: 'signed', origin, vkey },
      );

      // The proof stands without the monitor: two notes of one key...
      const published = [logOf(a), logOf(b)].map((log) => log.published().note);
      assert.deepEqual(new Set(found.notes), new Set(published));
      for (const note of published) {
        assert.ok(second.stdout.includes(note.trimEnd()), 'it prints both notes');
      }
      const [shorter, longer] = found.notes.map((note) => {
        return openCheckpoint(native, note, { origin, vkey });
      });
      assert.ok(shorter!.size <= longer!.size);
      assert.equal(shorter!.size === longer!.size, rule === 'two_roots');
      assert.equal(equal(shorter!.root, longer!.root), false);
      // ...where one was shorter, with the path by which the longer one has another root there...
      assert.equal(found.consistency !== undefined, rule === 'inconsistent');
      if (found.consistency !== undefined) {
        const { from, to, from_root, path } = found.consistency;
        assert.deepEqual([from, to], [shorter!.size, longer!.size]);
        const fromRoot = Buffer.from(from_root, 'base64');
        assert.equal(equal(fromRoot, shorter!.root), false);
        checkConsistency(native, {
          ...{ from, to, fromRoot, toRoot: longer!.root },
          path: path.map((node) => Buffer.from(node, 'base64')),
        });
      }
      // ...that a stranger with nothing but C2SP tiles finds to contradict each other...
      const longest = published[0] === found.notes.at(-1) ? a : b;
      const reader = new TilesReader(`${longest.url}/log/live/1`, vkey);
      const head = await reader.head();
      assert.equal(head.size, longer!.size);
      const older = { size: shorter!.size, root: Buffer.from(shorter!.root) };
      assert.equal(await reader.isConsistent(older, head), false);
      // ...and two receipts of one place, both signed.
      assert.equal(ofA!.index, ofB!.index);
      assert.notEqual(ofA!.entry_hash, ofB!.entry_hash);
      for (const [server, receipt] of [
        [a, ofA!],
        [b, ofB!],
      ] as const) {
        const trust = { origin, vkey, keys: [...logOf(server).receiptKeys()] };
        const { checks } = verifyReceipt(receipt, trust, { suite: native });
        assert.ok(checks.some(({ name, ok }) => name === 'signature' && ok));
      }

      // It holds until somebody has looked, whatever is served next.
      assert.equal((await watch(a)).code, 3);
    }).timeout(240_000);
  }

  it('does not get the cosignature of a witness that has seen the other', async () => {
    const before = await view('a');
    const vkeys = Object.values(before.gateway.logs).map(({ vkey }) => vkey);
    await before.close(true);
    views = [];
    const witness = await realWitness('witness.example/w', 77, vkeys);
    try {
      const policy = join(folder, 'policy');
      const line = `witness w ${cosignerKey('witness.example/w', 77)} ${witness.url}`;
      await writeFile(policy, `${line}\nquorum w\n`);
      const a = await view('a', { WITNESS_POLICY: policy });
      await tell(a, 'x', 'y');
      assert.equal(logOf(a).published().cosignatures, 1);
      const b = await view('b', { WITNESS_POLICY: policy });
      const { size } = logOf(b).published();
      await b.post('/api/v1/classify', { message: 'p' }, { key });
      await b.post('/api/v1/classify', { message: 'q' }, { key });
      await b.post('/api/v1/classify', { message: 'r' }, { key });
      const gaveUp = AbortSignal.timeout(1000);
      await assert.rejects(logOf(b).whenPublished(logOf(b).size(), gaveUp));
      assert.equal(logOf(b).published().size, size, 'the other view is not published');
      const problem = await until(() => {
        const { witnesses } = b.gateway.witnesses!.health(logOf(b))!;
        return witnesses[0]!.problem;
      });
      assert.match(problem, /refused the consistency proof|more than offered/);
      assert.equal((await b.get('/health')).json.status, 'degraded');
      await tell(a, 'z');
      assert.equal(logOf(a).published().cosignatures, 1, 'and the first goes on');
    } finally {
      for (const view of views) await view.close(true);
      views = [];
      await witness.close();
    }
  });
});
