// A real PostgreSQL server for tests, on a free port and in a temporary folder. Without PostgreSQL the suites are
// skipped with the reason; with CI set they fail instead.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

const run = promisify(execFile);

/** Debian has the programs of each version in a separate folder. */
const DEBIAN = '/usr/lib/postgresql';

/** A running server. */
export interface Postgres {
  /** Its port; that of the standby after a promotion. */
  readonly port: number;
  /** The URL of a new, empty database. */
  database(): Promise<string>;
  /** Kills the server, as a power failure would. */
  kill(): Promise<void>;
  /** Starts it again after `kill` or `stop`. */
  start(): Promise<void>;
  /**
   * Creates a standby and starts it. With `synchronous`, a commit is acknowledged only after the standby has received
   * it. `promote` kills the first server and makes the standby the server of the same databases, on another port.
   */
  standby(options: { readonly synchronous: boolean }): Promise<Standby>;
  /** Runs a statement in a database; only the name in its URL is used. */
  query(url: string, sql: string): Promise<string>;
}

/** A standby of a server. */
export interface Standby {
  /** Stops and resumes replication, so that an asynchronous standby lags behind. */
  lag(on: boolean): Promise<void>;
  /** Makes the standby the server, on its own port; without another standby, no commit waits for one. */
  promote(): Promise<void>;
}

/** A suite that needs PostgreSQL; its body receives the server when it runs. */
export function postgresSuite(title: string, body: (postgres: () => Postgres) => void): void {
  const programs = programsFolder();
  const without = programs === null ? 'no PostgreSQL' : null;
  describe(`${title}${without === null ? '' : ` (skipped: ${without})`}`, function () {
    this.timeout(60_000);
    let server: (Postgres & { remove(): Promise<void> }) | null = null;

    before(async function () {
      if (programs === null) {
        assert.ok(process.env['CI'] === undefined, 'CI runs these tests with PostgreSQL');
        this.skip();
      }
      server = await startServer(programs);
    });
    after(() => server?.remove());

    body(() => {
      assert.ok(server !== null);
      return server;
    });
  });
}

function programsFolder(): string | null {
  const versions = existsSync(DEBIAN)
    ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a))
    : [];
  const folders = [...versions.map((version) => join(DEBIAN, version, 'bin')), '/usr/local/bin'];
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null;
}

/** Starts a server outside a suite; null without PostgreSQL. The caller must remove it. */
export async function startPostgres(): Promise<(Postgres & { remove(): Promise<void> }) | null> {
  const programs = programsFolder();
  return programs === null ? null : startServer(programs);
}

async function startServer(programs: string): Promise<Postgres & { remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'actlog-postgres-'));
  // PostgreSQL refuses to run as root; its Debian package creates a user for it.
  const asRoot = process.getuid?.() === 0;
  if (asRoot) {
    const ids = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'postgres'])));
    const [uid = 0, gid = 0] = ids.map(({ stdout }) => Number(stdout));
    await chown(folder, uid, gid);
  }
  const program = async (name: string, args: readonly string[]): Promise<string> => {
    const path = join(programs, name);
    const [file, all] = asRoot
      ? ['runuser', ['-u', 'postgres', '--', path, ...args]]
      : [path, [...args]];
    return (await run(file, all, { cwd: folder })).stdout;
  };
  let server = { data: join(folder, 'data'), port: await freePort() };
  const address = (name: string, { port } = server): string =>
    `postgres://actlog@127.0.0.1:${String(port)}/${name}`;
  const start = async ({ data, port } = server): Promise<void> => {
    const options = `-p ${String(port)} -k ${folder} -c listen_addresses=127.0.0.1`;
    await program('pg_ctl', ['-D', data, '-w', '-l', `${data}.log`, '-o', options, 'start']);
  };
  const stop = async (mode: string, { data } = server): Promise<void> => {
    await program('pg_ctl', ['-D', data, '-w', '-m', mode, 'stop']);
  };
  await program('initdb', ['-D', server.data, '-U', 'actlog', '-A', 'trust', '-E', 'UTF8']);
  await start();
  let databases = 0;
  const standbys: (typeof server)[] = [];
  const standby = async ({ synchronous }: { readonly synchronous: boolean }): Promise<Standby> => {
    const data = join(folder, `standby-${String(standbys.length + 1)}`);
    const own = { data, port: await freePort() };
    standbys.push(own);
    const from = ['-h', '127.0.0.1', '-p', String(server.port), '-U', 'actlog'];
    await program('pg_basebackup', [...from, '-D', data, '-R', '-X', 'stream', '-c', 'fast']);
    await start(own);
    const set = async (at: typeof server, sql: string): Promise<void> => {
      const url = address('postgres', at);
      await program('psql', [url, '-qc', `ALTER SYSTEM ${sql}`, '-c', 'SELECT pg_reload_conf()']);
    };
    if (synchronous) {
      await set(server, "SET synchronous_standby_names = '*'");
      const state = 'SELECT sync_state FROM pg_stat_replication';
      while (!(await program('psql', [address('postgres'), '-Atc', state])).includes('sync\n'));
    }
    return {
      // Without the address of the first server, the standby receives no changes.
      lag: (on) => set(own, on ? "SET primary_conninfo = ''" : 'RESET primary_conninfo'),
      async promote() {
        await stop('immediate');
        server = own;
        await set(own, "SET synchronous_standby_names = ''");
        await program('pg_ctl', ['-D', data, '-w', 'promote']);
      },
    };
  };
  return {
    get port() {
      return server.port;
    },
    standby,
    async database() {
      databases += 1;
      const name = `actlog_${String(databases)}`;
      await program('createdb', [
        '-h',
        '127.0.0.1',
        '-p',
        String(server.port),
        '-U',
        'actlog',
        name,
      ]);
      return address(name);
    },
    kill: () => stop('immediate'),
    start: () => start(),
    query: (url, sql) => program('psql', [address(new URL(url).pathname.slice(1)), '-Atc', sql]),
    async remove() {
      for (const one of [server, ...standbys]) await stop('immediate', one).catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
