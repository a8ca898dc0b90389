// Every database of a data folder with every fault of its storage, after an orderly stop and after a kill. The next
// start either refuses and names the database, or serves with nothing acknowledged lost. gateway/API.md §13.1.

import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { findRegister } from '../../log/store/data-folder.ts';
import { blocksOf } from '../../log/store/tables.ts';
import { LOG_KINDS } from '../../log/index.ts';
import { inspectDatabases } from '../../tools/databases.ts';
import { ok, run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import { actlog } from '../support/actlog.ts';
import { intoTables } from '../support/into-tables.ts';

const DATABASES = ['live/1/db', 'sandbox/1/db', 'gateway', 'private'] as const;
type Database = (typeof DATABASES)[number];
type Ended = 'stopped' | 'killed';

const MESSAGE = 'a zebra asked about the post';

/** Answers that must remain true after every start. */
interface Told {
  readonly key: string;
  readonly revoked: string;
  readonly entries: readonly string[];
  readonly erased: string;
}

/** The files that a fault can affect. */
async function filesOf(db: string, ending: string): Promise<string[]> {
  const names = (await readdir(db)).filter((name) => name.endsWith(ending)).sort();
  return names.map((name) => join(db, name));
}

async function newestJournal(db: string): Promise<string> {
  for (const file of (await filesOf(db, '.log')).reverse()) {
    if ((await readFile(file)).length > 0) return file;
  }
  throw new Error(`${db} has nothing in its journal`);
}

async function bend(file: string, at: (bytes: Buffer) => number): Promise<void> {
  const bytes = await readFile(file);
  bytes[at(bytes)]! ^= 0x10;
  await writeFile(file, bytes);
}

/** Each fault, given the database and an older copy of it. */
const FAULTS: Readonly<Record<string, (db: string, older: string) => Promise<void>>> = {
  'a flip in the journal': async (db) =>
    bend(await newestJournal(db), (bytes) => bytes.length >> 1),
  'a flip in the last record': async (db) => bend(await newestJournal(db), (b) => b.length - 9),
  'a flip in a table': async (db) => {
    const [table = ''] = await filesOf(db, '.ldb');
    await bend(table, (bytes) => [...blocksOf(bytes)][0]!.offset + 40);
  },
  'a cut journal': async (db) => {
    const journal = await newestJournal(db);
    const bytes = await readFile(journal);
    await writeFile(journal, bytes.subarray(0, bytes.length >> 1));
  },
  'an emptied journal': async (db) => writeFile(await newestJournal(db), ''),
  'a removed journal': async (db) => rm(await newestJournal(db)),
  'a removed folder': async (db) => rm(db, { recursive: true }),
  'an older copy': async (db, older) => {
    await rm(db, { recursive: true });
    await cp(older, db, { recursive: true });
  },
};

/**
 * The cases in which a start may also serve, because nothing acknowledged is lost: the tables of a log are compared
 * while it serves, and by fsck; the last record of a log is its checkpoint, which the register has too.
 */
const ANSWERS: Readonly<Record<string, Partial<Record<Database, RegExp>>>> = {
  'a flip in the last record': {
    'live/1/db': /^(served|store_corrupt|log_rolled_back)$/,
    'sandbox/1/db': /^(served|store_corrupt|log_rolled_back)$/,
  },
  'a flip in a table': {
    'live/1/db': /^(served|store_corrupt|log_unavailable)$/,
    'sandbox/1/db': /^(served|store_corrupt|log_unavailable)$/,
  },
};

describe('a fault of the storage of a database', function () {
  this.timeout(240_000);
  let folder: string;
  let data: string;
  let env: Readonly<Record<string, string>>;
  let told: Told;
  const kept = (name: string): string => join(folder, name);

  /** Acts that write to every database; a revocation and an erasure are last. */
  async function act(running: Running): Promise<Told> {
    const { tenants } = running.gateway;
    const entries: string[] = [];
    for (const key of [running.live, running.sandbox]) {
      for (let i = 0; i < 3; i += 1) {
        const body = { message: MESSAGE, session_id: `s-${String(i)}` };
        entries.push(ok(await running.post('/api/v1/classify', body, { key })).entry_id);
      }
    }
    const [erased = ''] = entries;
    const path = `/api/v1/disclosures/${erased}`;
    ok(await running.ask('DELETE', path, { key: running.live }));
    // The erasure has compacted the journal of private/ into a table; this writes keys to the journal again.
    (await running.gateway.disclosures.reserve(2048)).release();
    const { key: revoked, key_id } = await tenants.issue({ tenant: 'gone', kind: 'live' });
    await tenants.revoke(key_id);
    return { key: running.live, revoked, entries, erased };
  }

  /** Asserts that all earlier answers are still true. */
  async function assertHolds(running: Running): Promise<void> {
    const { key, revoked, entries, erased } = told;
    assert.equal((await running.get('/api/v1/me', { key })).status, 200);
    const answer = await running.get('/api/v1/me', { key: revoked });
    assert.equal(answer.json.error.code, 'api_key_revoked');
    for (const entry_id of entries) {
      const { logs, served, disclosures } = running.gateway;
      const kind = LOG_KINDS.find((one) => logs[one].indexOfEntry(entry_id) !== null);
      assert.ok(kind !== undefined, `${entry_id} is in no log`);
      const opened = await disclosures.open(served[kind], entry_id);
      assert.equal(opened['message']?.value, entry_id === erased ? undefined : MESSAGE);
    }
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-databases-'));
    data = kept('data');
    env = { DATA_DIR: data, CHECKPOINT_DIR: kept('register') };
    const first = await run(env);
    const { live, sandbox } = first;
    ok(await first.post('/api/v1/classify', { message: MESSAGE }, { key: live }));
    ok(await first.post('/api/v1/classify', { message: MESSAGE }, { key: sandbox }));
    await first.close(true);
    for (const db of DATABASES) await intoTables(join(data, db));
    await cp(data, kept('older'), { recursive: true });
    const second = { ...(await run(env)), live, sandbox };
    told = await act(second);
    for (const log of Object.values(second.gateway.logs)) await log.whenPublished(log.size());
    await cp(data, kept('killed'), {
      recursive: true,
      filter: (name) => !name.endsWith('.sock'),
    });
    await cp(kept('register'), kept('killed.register'), { recursive: true });
    await second.close(true);
    await cp(data, kept('stopped'), { recursive: true });
    await cp(kept('register'), kept('stopped.register'), { recursive: true });
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Restores the databases; the folder itself remains, so that it is not refused as a copy. */
  async function putBack(ended: Ended): Promise<void> {
    for (const db of DATABASES) {
      await rm(join(data, db), { recursive: true, force: true });
      await cp(join(kept(ended), db), join(data, db), { recursive: true });
      await rm(join(data, db, 'LOCK'), { force: true });
    }
    await rm(kept('register'), { recursive: true });
    await cp(kept(`${ended}.register`), kept('register'), { recursive: true });
  }

  /** The code of a refused start, or `served` if all earlier answers are still true. */
  async function start(db: Database): Promise<string> {
    let running: Running;
    try {
      running = await run(env);
    } catch (error) {
      const { code = '', message } = error as Error & { code?: string };
      const log = /^(live|sandbox)/.exec(db)?.[0];
      assert.ok(
        message.includes(join(data, db)) ||
          (log !== undefined && message.includes(`/log/${log}/1`)),
        `the message does not name ${db}: ${message}`,
      );
      assert.match(message, /restore|put .* back|Put the newest copy/i);
      return code;
    }
    try {
      await assertHolds(running);
      return 'served';
    } finally {
      await running.close(true);
    }
  }

  for (const ended of ['stopped', 'killed'] as const) {
    it(`without damage, ${ended}: everything is served`, async () => {
      await putBack(ended);
      assert.equal(await start('gateway'), 'served');
    });

    for (const [fault, damage] of Object.entries(FAULTS)) {
      for (const db of DATABASES) {
        it(`${fault} of ${db}, ${ended}, is detected`, async () => {
          await putBack(ended);
          await damage(join(data, db), join(kept('older'), db));
          const answer = await start(db);
          const allowed = ANSWERS[fault]?.[db] ?? /^(store_corrupt|log_rolled_back)$/;
          assert.match(answer, allowed);
        });
      }
    }
  }

  it('that removes keys of disclosures, or leaves one of an erased text, is reported by fsck', async () => {
    const register = await findRegister({ data, checkpoints: kept('register') });
    const logs = LOG_KINDS.map((kind) => ({
      ...{ kind, whole: true },
      folders: [join(data, kind, '1')],
    }));
    const inspect = async () => {
      const reports = await inspectDatabases(data, register, logs);
      return reports.flatMap(({ differences }) => differences.map(({ detail }) => detail));
    };
    await putBack('stopped');
    assert.deepEqual(await inspect(), []);
    const keys = new ClassicLevel<string, Uint8Array>(join(data, 'private'), {
      valueEncoding: 'view',
      compression: false,
    });
    const [[key] = ['']] = await keys.iterator({ gt: '"', limit: 1 }).all();
    await keys.del(key);
    await keys.close();
    const found = await inspect();
    assert.ok(found.includes('has no key, and the log has no erasure of it'), found.join('\n'));
    assert.ok(found.includes('rows are missing, or there are other ones'));
    await putBack('stopped');
    await rename(join(data, 'private'), kept('private.away'));
    assert.equal((await inspect()).filter((detail) => detail.includes('has no key')).length, 7);
  });

  it('in one log does not stop fsck of the other databases', async () => {
    await putBack('stopped');
    const damage = FAULTS['a flip in a table'];
    await damage?.(join(data, 'live/1/db'), '');
    await damage?.(join(data, 'gateway'), '');
    const args = ['fsck', '--data', data];
    const { code, stdout, stderr } = await actlog(args, { env });
    assert.equal(code, 2, stdout);
    assert.match(
      stderr,
      /^actlog: live\/1: the table \S+ in \S+\/live\/1\/db has a damaged block/m,
    );
    assert.match(stdout, /^sandbox\/1 {2}.* {2}clean$/m);
    assert.match(stdout, /^gateway {2}0 rows {2}1 differences\n {2}database: gateway: the table/m);
    assert.match(stdout, /^private {2}\d+ rows {2}clean$/m);
    assert.match(stdout, /not checked: the keys of disclosures of live/);
    const { json } = await actlog([...args, '--json'], { env });
    const of = ({ database, kind }: { database?: string; kind?: string }) => database ?? kind;
    assert.deepEqual(json.map(of), ['sandbox', 'live', 'gateway', 'private']);
  });
});
