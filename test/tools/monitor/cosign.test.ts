// A monitor that cosigns checkpoints: only those that it has replayed, requested over HTTP as a log requests them.

import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { native } from '../../../log/crypto/native.ts';
import { openVerifyPool } from '../../../log/crypto/verify-pool.ts';
import { formatAddCheckpoint, openCheckpoint } from '../../../log/note/checkpoint.ts';
import { openCosigner, type Cosigner } from '../../../tools/monitor/cosign.ts';
import { Line } from '../../../tools/monitor/line.ts';
import { placeOf } from '../../../tools/monitor/place.ts';
import { jsonReport } from '../../../tools/monitor/report.ts';
import { Verified } from '../../../tools/monitor/verified.ts';
import { ACT, Forge } from '../../support/forge.ts';
import { forgeVkey, serveLogs } from '../../support/serve-log.ts';
import type { LogServer } from '../../support/serve-log.ts';

describe('a monitor that cosigns', () => {
  const pool = openVerifyPool({ threads: 0 });
  const report = { ...jsonReport(), checked() {}, pinned() {}, violation() {}, trouble() {} };
  let server: LogServer;
  let state: string;
  let verified: Verified;
  let cosigner: Cosigner;
  let line: Line;
  let others: string[];
  let rings: () => void;

  beforeEach(async () => {
    server = await serveLogs();
    state = await mkdtemp(join(tmpdir(), 'actlog-cosign-'));
    others = [];
    rings = () => {};
    await open();
  });
  afterEach(async () => {
    await close();
    await server.close();
    await rm(state, { recursive: true, force: true });
  });

  async function open(wait_ms = 0): Promise<void> {
    verified = new Verified(() => rings());
    cosigner = await openCosigner({
      ...{ name: 'monitor.example', serve: '127.0.0.1:0', state, verified, wait_ms },
      onAnotherRoot: (_head, note) => others.push(note),
    });
    line = new Line('live', {
      ...{ place: await placeOf(server.url, 'live', { attempts: 1 }), state, pool, report },
      ...{ bars: false, signal: new AbortController().signal, verified },
      onLog: (vkey) => cosigner.know(vkey),
    });
  }
  async function close(): Promise<void> {
    await line.close();
    await cosigner.close();
  }
  async function again(wait_ms?: number): Promise<void> {
    await close();
    await open(wait_ms);
  }

  /** The answer to a log that requests a cosignature for a note, without earlier ones. */
  async function ask(note: string): Promise<{ status: number; body: string }> {
    const url = cosigner.line.split(' ')[3] ?? '';
    const body = formatAddCheckpoint({ old: 0, path: [], note });
    const answer = await fetch(`${url}/add-checkpoint`, { method: 'POST', body });
    return { status: answer.status, body: await answer.text() };
  }
  const cosignersOf = (forge: Forge, note: string): unknown[] => {
    const [, , vkey = ''] = cosigner.line.split(' ');
    const keys = { origin: forge.origin, vkey: forgeVkey(forge.origin), cosigners: [vkey] };
    return openCheckpoint(native, note, keys).cosignatures.map(({ name, map }) => [name, map]);
  };

  it('signs what it has checked, with a key whose name ends in /map', async () => {
    const forge = new Forge().usual();
    server.put(forge);
    assert.equal((await ask(forge.note())).status, 404, 'the monitor does not follow this log yet');
    assert.equal(await line.look(), 'ok');
    const { status, body } = await ask(forge.note());
    assert.equal(status, 200);
    assert.deepEqual(cosignersOf(forge, forge.note() + body), [['monitor.example/map', true]]);
    assert.equal((await stat(join(state, 'cosigner.pem'))).mode & 0o777, 0o600);
    const line_ = cosigner.line.split(' ').slice(0, 3);
    await again();
    assert.deepEqual(cosigner.line.split(' ').slice(0, 3), line_, 'the same key again');
  });

  it('signs no checkpoint that it has not replayed: 503', async () => {
    const forge = new Forge().usual();
    server.put(forge);
    await line.look();
    forge.add('gate.decision.v1', ACT);
    forge.mapHead();
    assert.equal((await ask(forge.note())).status, 503);
    server.put(forge);
    await line.look();
    assert.equal((await ask(forge.note())).status, 200);
  });

  it('starts a look when it is asked, and answers after that look', async () => {
    await again(20_000);
    const forge = new Forge().usual();
    server.put(forge);
    await line.look();
    forge.mapHead();
    server.put(forge);
    let looked: Promise<unknown> | null = null;
    rings = () => (looked ??= line.look());
    assert.equal((await ask(forge.note())).status, 200);
    assert.notEqual(looked, null);
  });

  it('signs a size between two looks, which it has replayed too', async () => {
    const forge = new Forge().usual();
    const between = forge.note();
    forge.mapHead();
    server.put(forge);
    await line.look();
    assert.equal((await ask(between)).status, 200);
  });

  it('continues after a restart from the stored replay', async () => {
    const forge = new Forge().usual();
    server.put(forge);
    await line.look();
    await again();
    await line.look();
    assert.equal((await ask(forge.note())).status, 200);
  });

  it('signs nothing of a log that breaks a rule', async () => {
    const forge = new Forge().usual();
    forge.add('gate.decision.v1', ACT);
    forge.mapHead({ statement: { map_root: '0'.repeat(64) } });
    server.put(forge);
    assert.equal(await line.look(), 'violation');
    assert.equal((await ask(forge.note())).status, 503);
    await again();
    assert.equal(await line.look(), 'violation', 'the finding is valid');
    assert.equal((await ask(forge.note())).status, 404);
  });

  it('refuses another root of a size, and reports it', async () => {
    const forge = new Forge().usual();
    server.put(forge);
    await line.look();
    const other = new Forge().open().tenant().claim();
    other.manifest().manifest({ valid_from_ms: other.ms }).mapHead();
    assert.equal(other.size, forge.size);
    assert.equal((await ask(other.note())).status, 422);
    assert.deepEqual(others, [other.note()]);
    assert.equal((await ask(forge.note())).status, 200);
  });
});
