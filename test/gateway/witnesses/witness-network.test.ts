// A gateway with a witness policy: what it publishes, and how health, metrics and kit show it.

import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../../gateway/config.ts';
import { native, openCheckpoint, openThreads, parsePolicy } from '../../../log/index.ts';
import type { Log, Published } from '../../../log/index.ts';
import { NOTE, rowKey } from '../../../log/store/layout.ts';
import { openStore, write } from '../../../log/store/store.ts';
import { openSuccessor } from '../../../log/operate/succession.ts';
import { trustFromKit, verifyReceipt } from '../../../log/verify.ts';
import { broughtTypes } from '../../../tools/brought-types.ts';
import { seededSigner } from '../../log/note/seeded-signer.ts';
import { Clock, ok, run } from '../running.ts';
import type { Running } from '../running.ts';
import { until } from '../webhooks/receiving.ts';
import { cosignerKey, realWitness } from './answering.ts';
import { actlog } from '../../support/actlog.ts';
import type { Listening } from '../../support/listening.ts';

const NAMES = ['one', 'two', 'three'] as const;
const keyOf = (i: number): string => cosignerKey(`witness.example/${NAMES[i]!}`, 90 + i);

/**
 * The next checkpoint with this number of cosignatures. A quorum does not wait for slow witnesses, which cosign a
 * later checkpoint.
 */
async function cosignedBy(log: Log, count: number): Promise<Published> {
  for (;;) {
    const published = await log.whenPublished(log.published().size + 1);
    if (published.cosignatures === count) return published;
  }
}

