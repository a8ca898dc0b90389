// `actlog monitor` as a process: its exit codes, what it prints and keeps, and how it stops.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { actlog, start } from '../support/actlog.ts';
import { ACT, Forge } from '../support/forge.ts';
import { forgeVkey, serveLogs } from '../support/serve-log.ts';
import type { LogServer } from '../support/serve-log.ts';

describe('actlog monitor', () => {
  let server: LogServer;
  let state: string;

  beforeEach(async () => {
    server = await serveLogs();
    state = await mkdtemp(join(tmpdir(), 'actlog-monitor-'));
  });

  afterEach(async () => {
    await server.close();
    await rm(state, { recursive: true, force: true });
  });

  const monitor = (...args: string[]) =>
    actlog(['monitor', server.url, '--state', state, '--log', 'live', ...args]);

  it('checks a service once and prints the source of the key', async () => {
    server.put(new Forge().usual());
    const { code, stdout, stderr } = await monitor('--once');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /live\/1 {2}trusting log\.example\/log\/live\/1\+.* on first use\)/);
    assert.match(stdout, /live\/1 {2}ok .* 6 entries \(6 new/);
  });

  it('prints the same as lines of JSON', async () => {
    const forge = new Forge().usual();
    server.put(forge);
    const { code, stdout } = await monitor('--once', '--json', '--vkey', forgeVkey(forge.origin));
    assert.equal(code, 0);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      events.map(({ event, log }) => [event, log]),
      [
        ['pinned', 'live/1'],
        ['checked', 'live/1'],
      ],
    );
    assert.equal(events[1].size, 6);
  });

  it('exits 3 on a violation, prints and keeps the signed objects, and does not continue', async () => {
    const forge = new Forge().usual();
    const text = forge.add('gate.decision.v1', ACT, { statement: { links: [] } });
    const { note } = server.put(forge.mapHead());
    const first = await monitor('--once');
    assert.equal(first.code, 3);
    assert.match(first.stdout, /VIOLATION of links: entry 6/);
    assert.ok(first.stdout.includes(text));
    assert.ok(first.stdout.includes(note.trimEnd()));
    const kept = JSON.parse(await readFile(join(state, 'live-1.violation.json'), 'utf8'));
    assert.equal(kept.rule, 'links');
    assert.equal(kept.entries[0].entry, text);
    server.put(new Forge().usual());
    const second = await monitor('--once');
    assert.equal(second.code, 3, 'the finding is valid');
  });

  it('exits 4 if the service does not answer', async () => {
    server.put(new Forge().usual());
    server.interfere = () => 404;
    const { code, stderr } = await monitor('--once');
    assert.equal(code, 4);
    assert.match(stderr, /no answer to check: .* HTTP 404/);
  });

  it('exits 2 for an invalid command line or key', async () => {
    const wrong = [
      ['monitor'],
      ['monitor', 'somewhere'],
      ['monitor', server.url, '--interval', '1'],
    ];
    for (const args of wrong) {
      const { code, stderr } = await actlog([...args, ...(args.length > 1 ? ['--once'] : [])]);
      assert.equal(code, 2, stderr);
      assert.ok(stderr.length > 0);
      assert.doesNotMatch(stderr, /\n {4}at /);
    }
    server.put(new Forge().usual());
    const [name = '', , key = ''] = forgeVkey('elsewhere.example/log/live/1').split('+');
    const mistyped = await monitor('--once', '--vkey', `${name}+00000000+${key}`);
    assert.equal(mistyped.code, 2, mistyped.stderr);
    assert.match(mistyped.stderr, /--vkey elsewhere.*: vkey has the key id of another name or key/);
    for (const [file, said] of [
      ['live-1.json', /live-1\.json is no cursor: move it away/],
      ['live-1.violation.json', /live-1\.violation\.json cannot be read: the monitor holds/],
    ] as const) {
      const folder = await mkdtemp(join(state, 'torn-'));
      await writeFile(join(folder, file), '{"schema": "actlog-mon');
      const torn = await actlog(['monitor', server.url, '--state', folder, '--once']);
      assert.equal(torn.code, 2, torn.stderr);
      assert.match(torn.stderr, said);
    }
  }).timeout(120_000);

  it('follows the service until a signal, and writes its cursor', async () => {
    const forge = new Forge();
    forge.ms = Date.now() - 10_000;
    server.put(forge.usual());
    const args = ['monitor', server.url, '--state', state, '--log', 'live', '--interval', '100ms'];
    const child = start([...args, '--json']);
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const seen = async (text: string): Promise<void> => {
      while (!printed.includes(text)) await once(child.stdout, 'data');
    };
    await seen('"size":6');
    forge.add('gate.decision.v1', ACT);
    server.put(forge.mapHead());
    await seen('"size":8');
    child.kill('SIGTERM');
    const [code] = await once(child, 'close');
    assert.equal(code, 0);
    const cursor = JSON.parse(await readFile(join(state, 'live-1.json'), 'utf8'));
    assert.equal(cursor.note, forge.note());
  });
});
