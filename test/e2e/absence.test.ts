// The story of absence, told to a server over HTTP and checked where there is none: publish a manifest, beat, act,
// ask before, between and after, and hand the documents to the command line in a folder of their own.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { actlog, fsck, startProcess } from './process.ts';
import type { ServerProcess } from './process.ts';
import type { Body } from '../support/body.ts';

const ENTITY = 'did:example:carrier';

describe('absence, end to end', function () {
  this.timeout(240_000);

  let folder: string;
  let server: ServerProcess;
  const questions = new Map<string, { key: string[]; from_ms: number; to_ms: number }>();

  const post = async (path: string, body: object, status = 200): Promise<Body> => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: {
        'X-API-Key': server.key,
        'Content-Type': 'application/json',
        Prefer: 'wait=10',
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    assert.equal(response.status, status, text);
    return JSON.parse(text);
  };
  const act = async (): Promise<number> => {
    const message = 'Schedule the interview for Monday';
    const receipt = await post('/api/v1/classify', { message, surface: 'policy_bind' });
    assert.equal(receipt.entity, ENTITY, 'the only entity of the tenant');
    assert.equal(receipt.surface_declared, true);
    return receipt.issued_at_ms as number;
  };
  const beat = async (acts_total: number): Promise<void> => {
    await post('/api/v1/astl/heartbeat', { surface: 'policy_bind', acts_total });
  };
  /** Asks, and puts the document into the folder under this name. */
  const ask = async (name: string, surface: string, from_ms: number, to_ms: number) => {
    const body = { entity: ENTITY, surface, from_ms, to_ms };
    const { witness } = await post('/api/v1/absence/witness', body);
    questions.set(name, { key: ['surface', ENTITY, surface], from_ms, to_ms });
    await writeFile(join(folder, `${name}.json`), JSON.stringify(witness));
    return witness;
  };
  /** The clock of the log is the one of this machine; a later moment is a few milliseconds away. */
  const moment = async (): Promise<number> => {
    await sleep(5);
    return Date.now();
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-absence-'));
    const data = await mkdtemp(join(tmpdir(), 'actlog-e2e-'));
    server = await startProcess(data);
    try {
      await post('/api/v1/astl/publish', {
        ...{ entity: ENTITY, preset: 'insurance' },
        ...{ heartbeat_interval_ms: 30_000, min_detectable_gap_ms: 60_000 },
      });
      const published = await moment();
      await beat(0);
      const first = await act();
      const between = await moment();
      const gap = await moment();
      const second = await act();
      const after = await moment();
      await beat(2);
      const end = await moment();
      await ask('before', 'policy_bind', published, first - 1);
      await ask('between', 'policy_bind', between, gap);
      await ask('over', 'policy_bind', first, second);
      await ask('after', 'policy_bind', after, end);
      await ask('silent', 'premium_commit', published, end);
      await ask('too-early', 'policy_bind', 0, published);
      const kit = await fetch(`${server.url}/export/offline-verify-kit.json`);
      await writeFile(join(folder, 'kit.json'), await kit.text());
      const report = { entity: ENTITY, surface: 'policy_bind', from_ms: published, to_ms: end };
      const { report: found } = await post('/api/v1/absence/spoliation-report', report);
      assert.equal(found.finding, 'NONE');
      assert.deepEqual([found.acts_counted, found.acts_logged], [2, 2]);
    } finally {
      assert.equal(await server.stop(), 0);
      const { code, output } = await fsck(data);
      assert.equal(code, 0, output);
      await rm(data, { recursive: true, force: true });
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const verify = (name: string, change: object = {}) => {
    const asked = { ...questions.get(name)!, ...change };
    return actlog(
      folder,
      ...['verify', `${name}.json`, '--kit', 'kit.json', '--key', JSON.stringify(asked.key)],
      ...['--from', String(asked.from_ms), '--to', String(asked.to_ms)],
    );
  };

  const told: readonly (readonly [string, RegExp])[] = [
    ['before', /VALID: ABSENT: nothing was logged for surface policy_bind .* predecessor, or none/],
    [
      'between',
      /VALID: ABSENT: .* declared the surface all along; the heartbeats that were promised, one in \d+ ms, cover/,
    ],
    [
      'over',
      /VALID: PRESENT: 2 entries[^]*( {2}ok +entry +\d+, logged \S+Z: classify\.result\.v1 [0-9a-f-]{36}\n){2}/,
    ],
    ['after', /VALID: ABSENT: .* its last entry is before the window/],
    [
      'silent',
      /VALID: UNDERSAMPLED: .* no entry of it at all.* is not_established \(observation completeness\)/,
    ],
    ['too-early', /VALID: UNDECLARED: .* does not show that a manifest declared the surface/],
  ];
  for (const [name, words] of told) {
    it(`tells the verdict and the reason of "${name}" without a server`, async () => {
      const { code, output } = await verify(name);
      assert.match(output, words);
      assert.equal(code, 0);
    });
  }

  it('does not take a document for an answer to another question', async () => {
    const { code, output } = await verify('between', { from_ms: 0 });
    assert.match(output, /does not answer this question/);
    assert.equal(code, 2);
  });
});