describe('a gateway with witnesses', () => {
  let data = '';
  let vkeys: { live: string; sandbox: string };
  let live = '';
  let witnesses: (Listening | null)[] = [];
  let urls: string[];
  let running: Running | null = null;
  let register: Running['gateway']['register'];

  /** Starts on the same data with these lines before those of the witnesses. */
  async function start(
    lines: readonly string[],
    env: Record<string, string> = {},
  ): Promise<Running> {
    const policy = [
      ...lines,
      ...NAMES.map((name, i) => `witness ${name} ${keyOf(i)} ${urls[i]!}`),
      'group two-of-three 2 one two three',
      'quorum two-of-three',
      '',
    ].join('\n');
    const file = join(data, 'policy');
    await writeFile(file, policy);
    running = await run({
      DATA_DIR: data,
      WITNESS_POLICY: file,
      WITNESS_TIMEOUT_MS: '60000',
      ...env,
    });
    return running;
  }
  const lineOf = (kind: 'live' | 'sandbox'): string => `log ${vkeys[kind]}`;
  async function stopWitness(i: number): Promise<void> {
    await witnesses[i]?.close();
    witnesses[i] = null;
  }
  const post = (key = live): ReturnType<Running['post']> =>
    running!.post('/api/v1/classify', { message: 'hello' }, { key });

  beforeEach(async () => {
    const first = await run();
    data = first.data;
    live = first.live;
    const { logs } = first.gateway;
    ({ register } = first.gateway);
    vkeys = { live: logs.live.vkey, sandbox: logs.sandbox.vkey };
    await first.close(true);
    witnesses = await Promise.all(
      NAMES.map((name, i) => {
        return realWitness(`witness.example/${name}`, 90 + i, Object.values(vkeys));
      }),
    );
    urls = witnesses.map((witness) => witness!.url);
  });
  afterEach(async () => {
    await running?.close();
    running = null;
    for (const witness of witnesses) await witness?.close();
    await rm(data, { recursive: true, force: true });
  });

  it('shows that the clock is two hours ahead at a start, until it is corrected or confirmed', async () => {
    const hours = 2 * 3_600_000;
    const { gateway } = await start([]);
    await post();
    await cosignedBy(gateway.logs.live, 3);
    for (const way of ['set right', 'confirmed']) {
      await running!.close(true);
      const clock = new Clock();
      clock.jump(hours);
      running = await run(
        { DATA_DIR: data, WITNESS_POLICY: join(data, 'policy'), WITNESS_TIMEOUT_MS: '60000' },
        { clock },
      );
      const { status, json } = await post();
      assert.equal(status, 503);
      assert.equal(json.error.code, 'log_unavailable');
      const health = await running.get('/health');
      assert.match(health.text, /degraded.*ahead of the clocks of the witnesses/s);
      if (way === 'set right') clock.jump(-hours);
      else assert.equal((await actlog(['clock', 'confirm', '--data', data])).code, 0);
      ok(await post());
      const log = running.gateway.logs.live;
      const { issued_at_ms } = JSON.parse(log.entry(log.size() - 1) ?? '');
      const late = issued_at_ms - Date.now() > hours / 2;
      assert.equal(late, way === 'confirmed');
    }
  });

  it('publishes what they cosigned, and a kit with which a receipt is valid', async () => {
    const { gateway, get } = await start([]);
    await post();
    const { note } = await cosignedBy(gateway.logs.live, 3);
    const cosigners = NAMES.map((_, i) => keyOf(i));
    const { origin, vkey } = gateway.logs.live;
    assert.equal(openCheckpoint(native, note, { origin, vkey, cosigners }).cosignatures.length, 3);
    const kit = (await get('/export/offline-verify-kit.json')).json;
    assert.deepEqual(kit.witnesses, cosigners);
    assert.deepEqual(
      kit.logs.map(({ policy }: { policy: string }) => parsePolicy(native, policy).logs.length),
      [1, 1],
    );
    const policy = parsePolicy(native, kit.logs[0].policy);
    assert.equal(policy.logs[0]?.name, origin);
    assert.ok(policy.witnesses.every(({ url }) => url?.startsWith('http') === true));
    const [vector] = kit.vectors;
    const trust = trustFromKit(kit, origin, { suite: native });
    const { checks } = verifyReceipt(vector.receipt, trust, {
      suite: native,
      tlogProof: vector.tlog_proof,
    });
    assert.ok(
      checks.some(({ name, outcome }) => name === 'cosignatures' && outcome === 'ok'),
      JSON.stringify(checks),
    );
  });

  it('shows each of them in health and metrics', async () => {
    const { gateway, get } = await start([]);
    for (const log of Object.values(gateway.logs)) await cosignedBy(log, 3);
    const { json } = await get('/health');
    assert.equal(json.status, 'ok');
    assert.deepEqual(
      json.witnesses.map(({ log, quorum, fail_open }: never) => [log, quorum, fail_open]),
      [
        ['live', 'met', false],
        ['sandbox', 'met', false],
      ],
    );
    assert.deepEqual(
      json.witnesses[0].witnesses.map(({ name, ok }: never) => [name, ok]),
      NAMES.map((name) => [name, true]),
    );
    const ids = (await get('/status.json')).json.components.map(({ id }: { id: string }) => id);
    assert.ok(ids.includes('live_witnesses') && ids.includes('sandbox_witnesses'));
    const key = (await gateway.tenants.issue({ tenant: 'ops', kind: 'live', role: 'service' })).key;
    const { text } = await get('/metrics', { key });
    assert.match(text, /^actlog_witness_quorum\{kind="live"\} 1$/m);
    assert.match(text, /^actlog_witness_fail_open\{kind="live"\} 0$/m);
    assert.match(text, /^actlog_witness_up\{kind="sandbox",witness="three"\} 1$/m);
    assert.match(text, /^actlog_witness_cosigned_entries\{kind="live",witness="one"\} [1-9]/m);
    assert.match(text, /^actlog_witness_cosigned_seconds\{kind="live",witness="one"\} [1-9]/m);
  });

  it('publishes with two of them; with one it is degraded and publishes nothing', async () => {
    const { gateway, get } = await start([]);
    const log = gateway.logs.live;
    await log.whenPublished(log.size());
    await stopWitness(0);
    const { json } = await post();
    assert.equal((await log.whenPublished(Number(json.index) + 1)).cosignatures, 2);
    assert.equal((await get('/health')).json.status, 'ok');
    await stopWitness(1);
    const before = log.published().size;
    const late = await post();
    assert.equal(late.status, 200, 'entries are accepted nevertheless');
    await assert.rejects(log.whenPublished(Number(late.json.index) + 1, AbortSignal.timeout(300)));
    assert.equal(log.published().size, before);
    // All witnesses have been asked by then, or will be soon.
    const health = await until(async () => {
      const { json } = await get('/health');
      const oks = json.witnesses[0].witnesses.map(({ ok }: never) => ok);
      return oks.join() === 'false,false,true' ? json : null;
    });
    assert.equal(health.status, 'degraded');
    assert.ok(health.degraded.includes('live_witnesses'));
    assert.equal(
      JSON.stringify(health).includes('127.0.0.1'),
      false,
      'public answers name no hosts',
    );
  });

  it('fails open only if configured to, and reports it', async () => {
    await stopWitness(0);
    await stopWitness(1);
    const { gateway, get } = await start([], { WITNESS_FAIL_OPEN: 'on' });
    const { json } = await post();
    assert.equal((await gateway.logs.live.whenPublished(Number(json.index) + 1)).cosignatures, 1);
    const health = (await get('/health')).json;
    assert.equal(health.status, 'degraded');
    assert.equal(health.witnesses[0].fail_open, true);
    assert.equal(health.witnesses[0].quorum, 'missing');
  });

  it('asks only for the logs that the policy names', async () => {
    const { gateway, get } = await start([lineOf('live')]);
    const sandbox = gateway.logs.sandbox;
    assert.equal((await sandbox.whenPublished(sandbox.size() + 1)).cosignatures, 0);
    const { live: log } = gateway.logs;
    await cosignedBy(log, 3);
    assert.equal((await get('/health')).json.witnesses.length, 1);
    const kit = (await get('/export/offline-verify-kit.json')).json;
    assert.ok((trustFromKit(kit, log.origin).policy?.quorum ?? null) !== null);
    assert.equal(trustFromKit(kit, sandbox.origin).policy?.quorum, null);
  });

  it('refuses to start with a policy about other logs or other keys', async () => {
    const refused = (error: unknown): boolean =>
      error instanceof ConfigError && error.message.includes(lineOf('live'));
    const elsewhere = vkeys.live.replace('test.example', 'other.example');
    const { formatVkey, LOG_KEY } = await import('../../../log/note/note.ts');
    const keyed = (origin: string): string =>
      `log ${formatVkey(native, origin, LOG_KEY, seededSigner(99).publicKey)}`;
    const origin = vkeys.live.slice(0, vkeys.live.indexOf('+'));
    await assert.rejects(start([keyed('other.example')]), refused, elsewhere);
    await assert.rejects(start([lineOf('sandbox'), keyed(origin)]), refused);
    await assert.rejects(run({ DATA_DIR: data, WITNESS_POLICY: join(data, 'none') }), ConfigError);
  });

  it('has a kit with the logs that have a checkpoint while another waits for its witnesses', async () => {
    // The witnesses do not know the key of the successor, so its first checkpoint waits.
    const threads = openThreads({ inline: true });
    const types = await broughtTypes({ PLUGINS: [] });
    await openSuccessor({ data, kind: 'live', number: 1, register, types, threads });
    await threads.close();
    const waiting = join(data, 'live', '2');
    const notes = await openStore(join(waiting, 'db'));
    for await (const [key] of notes.scan({ gte: Uint8Array.of(NOTE), lt: rowKey(NOTE + 1, '') })) {
      await notes.write([write(key, null)]);
    }
    await notes.close();
    const { gateway, get } = await start([]);
    const [first, second] = gateway.served.live;
    assert.equal(second?.published().size, 0);
    const kit = ok(await get('/export/offline-verify-kit.json'));
    const origins = (kit.logs as { origin: string }[]).map(({ origin }) => origin);
    assert.deepEqual(origins, [first?.origin, gateway.logs.sandbox.origin]);
    const [vector] = kit.vectors;
    const trust = trustFromKit(kit, first!.origin, { suite: native });
    const verified = verifyReceipt(vector.receipt, trust, {
      suite: native,
      tlogProof: vector.tlog_proof,
    });
    assert.ok(
      verified.checks.some(({ name, outcome }) => name === 'signature' && outcome === 'ok'),
    );
    // The same again, without waiting for a checkpoint that is never published.
    assert.deepEqual(ok(await get('/export/offline-verify-kit.json')), kit);
    assert.equal((await get('/log/live/1/checkpoint')).status, 200);
    assert.equal((await get('/log/live/2/checkpoint')).status, 503);
    const { json } = await post();
    assert.equal(json.receipt?.index ?? json.index, second.size() - 1, 'entries are accepted');
  });

  it('has no checkpoint and no kit before the first quorum', async () => {
    const fresh = join(data, 'fresh');
    await stopWitness(0);
    await stopWitness(1);
    const { get, gateway } = await start([], { DATA_DIR: fresh });
    assert.equal(gateway.logs.live.published().size, 0);
    assert.equal((await get('/log/live/1/checkpoint')).status, 503);
    assert.equal((await get('/export/offline-verify-kit.json')).status, 503);
    assert.equal((await get('/health')).json.status, 'degraded');
    assert.equal((await get('/metrics/public')).status, 200);
  });
});
