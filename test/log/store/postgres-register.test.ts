// Tests of log/store/postgres-register.ts on a real PostgreSQL: compare-and-swap, the lease, and lost connections.

import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog, openRegister } from '../../../log/index.ts';
import { refusalOf } from '../../../log/store/data-folder.ts';
import { PostgresRegister } from '../../../log/store/postgres-register.ts';
import { postgresSuite } from '../../support/postgres.ts';
import { code } from '../write/kept-log.ts';

postgresSuite('the checkpoint register in PostgreSQL', (postgres) => {
  let url: string;
  let folder: string;
  let tenants = 0;
  const opened: PostgresRegister[] = [];

  const open = async (lease_ms?: number, patience_ms?: number): Promise<PostgresRegister> => {
    const register = await PostgresRegister.open({
      url,
      ...(lease_ms === undefined ? {} : { lease_ms }),
      ...(patience_ms === undefined ? {} : { patience_ms }),
    });
    opened.push(register);
    return register;
  };
  const taken = async (lease_ms?: number): Promise<PostgresRegister> => {
    const register = await open(lease_ms);
    await register.prepare();
    return register;
  };

  beforeEach(async () => {
    url = await postgres().database();
    folder = await mkdtemp(join(tmpdir(), 'actlog-register-'));
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((register) => register.close()));
    await rm(folder, { recursive: true, force: true });
  });

  it('reads null under a name without a value, and the last value afterwards', async () => {
    const register = await taken();
    assert.equal(await register.read('live-1'), null);
    await register.advance('live-1', null, { b: 1, a: 'é' });
    await register.advance('live-1', { a: 'é', b: 1 }, { a: 2 });
    await register.advance('gateway', null, { n: 1 });
    assert.deepEqual(await register.read('live-1'), { a: 2 });
    assert.deepEqual(await register.names(), ['gateway', 'live-1']);
    assert.ok(!register.where('gateway').includes('@'));
  });

  it('refuses to advance from another value, and keeps its value', async () => {
    const register = await taken();
    const refused = (from: { n: number } | null): Promise<void> =>
      assert.rejects(register.advance('gateway', from, { n: 9 }), code('log_locked'));
    await refused({ n: 1 });
    await register.advance('gateway', null, { n: 1 });
    await refused(null);
    await refused({ n: 2 });
    const ends = await Promise.allSettled(
      [2, 3, 4].map((n) => register.advance('gateway', { n: 1 }, { n })),
    );
    assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  it('grants the lease to one process, and names its holder to the other', async () => {
    const first = await taken();
    await first.advance('gateway', null, { n: 1 });
    const second = await open(undefined, 200);
    assert.deepEqual(await second.read('gateway'), { n: 1 });
    await assert.rejects(second.prepare(), /held by .*process \d+.*one process at a time/);
    await assert.rejects(second.advance('gateway', { n: 1 }, { n: 2 }), code('log_locked'));
    await first.close();
    await second.prepare();
    await second.advance('gateway', { n: 1 }, { n: 2 });
  });

  it('changes nothing for a holder whose lease expired and was taken over', async () => {
    const paused = await taken();
    await paused.advance('gateway', null, { n: 1 });
    // A pause of the process has this effect: its lease was not renewed in time.
    await postgres().query(url, "UPDATE actlog_lease SET expires_at = now() - interval '1 second'");
    const next = await taken();
    await assert.rejects(paused.advance('gateway', { n: 1 }, { n: 2 }), /lease .* is held by/);
    await next.advance('gateway', { n: 1 }, { n: 3 });
    await assert.rejects(paused.advance('gateway', { n: 1 }, { n: 2 }), code('log_locked'));
    await paused.close();
    await next.advance('gateway', { n: 3 }, { n: 4 });
    assert.deepEqual(await next.read('gateway'), { n: 4 });
  });

  it('works again after the server was killed, and repeats an advance whose commit it did not see', async () => {
    const register = await taken();
    await register.advance('gateway', null, { n: 1 });
    await postgres().kill();
    const waiting = register.advance('gateway', { n: 1 }, { n: 2 });
    await postgres().start();
    await waiting;
    assert.deepEqual(await register.read('gateway'), { n: 2 });
    // The value is committed, but the caller does not know; a repeat of the same advance succeeds.
    await assert.rejects(register.advance('gateway', { n: 1 }, { n: 2 }), code('log_locked'));
  });

  it('names the database that does not answer, without its password', async () => {
    const wrong = 'postgres://actlog:secret@127.0.0.1:1/none';
    await assert.rejects(PostgresRegister.open({ url: wrong }), (error: Error) => {
      assert.match(error.message, /127\.0\.0\.1:1\/none does not answer .*DATABASE_URL/);
      assert.ok(!error.message.includes('secret'));
      return true;
    });
  });

  /** Opens the log, appends an entry, and closes it. */
  const use = async (data: string, database: string | undefined): Promise<number> => {
    const log = await openLog({
      data,
      kind: 'live',
      origin_base: 'log.example',
      checkpoints: join(folder, 'register'),
      ...(database === undefined ? {} : { database }),
    });
    tenants += 1;
    await log.registerTenant(`dGVuYW50LWV4YW1wbGUt${String(tenants)}Q`, '0'.repeat(64));
    await log.whenPublished(log.size());
    await log.close();
    return log.size();
  };

  it('takes over the register of a data folder from its files', async () => {
    const data = join(folder, 'data');
    const size = await use(data, undefined);
    assert.ok((await use(data, url)) > size);
    assert.ok((await use(data, url)) > size + 1);
    // Without the database, no register has the size of the log.
    await assert.rejects(use(data, undefined), code('data_not_adopted'));
  });

  it('refuses a copy of the data folder, and an older one', async () => {
    const data = join(folder, 'data');
    await use(data, url);
    const copy = join(folder, 'copy');
    await cp(data, copy, { recursive: true });
    await assert.rejects(use(copy, url), code('data_not_adopted'));
    assert.match((await refusalOf({ data: copy, database: url })) ?? '', /is a copy/);
    // A restored snapshot of the whole disk has this effect: the identity is the same, the database is older.
    const aside = join(folder, 'aside');
    await cp(join(data, 'live'), aside, { recursive: true });
    await use(data, url);
    const { register } = await openRegister({ data, database: url });
    await register.close();
    await rm(join(data, 'live'), { recursive: true });
    await cp(aside, join(data, 'live'), { recursive: true });
    await assert.rejects(use(data, url), code('log_rolled_back'));
  });
});
