// What a monitor reports in addition to violations: entries on watched chains and cosignatures, also to a webhook.

import assert from 'node:assert/strict';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { native } from '../../../log/crypto/native.ts';
import { openVerifyPool } from '../../../log/crypto/verify-pool.ts';
import { utf8 } from '../../../log/encoding/bytes.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { policyOf } from '../../../log/note/policy.ts';
import { formatVkey } from '../../../log/note/note.ts';
import { verifyReceipt } from '../../../log/verify.ts';
import { judgeCosignatures } from '../../../tools/monitor/clock-rules.ts';
import { Line } from '../../../tools/monitor/line.ts';
import { placeOf } from '../../../tools/monitor/place.ts';
import { jsonReport } from '../../../tools/monitor/report.ts';
import type { Report } from '../../../tools/monitor/report.ts';
import { watchOf, type Watched } from '../../../tools/monitor/watch.ts';
import { Told } from './monitored.ts';
import { serveStatus } from '../../../tools/status.ts';
import { MonitorMetrics } from '../../../tools/monitor/metrics.ts';
import { webhookReport } from '../../../tools/monitor/webhook.ts';
import { Webhook, type WebhookOptions } from '../../../tools/webhook.ts';
import { SURFACE, trust } from '../../support/absence-documents.ts';
import { ACT, Forge, seedKey } from '../../support/forge.ts';
import { listening } from '../../support/listening.ts';
import type { Listening } from '../../support/listening.ts';
import { forgeVkey, serveLogs } from '../../support/serve-log.ts';

