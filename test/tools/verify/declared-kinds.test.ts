// A document about a chain of a kind that a plugin declares: the kit of the log names the kind. gateway/API.md §2.5.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kitChange, trustFromKit } from '../../../log/verify.ts';
import { actlog } from '../../support/actlog.ts';
import type { Body } from '../../support/body.ts';
import { ok, run } from '../../gateway/running.ts';

const DAY_MS = 86_400_000;

describe('a document on a declared chain kind', function () {
  this.timeout(60_000);
  let folder: string;
  let kit: Body;
  let document: string;
  let origin: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-kinds-'));
    const running = await run();
    try {
      kit = ok(await running.get('/export/offline-verify-kit.json'));
      origin = running.gateway.logs.live.origin;
      const to_ms = running.clock.wall();
      running.clock.pass(DAY_MS);
      const headers = { Prefer: 'wait=10' };
      await running.post('/api/v1/classify', { message: 'hello' }, { key: running.live, headers });
      const key = JSON.stringify(['clearing.cycle', 'weekly']);
      const question = new URLSearchParams({ key, from_ms: '0', to_ms: String(to_ms) });
      const answer = await running.get(`/log/live/proof/lookup?${question.toString()}`);
      assert.equal(ok(answer).verdict, 'ABSENT');
      document = await keep('document.json', answer.text);
    } finally {
      await running.close();
    }
  });
  after(() => rm(folder, { recursive: true }));

  async function keep(name: string, text: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  }
  const verify = async (shown: Body, ...options: string[]) => {
    const path = await keep('kit.json', JSON.stringify(shown));
    return actlog(['verify', document, '--kit', path, '--as-asked', ...options]);
  };
  /** The kit with other chain kinds of the live log. */
  const withKinds = (kinds: unknown): Body => {
    const copy = structuredClone(kit);
    const log = copy.logs.find((one: Body) => one.origin === origin);
    if (kinds === undefined) delete log.kinds;
    else log.kinds = kinds;
    return copy;
  };

  it('is checked with the kit alone', async () => {
    assert.equal(trustFromKit(kit, origin).kinds?.get('clearing.cycle'), 1);
    const { code, stdout } = await verify(kit);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /VALID: ABSENT/);
  });

  it('cannot be decided with a kit that lacks the kind, unless the caller names it', async () => {
    for (const kinds of [undefined, {}, { 'clearing.other': 1 }]) {
      const { code, stdout, stderr } = await verify(withKinds(kinds));
      assert.equal(code, 2, stdout);
      assert.match(stdout + stderr, /give --chain clearing\.cycle=1 if it has 1 members/);
      assert.equal((await verify(withKinds(kinds), '--chain', 'clearing.cycle=1')).code, 0);
    }
  });

  it('refuses a kit with malformed kinds', () => {
    for (const kinds of [[], 'x', { session: 1 }, { 'a.b': 0 }, { 'a.b': '1' }, { 'a.b': 1.5 }]) {
      assert.throws(() => trustFromKit(withKinds(kinds), origin), /chain kind/);
    }
  });

  it('reports a kit that changes or drops a kind as another kit', () => {
    assert.equal(kitChange(withKinds(undefined), kit), null, 'a newer kit may add kinds');
    assert.match(kitChange(kit, withKinds({})) ?? '', /it changes the chain kind/);
  });
});
