// A real PostgreSQL server for tests, on a free port and in a temporary folder. Without PostgreSQL the suites say that
// they are skipped, and why; with CI set they fail instead.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

const run = promisify(execFile);

/** Debian keeps the programs of each version in a folder of its own. */
const DEBIAN = '/usr/lib/postgresql';

/** A running server. */
export interface Postgres {
  /** The address of a new, empty database. */
  database(): Promise<string>;
  /** Ends the server at once, as a power failure does. */
  kill(): Promise<void>;
  /** Starts it again after `kill` or `stop`. */
  start(): Promise<void>;
  /**
   * Makes a standby and starts it. With `synchronous`, a commit is acknowledged only when the standby has it.
   * `promote` ends the first server at once and makes the standby the server of the same databases, on another port.
   */
  standby(options: { readonly synchronous: boolean }): Promise<Standby>;
  /** Runs a statement in a database. */
  query(url: string, sql: string): Promise<string>;
}

/** A standby of a server. */
export interface Standby {
  readonly port: number;
  /** Stops and resumes receiving, so that an asynchronous standby lags behind. */
  lag(on: boolean): Promise<void>;
  promote(): Promise<void>;
}

/** A suite that needs PostgreSQL; the body gets the server once it runs. */
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

/** Starts a server outside a suite; null where PostgreSQL is missing. The caller removes it. */
export async function startPostgres(): Promise<(Postgres & { remove(): Promise<void> }) | null> {
  const programs = programsFolder();
  return programs === null ? null : startServer(programs);
}

async function startServer(programs: string): Promise<Postgres & { remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'actlog-postgres-'));
  const port = await freePort();
  // PostgreSQL refuses to run as root; its package makes a user of its own.
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
  const data = join(folder, 'data');
  const address = (name: string): string => `postgres://actlog@127.0.0.1:${String(port)}/${name}`;
  const options = `-p ${String(port)} -k ${folder} -c listen_addresses=127.0.0.1`;
  const start = async (): Promise<void> => {
    await program('pg_ctl', ['-D', data, '-w', '-l', join(folder, 'log'), '-o', options, 'start']);
  };
  const stop = async (mode: string): Promise<void> => {
    await program('pg_ctl', ['-D', data, '-w', '-m', mode, 'stop']);
  };
  await program('initdb', ['-D', data, '-U', 'actlog', '-A', 'trust', '-E', 'UTF8']);
  await start();
  let databases = 0;
  const standbys: string[] = [];
  const standby = async ({ synchronous }: { readonly synchronous: boolean }): Promise<Standby> => {
    const to = join(folder, `standby-${String(standbys.length + 1)}`);
    const standbyPort = await freePort();
    const from = ['-h', '127.0.0.1', '-p', String(port), '-U', 'actlog'];
    await program('pg_basebackup', [...from, '-D', to, '-R', '-X', 'stream', '-c', 'fast']);
    const flags = `-p ${String(standbyPort)} -k ${folder} -c listen_addresses=127.0.0.1`;
    await program('pg_ctl', ['-D', to, '-w', '-l', `${to}.log`, '-o', flags, 'start']);
    standbys.push(to);
    if (synchronous) {
      const url = address('postgres');
      await program('psql', [url, '-qc', "ALTER SYSTEM SET synchronous_standby_names = '*'"]);
      await program('psql', [url, '-qc', 'SELECT pg_reload_conf()']);
    }
    const own = `postgres://actlog@127.0.0.1:${String(standbyPort)}/postgres`;
    return {
      port: standbyPort,
      async lag(on) {
        // Without the address of the first server, the standby receives nothing.
        const sql = on
          ? "ALTER SYSTEM SET primary_conninfo = ''"
          : 'ALTER SYSTEM RESET primary_conninfo';
        await program('psql', [own, '-qc', sql]);
        await program('psql', [own, '-qc', 'SELECT pg_reload_conf()']);
      },
      async promote() {
        await stop('immediate');
        await program('psql', [own, '-qc', "ALTER SYSTEM SET synchronous_standby_names = ''"]);
        await program('pg_ctl', ['-D', to, '-w', 'promote']);
      },
    };
  };
  return {
    standby,
    async database() {
      databases += 1;
      const name = `actlog_${String(databases)}`;
      await program('createdb', ['-h', '127.0.0.1', '-p', String(port), '-U', 'actlog', name]);
      return address(name);
    },
    kill: () => stop('immediate'),
    start,
    query: (url, sql) => program('psql', [url, '-Atc', sql]),
    async remove() {
      await stop('immediate').catch(() => undefined);
      for (const to of standbys) {
        await program('pg_ctl', ['-D', to, '-m', 'immediate', 'stop']).catch(() => undefined);
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}