describe('a watched chain', () => {
  const pool = openVerifyPool({ threads: 0 });

  it('reports each new entry once, with a receipt that verifies', async () => {
    const server = await serveLogs();
    const state = await mkdtemp(join(tmpdir(), 'actlog-watch-'));
    const told: Watched[] = [];
    const silent: Report = { ...jsonReport(), checked() {}, pinned() {} };
    const report = { ...silent, watched: (_log: string, entry: Watched) => void told.push(entry) };
    const place = await placeOf(server.url, 'live', { attempts: 1 });
    const open = () =>
      new Line('live', {
        ...{ place, state, pool, report, bars: false, signal: new AbortController().signal },
        watch: watchOf([JSON.stringify(SURFACE), '["gate.case","7"]']),
      });
    let line = open();
    try {
      const forge = new Forge().usual();
      server.put(forge);
      assert.equal(await line.look(), 'ok');
      assert.deepEqual(told, [], 'entries of the first look are not reported as new');
      const { entity: _entity, surface: _surface, ...elsewhere } = ACT;
      forge.add('gate.decision.v1', ACT);
      forge.add('gate.decision.v1', { ...elsewhere, case_id: '8' });
      forge.add('gate.decision.v1', { ...elsewhere, case_id: '7' });
      server.put(forge.mapHead());
      assert.equal(await line.look(), 'ok');
      await line.close();
      line = open();
      assert.equal(await line.look(), 'ok');
      assert.deepEqual(
        told.map(({ index, keys }) => [index, keys]),
        [
          [6, [SURFACE]],
          [8, [['gate.case', '7']]],
        ],
      );
      for (const { receipt } of told) {
        assert.equal(verifyReceipt(receipt, trust, { suite: native }).valid, true);
      }
      // An entry with an invalid signature is a finding, and is not reported as a watched entry.
      forge.add('gate.decision.v1', ACT, {
        text: (text) => text.replace(/"signature":"..../, '"signature":"AAAA'),
      });
      server.put(forge.mapHead());
      Object.assign(report, { violation() {} });
      assert.equal(await line.look(), 'violation');
      assert.equal(told.length, 2);
    } finally {
      await line.close();
      await server.close();
      await rm(state, { recursive: true, force: true });
    }
  });

  it('is refused if its key does not have the grammar of a chain key', () => {
    for (const text of ['', '{}', '[]', '["surface","acme"]', '["session","short"]', '[1]']) {
      assert.throws(() => watchOf([text]), { name: 'CommandError', exit: 2 });
    }
  });
});

describe('cosignatures of a checkpoint', () => {
  const key = seedKey(0x61);
  const map = seedKey(0x62);
  const vkeys = [
    formatVkey(native, 'w.example', 4, key.publicKey),
    formatVkey(native, 'm.example/map', 4, map.publicKey),
  ];
  const freshness = { policy: policyOf(native, 1, vkeys), max_age_ms: 60_000 };
  const forge = new Forge().usual();
  const time_s = Math.floor(forge.ms / 1000);
  const judge = (cosigners: Parameters<Forge['note']>[0], age_ms = 0, closed = false) => {
    const log = { origin: forge.origin, vkey: forgeVkey(forge.origin), closed };
    const note = forge.note(cosigners);
    return judgeCosignatures(freshness, { ...log, note }, time_s * 1000 + age_ms)?.problem ?? null;
  };

  it('are enough, too few, too old or invalid', () => {
    const one = { name: 'w.example', key, time_s };
    assert.equal(judge([one]), null);
    assert.equal(judge([one], 60_001), 'too_old');
    assert.equal(judge([one], 60_001, true), null, 'a closed log');
    assert.equal(judge([]), 'no_quorum');
    assert.equal(judge([{ name: 'm.example/map', key: map, time_s }]), 'no_quorum');
    assert.equal(
      judge([{ ...one, key: { ...key, sign: () => new Uint8Array(64) } }]),
      'bad_cosignature',
    );
  });
});

describe('a webhook', () => {
  type Got = { headers: IncomingHttpHeaders; body: string };
  const got: Got[] = [];
  let statuses: number[] = [];
  const receive: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      got.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') });
      const status = statuses.shift() ?? 204;
      if (status !== 0) response.writeHead(status, { location: '/elsewhere' }).end();
    });
  };
  let server: Listening;
  let url: URL;
  let troubles: string[];

  before(async () => {
    server = await listening(receive);
    url = new URL(`${server.url}/hook`);
  });
  after(() => server.close());
  beforeEach(() => {
    got.length = 0;
    statuses = [];
    troubles = [];
  });

  const open = (more: Partial<WebhookOptions> = {}): Webhook =>
    new Webhook({
      ...{ url, delays_ms: [0, 1, 1], onTrouble: (reason) => troubles.push(reason) },
      ...more,
    });

  it('signs id, time and body with the key of the monitor, and repeats the id at each attempt', async () => {
    statuses = [500, 302];
    const signer = seedKey(0x63);
    const webhook = open({ signer });
    webhook.send('monitor.violation', { rule: 'links' });
    await webhook.close(5000);
    assert.equal(got.length, 3);
    assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, 1);
    for (const { headers, body } of got) {
      const { type, data } = JSON.parse(body) as JsonObject;
      assert.deepEqual([type, data], ['monitor.violation', { rule: 'links' }]);
      const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
      const [version, base64 = ''] = String(headers['webhook-signature']).split(',');
      assert.equal(version, 'v1a');
      const signature = Buffer.from(base64, 'base64');
      assert.ok(native.verify(signer.publicKey, utf8(signed), signature));
    }
    assert.deepEqual(troubles, []);
  });

  it('gives up after its attempts, reports it, and continues with the next message', async () => {
    statuses = [500, 500, 500, 410];
    const webhook = open();
    for (const n of [1, 2, 3]) webhook.send('monitor.watched', { n });
    await webhook.close(5000);
    assert.equal(got.length, 5);
    assert.deepEqual(
      troubles.map((reason) => reason.replace(/^msg_[0-9a-f]{32} /, '')),
      ['is not delivered: HTTP 500', 'is not delivered: HTTP 410'],
    );
    assert.equal(got[0]?.headers['webhook-signature'], undefined);
  });

  it('ends without waiting for a receiver that does not answer', async () => {
    statuses = [0];
    const webhook = open();
    webhook.send('monitor.violation', {});
    await webhook.close(20);
    assert.equal(troubles.length, 1);
  });

  it('receives forks, violations, watched entries, and trouble that lasts', () => {
    const sent: string[] = [];
    let now = 0;
    const said: string[] = [];
    const silent: Report = {
      pinned() {},
      checked() {},
      trouble: (_log, reason) => said.push(reason),
      violation() {},
      watched() {},
      cosignatures() {},
      note() {},
    };
    const report = webhookReport(
      silent,
      { send: (type) => sent.push(type) },
      { now: () => now, lasting_ms: 10 },
    );
    const look = { size: 1, entries: 0, seconds: 0, stale: false };
    for (const [at, event] of [
      [0, 'trouble'],
      [9, 'ok'],
      [10, 'trouble'],
      [19, 'trouble'],
      [20, 'trouble'],
      [30, 'trouble'],
      [31, 'ok'],
    ] as const) {
      now = at;
      if (event === 'ok') report.checked('live/1', 'o', look);
      else report.trouble('live/1', event);
      assert.deepEqual(sent, at < 20 ? [] : ['monitor.trouble']);
    }
    assert.equal(said.length, 5);
    report.violation('live/1', { rule: 'two_roots' }, '');
    report.violation('live/1', { rule: 'links' }, '');
    report.cosignatures('live/1', { problem: 'no_quorum', detail: '' });
    report.watched('live/1', { keys: [], index: 1, entry_id: '', type: '', receipt: {} });
    assert.deepEqual(
      sent.slice(1).map((type) => type.slice('monitor.'.length)),
      ['fork', 'violation', 'cosignatures', 'watched'],
    );
  });
});

