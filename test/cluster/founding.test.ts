// How copies begin: a cluster that is founded from the data of a service of one process, and a node whose copy is older
// than the rounds that the database still has.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyPlugin } from '../../plugins/contract/index.ts';
import { run as runAlone } from '../../tools/plugin-test/running.ts';
import type { Running } from '../../tools/plugin-test/running.ts';
import { actlog } from '../support/actlog.ts';
import type { Ran } from '../support/actlog.ts';
import { postgresSuite } from '../support/postgres.ts';
import { caughtUp, startHere } from './here.ts';
import { nodeSettings } from './suite-cluster.ts';

postgresSuite('the copies of a cluster', function (postgres) {
  let folder: string;
  let database: string;
  const running = new Set<Running>();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-founding-'));
    database = await postgres().database();
  });
  afterEach(async () => {
    for (const node of running) await node.close(true);
    running.clear();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(name: string, env: Record<string, string> = {}): Promise<Running> {
    const data = join(folder, name);
    const node = await startHere(data, database, { CHECKPOINT_DIR: `${data}-register`, ...env });
    running.add(node);
    return node;
  }
  async function stop(node: Running): Promise<void> {
    running.delete(node);
    await node.close(true);
  }
  const classify = async (node: Running, message: string, key: string): Promise<string> => {
    const headers = { 'Idempotency-Key': `founding-${message.replaceAll(' ', '-')}` };
    const { status, text } = await node.post('/api/v1/classify', { message }, { key, headers });
    assert.equal(status, 200, text);
    return text;
  };
  const idOf = (receipt: string): string => (JSON.parse(receipt) as { entry_id: string }).entry_id;
  const firstRound = async (): Promise<number> => {
    const sql = "SELECT coalesce(min(seq), 0) FROM actlog_round WHERE stream = 'live-1'";
    return Number(await postgres().query(database, sql));
  };

  it('begin with the data of a service of one process, and nothing of it is left beside them', async function () {
    this.timeout(180_000);
    const data = join(folder, 'a');
    const CHECKPOINT_DIR = join(folder, 'a-register');
    const alone = await runAlone({ DATA_DIR: data, CHECKPOINT_DIR });
    running.add(alone);
    const { live: key } = alone;
    const before = await classify(alone, 'before', key);
    const disclosed = `/r/${idOf(before)}`;
    const opened = await alone.get(disclosed, { key });
    assert.ok(opened.json.disclosures !== undefined, opened.text);
    const keyIds = async (node: Running): Promise<string[]> => {
      const { data } = (await node.get('/api/v1/keys', { key })).json as {
        data: { key_id: string }[];
      };
      return data.map(({ key_id }) => key_id);
    };
    const keys = await keyIds(alone);
    assert.ok(keys.length > 0);
    await stop(alone);

    const leader = await start('a');
    for (const name of ['gateway', 'private']) assert.ok(!existsSync(join(data, name)), name);
    const follower = await start('b');
    await caughtUp(follower, leader);
    for (const node of [leader, follower]) {
      const { json } = await node.get(disclosed, { key });
      assert.deepEqual(json.disclosures, opened.json.disclosures);
      assert.equal(await classify(node, 'before', key), before, 'a repeat is answered as before');
      assert.deepEqual(await keyIds(node), keys);
    }
    const after = await classify(follower, 'after', key);
    for (const node of [leader, follower]) {
      assert.equal((await node.get(`/r/${idOf(after)}`)).status, 200);
    }
    await stop(follower);
    await stop(leader);
    await assert.rejects(runAlone({ DATA_DIR: data, CHECKPOINT_DIR }), {
      code: 'data_not_adopted',
    });
    await checkStopped(data);
  });

  /** Commands on the folder of a node that does not run. */
  async function checkStopped(data: string): Promise<void> {
    const inFolder = (command: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> =>
      actlog([command, '--data', data], { env });
    const whole = await inFolder('fsck', await nodeSettings(data, database));
    assert.equal(whole.code, 0, whole.stdout);
    assert.doesNotMatch(whole.stdout, /register|signatures|lacks/);
    assert.match(whole.stdout, /gateway-copy {2}[1-9]\d* rows {2}clean/);
    const alone = await inFolder('fsck');
    assert.equal(alone.code, 0, alone.stdout);
    assert.match(alone.stdout, /not checked: the checkpoint register: .* set DATABASE_URL/);
    const refused = await inFolder('reindex');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /is that of a node/);
  }

  it('are not served with a plugin that violates the contract', async () => {
    const wrong = { contract: 2, name: 'Wrong' } as unknown as AnyPlugin;
    const started = startHere(join(folder, 'a'), database, {}, { plugins: [wrong] });
    await assert.rejects(started, { name: 'PluginError' });
  });

  it('are filled again when the rounds that follow them were trimmed', async function () {
    this.timeout(120_000);
    const settings = { CLUSTER_SNAPSHOT_BYTES: '65536' };
    const leader = await start('a', settings);
    const { live: key } = leader;
    const early = await classify(leader, 'early', key);
    const follower = await start('b', settings);
    await caughtUp(follower, leader);
    const behind = follower.gateway.cluster?.applied()['live-1'] ?? 0;
    await stop(follower);
    const lines = Array.from({ length: 100 }, (_, n) => JSON.stringify({ message: String(n) }));
    const batch = {
      ...{ key, body: lines.join('\n') },
      headers: { 'Content-Type': 'application/x-ndjson' },
    };
    while ((await firstRound()) <= behind + 1) {
      const { status } = await leader.ask('POST', '/api/v1/classify/batch', batch);
      assert.equal(status, 200);
    }
    const late = await classify(leader, 'late', key);
    const again = await start('b', settings);
    await caughtUp(again, leader);
    for (const receipt of [early, late]) {
      assert.equal((await again.get(`/r/${idOf(receipt)}`)).status, 200);
      assert.equal(await classify(again, receipt === early ? 'early' : 'late', key), receipt);
    }
    const sql = "SELECT count(DISTINCT id) FROM actlog_snapshot WHERE stream = 'live-1'";
    assert.equal(Number(await postgres().query(database, sql)), 2, 'two snapshots are kept');
  });
});
