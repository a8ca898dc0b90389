// Kills (SIGKILL) a server at its most vulnerable moments: while LevelDB creates a table or a new MANIFEST, while key
// files are created or rotated, during a first start, and while the checkpoint register and the databases of the
// gateway are written. After each kill the next start must succeed and have everything that was acknowledged.

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, watch } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askServer } from '../../gateway/tenants/admin-socket.ts';
import { preloadArgs } from '../support/child.ts';
import { freePort } from '../support/free-port.ts';
import { ChildServer } from './child-server.ts';
import { checkFolders, Side } from './crash-run.ts';

const WRITERS = 4;
/** A server that has not reached its point after this time is killed; the kill does not count. */
const LIFE_MS = 5000;

/** The points at which a server is killed. */
export const AIMS = [
  'table creation',
  'MANIFEST rotation',
  'first start',
  'key file creation',
  'key file rotation',
  'checkpoint register',
  'gateway writes',
  'private writes',
] as const;
export type Aim = (typeof AIMS)[number];

const hook = new URL('die-at.ts', import.meta.url);

/** Settings that kill the process before its n-th operation on a path. */
const dieAt = async (
  path: string,
  nth: number,
  from = '',
): Promise<Readonly<Record<string, string>>> => ({
  NODE_OPTIONS: (await preloadArgs(hook)).join(' '),
  DIE_AT: path,
  DIE_NTH: String(nth),
  DIE_FROM: from,
  // The hook works on the main thread only.
  THREADS: 'off',
});

const upTo = (n: number): number => 1 + Math.floor(Math.random() * n);

/** A data folder, its server and what the server acknowledged. */
class Target {
  readonly data: string;
  readonly #port: number;
  #side: Side | null = null;
  /** Ids of issued API keys. */
  readonly #keys: string[] = [];
  #tenants = 0;
  #child: ChildProcess | null = null;
  #rotates = false;

  private constructor(data: string, port: number) {
    this.data = data;
    this.#port = port;
  }

  static async open(): Promise<Target> {
    return new Target(await mkdtemp(join(tmpdir(), 'actlog-aimed-')), await freePort());
  }

  /** Starts the server; null if it was killed meanwhile. Throws if it ended in any other way. */
  async start(
    env: Readonly<Record<string, string>> = {},
    onSpawn: (child: ChildProcess) => void = () => undefined,
  ): Promise<ChildServer | null> {
    let child: ChildProcess | undefined;
    try {
      const server = await ChildServer.start({
        data: this.data,
        port: this.#port,
        env,
        onSpawn: (spawned) => {
          child = spawned;
          this.#child = spawned;
          onSpawn(spawned);
        },
      });
      const key = server.keys.get('live');
      if (key !== undefined) this.#side = new Side('live', server.url, key);
      return server;
    } catch (error) {
      if (child?.signalCode === 'SIGKILL') return null;
      throw error;
    }
  }