describe('the metrics of a monitor', () => {
  it('show what was checked and found, and its health', async () => {
    let now = 0;
    const told = new Told();
    const metrics = new MonitorMetrics(10_000, () => now);
    const report = metrics.report(told);
    assert.equal(metrics.health().ok, true, 'the monitor has just started');
    report.checked('live/1', 'o', { size: 9, entries: 4, seconds: 0, stale: false });
    report.checked('live/1', 'o', { size: 9, entries: 0, seconds: 0, stale: false });
    report.trouble('live/1', 'no answer');
    report.cosignatures('live/1', { problem: 'no_quorum', detail: '' });
    const text = await metrics.registry.metrics();
    for (const line of [
      'actlog_monitor_size{log="live/1"} 9',
      'actlog_monitor_entries_total{log="live/1"} 4',
      'actlog_monitor_troubles_total{log="live/1"} 1',
      'actlog_monitor_unwitnessed{log="live/1"} 1',
      'actlog_monitor_checked_timestamp_seconds{log="live/1"} 0',
    ]) {
      assert.ok(text.split('\n').includes(line), line);
    }
    assert.equal(metrics.health().ok, true);
    now = 600_001;
    assert.equal(metrics.health().ok, false, 'nothing was checked for ten minutes');
    assert.deepEqual(metrics.health()['reasons'], ['live/1: no answer']);
    report.checked('live/1', 'o', { size: 9, entries: 0, seconds: 0, stale: false });
    assert.equal(metrics.health().ok, true);
    report.violation('live/1', { rule: 'links' }, '');
    assert.equal(metrics.health().ok, false);
    assert.equal(told.looks.length, 3, 'the report contains it too');
    const status = await serveStatus('127.0.0.1:0', metrics);
    try {
      const health = await fetch(`http://127.0.0.1:${String(status.port)}/health`);
      assert.equal(health.status, 503);
      const scraped = await fetch(`http://127.0.0.1:${String(status.port)}/metrics`);
      assert.match(await scraped.text(), /^actlog_monitor_violations_total\{.*\} 1$/m);
    } finally {
      await status.close();
    }
  });
});
