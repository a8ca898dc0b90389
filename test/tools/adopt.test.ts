// `actlog adopt`: a copied or restored data folder is accepted if a mirror or witnesses confirm its logs, and refused if
// the register, a mirror or a witness has entries that it lacks.

import assert from 'node:assert/strict';
import { cp, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refusalOf } from '../../log/store/data-folder.ts';
import { cosignerKey, realWitness } from '../gateway/witnesses/answering.ts';
import { run } from '../gateway/running.ts';
import { actlog, type Ran } from '../support/actlog.ts';
import { openTestLog } from '../support/open-test-log.ts';
import type { TestLog } from '../support/open-test-log.ts';
import { writeMirror } from '../support/write-mirror.ts';

const TENANTS = ['dGVuYW50LWV4YW1wbGUtMQ', 'dGVuYW50LWV4YW1wbGUtMg', 'dGVuYW50LWV4YW1wbGUtMw'];

describe('actlog adopt', function () {
  this.timeout(240_000);
  let folder: string;
  let data: string;
  let copy: string;
  let checkpoints: string;
  let mirror: string;
  let vkey: string;

  const opening = (at = data): Promise<TestLog> =>
    openTestLog({ data: at, start_ms: Date.now() - 60_000, more: { checkpoints } });
  /** Appends an entry and publishes; returns the size. */
  async function write(tenant: string, at = data): Promise<number> {
    const test = await opening(at);
    try {
      ({ vkey } = test.log);
      await test.log.registerTenant(tenant, '0'.repeat(64));
      await test.publish();
      return await writeMirror(test.log, join(mirror, 'log', 'live', '1'));
    } finally {
      await test.stop();
    }
  }
  const adopt = (at: string, args: string[] = [], env: Record<string, string> = {}): Promise<Ran> =>
    actlog(['adopt', '--data', at, ...args], { env: { CHECKPOINT_DIR: checkpoints, ...env } });
  function said({ code, stdout, stderr }: Ran, exit: number, text: RegExp): void {
    assert.equal(code, exit, stdout + stderr);
    assert.match(stdout + stderr, text);
    assert.doesNotMatch(stderr, /\n {4}at /);
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-adopt-'));
    [data, copy, mirror] = [join(folder, 'data'), join(folder, 'copy'), join(folder, 'mirror')];
    checkpoints = join(folder, 'register');
    await write(TENANTS[0]!);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('asks for the risk to be accepted if no other party confirms the logs, and moves the register', async () => {
    await cp(data, copy, { recursive: true });
    await assert.rejects(opening(copy), { code: 'data_not_adopted' });
    said(await adopt(copy), 1, /is a copy.*compared with nothing.*--accept-risk/s);
    await assert.rejects(opening(copy), { code: 'data_not_adopted' });
    said(await adopt(copy, ['--accept-risk']), 0, /belongs to .*copy now/);
    await write(TENANTS[1]!, copy);
    await assert.rejects(opening(data), { code: 'data_not_adopted' });
  });

  it('refuses an older copy, whatever risk is accepted, and catches it up from a mirror', async () => {
    await cp(data, copy, { recursive: true });
    const size = await write(TENANTS[1]!);
    said(
      await adopt(copy, ['--accept-risk']),
      1,
      /has \d+ entries, but .* has recorded \d+: name a mirror/,
    );
    said(
      await adopt(copy, ['--from', mirror]),
      0,
      new RegExp(`has ${String(size)} entries, \\d+ of them from the mirror: agrees with mirror`),
    );
    assert.ok((await write(TENANTS[2]!, copy)) > size);
  });

  it('takes the contents of a lost register from the mirror', async () => {
    await cp(data, copy, { recursive: true });
    const size = await write(TENANTS[1]!);
    await rm(checkpoints, { recursive: true });
    await assert.rejects(opening(copy), { code: 'data_not_adopted' });
    said(await adopt(copy, ['--from', mirror]), 0, new RegExp(`has ${String(size)} entries, `));
    assert.ok((await write(TENANTS[2]!, copy)) > size);
  });

  it('refuses a fork: the mirror has another tree of the same size', async () => {
    await cp(data, copy, { recursive: true });
    await write(TENANTS[1]!);
    await rm(checkpoints, { recursive: true });
    said(await adopt(copy, ['--accept-risk']), 0, /compared with nothing/);
    const kept = join(folder, 'kept');
    await cp(mirror, kept, { recursive: true });
    await write(TENANTS[2]!, copy);
    said(await adopt(copy, ['--from', kept]), 1, /kept.* have different roots .* forked/);
  });

  it('asks the witnesses, and refuses if they cosigned more entries', async () => {
    const witness = await realWitness('witness.example/one', 90, [vkey]);
    try {
      const policy = join(folder, 'policy');
      const key = cosignerKey('witness.example/one', 90);
      await writeFile(policy, `log ${vkey}\nwitness one ${key} ${witness.url}\nquorum one\n`);
      const env = { WITNESS_POLICY: policy };
      await cp(data, copy, { recursive: true });
      said(await adopt(copy, [], env), 0, /agrees with witnesses/);
      const older = join(folder, 'older');
      await cp(copy, older, { recursive: true });
      await write(TENANTS[1]!, copy);
      await rm(checkpoints, { recursive: true });
      // The adoption of the folder with the newest checkpoint submits this checkpoint to the witness.
      said(await adopt(copy, [], env), 0, /agrees with witnesses/);
      await rm(checkpoints, { recursive: true });
      said(await adopt(older, ['--accept-risk'], env), 1, /witness one: has cosigned \d+ entries/);
    } finally {
      await witness.close();
    }
  });

  it('accepts an older database of the gateway if asked to, in a folder that keeps its register', async () => {
    const served = join(folder, 'served');
    const env = { DATA_DIR: served, CHECKPOINT_DIR: join(folder, 'served-register') };
    await (await run(env)).close(true);
    const older = join(folder, 'older');
    await cp(join(served, 'gateway'), older, { recursive: true });
    const later = await run(env);
    await later.gateway.tenants.issue({ tenant: 'second', kind: 'live' });
    await later.close(true);
    await rm(join(served, 'gateway'), { recursive: true });
    await rename(older, join(served, 'gateway'));
    await assert.rejects(run(env), { code: 'log_rolled_back' });
    said(await adopt(served, [], env), 0, /accepted the older database in .*revoke again each key/);
    await (await run(env)).close(true);
  });

  it('finds the register of a folder that was restored without its marker', async () => {
    checkpoints = '';
    const state = process.env['XDG_STATE_HOME'];
    process.env['XDG_STATE_HOME'] = join(folder, 'state');
    try {
      const other = join(folder, 'other');
      await write(TENANTS[0]!, other);
      await cp(other, copy, { recursive: true });
      await write(TENANTS[1]!, other);
      await rm(join(copy, 'folder.json'));
      await rename(copy, `${copy}.restored`);
      copy = `${copy}.restored`;
      said(
        await adopt(copy, ['--accept-risk']),
        1,
        /has \d+ entries, but .*state.* has recorded \d+/,
      );
      said(await adopt(copy, ['--from', mirror]), 0, /agrees with mirror/);
      assert.equal(await refusalOf({ data: copy }), null);
      assert.match((await refusalOf({ data: other })) ?? '', /is a copy/);
    } finally {
      process.env['XDG_STATE_HOME'] = state;
    }
  });
});