  /** Asserts that everything acknowledged is present. */
  async audit(all = false): Promise<void> {
    // The auditor verifies with the keys of the kit at the time when it was opened.
    if (this.#rotates && this.#side !== null) this.#side.auditor = null;
    await this.#side?.askAgain();
    await this.#side?.audit(all);
    const listed = (await askServer(this.data, 'keys list', {}))?.result as { key_id: string }[];
    const known = new Set(listed.map(({ key_id }) => key_id));
    for (const id of this.#keys) assert.ok(known.has(id), `the issued key ${id}`);
  }

  /** Writes until the server has ended. */
  async load(): Promise<void> {
    const side = this.#side;
    if (side === null) return;
    await Promise.all([side.watch(), ...Array.from({ length: WRITERS }, () => side.write())]);
  }

  /** Sends an operator command repeatedly until the server has ended. */
  async administer(verb: string, args: () => Record<string, string>): Promise<void> {
    this.#rotates ||= verb.endsWith('rotate');
    for (;;) {
      const answer = await askServer(this.data, verb, args()).catch((error: unknown) => {
        if ((error as Error).name === 'AdminError') throw error;
        return null;
      });
      if (answer === null) return;
      const { key_id } = answer.result as { key_id?: string };
      if (key_id !== undefined) this.#keys.push(key_id);
    }
  }

  nextTenant(): string {
    this.#tenants += 1;
    return `aimed-${String(this.#tenants)}`;
  }

  /** Runs fsck on the stopped log. */
  async fsck(): Promise<void> {
    if (this.#side !== null) await checkFolders(this.data, [this.#side]);
  }

  async close(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#side?.client.close();
    await rm(this.data, { recursive: true, force: true });
  }
}

/** Kills a process at the n-th change of a file with a matching name in a folder. */
function killAt(folder: string, name: RegExp, nth: number, child: ChildProcess): () => boolean {
  let left = nth;
  mkdirSync(folder, { recursive: true });
  const watcher = watch(folder, (_, changed) => {
    if (changed === null || !name.test(changed)) return;
    left -= 1;
    if (left === 0) child.kill('SIGKILL');
  });
  return () => {
    watcher.close();
    return left <= 0;
  };
}

/** Kills once while the database of the live log is opened after a kill. */
async function killOpening(target: Target, name: RegExp): Promise<boolean> {
  const server = await target.start();
  assert.ok(server !== null);
  await target.audit();
  const load = target.load();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await server.kill();
  await load;
  let hit = (): boolean => false;
  const opening = await target.start({}, (child) => {
    hit = killAt(join(target.data, 'live', '1', 'db'), name, upTo(2), child);
  });
  await opening?.kill();
  return hit();
}

/** Kills once before an operation on a path, during a first start. */
async function killFirstStart(path: string, nth: number): Promise<boolean> {
  const target = await Target.open();
  try {
    const first = await target.start(await dieAt(path, nth, 'start'));
    await first?.kill();
    const second = await target.start();
    assert.ok(second !== null);
    // If a first start stored its keys and was killed before it printed them, no later start prints them.
    await target.audit();
    await second.kill();
    await target.fsck();
    return first === null;
  } finally {
    await target.close();
  }
}

/** Kills a server under load once; `aim` sends additional requests. */
async function killServing(
  target: Target,
  env: Readonly<Record<string, string>>,
  aim: (server: ChildServer) => { readonly work: Promise<void>; readonly hit: () => boolean },
): Promise<boolean> {
  const server = await target.start(env);
  assert.ok(server !== null);
  await target.audit();
  const { work, hit } = aim(server);
  const load = target.load();
  const late = setTimeout(() => void server.kill(), LIFE_MS);
  await server.ended();
  clearTimeout(late);
  await Promise.all([work, load]);
  return hit();
}

/** Arms the hook of a server, and sends requests. */
const armed =
  (work: () => Promise<void> = () => Promise.resolve()) =>
  (server: ChildServer) => {
    const start = Date.now();
    process.kill(server.pid, 'SIGUSR2');
    return { work: work(), hit: () => Date.now() - start < LIFE_MS };
  };

/** Kills the given number of times at one point, and returns the number of attempts. */
export async function aimedRun(
  aim: Aim,
  kills: number,
  progress: (hits: number) => void = () => undefined,
): Promise<number> {
  const target = await Target.open();
  let attempts = 0;
  let hits = 0;
  let nth = 0;
  const once = async (): Promise<boolean> => {
    switch (aim) {
      case 'table creation':
        return killOpening(target, /\.ldb$/);
      case 'MANIFEST rotation':
        return killOpening(target, /^(MANIFEST-|CURRENT|.*\.dbtmp$)/);
      case 'first start': {
        // Each operation in order, and after the last the first again.
        nth += 1;
        if (await killFirstStart('.', nth)) return true;
        nth = 0;
        return false;
      }
      case 'key file creation':
        nth += 1;
        if (await killFirstStart('/keys(/|$)', nth)) return true;
        nth = 0;
        return false;
      case 'key file rotation': {
        const rotate = (): Promise<void> =>
          Math.random() < 0.5
            ? target.administer('receipt-key rotate', () => ({ kind: 'live' }))
            : target.administer('purpose-key rotate', () => ({ use: 'webhook', kind: 'live' }));
        return killServing(target, await dieAt('/keys(/|$)', upTo(12)), armed(rotate));
      }
      case 'checkpoint register':
        return killServing(target, await dieAt('/checkpoints(/|$)', upTo(12)), armed());
      case 'gateway writes':
      case 'private writes': {
        const folder = aim === 'gateway writes' ? 'gateway' : 'private';
        return killServing(target, {}, (server) => ({
          hit: killAt(
            join(target.data, folder),
            /\.log$/,
            aim === 'gateway writes' ? upTo(8) : 1,
            server.process,
          ),
          work: target.administer('keys issue', () => ({
            tenant: target.nextTenant(),
            kind: 'live',
          })),
        }));
      }
    }
  };
  try {
    // A start may end before the file system reports the change, so not every attempt hits.
    for (; hits < kills && attempts < 8 * kills + 8; attempts += 1) {
      if (!(await once())) continue;
      hits += 1;
      progress(hits);
    }
    assert.equal(hits, kills, `${aim}: only ${String(hits)} of ${String(attempts)} kills hit`);
    const last = await target.start();
    await target.audit(true);
    assert.equal(await last?.stop(), 0, 'an orderly stop');
    await target.fsck();
    return attempts;
  } finally {
    await target.close();
  }
}
