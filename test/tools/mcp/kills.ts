// Kills the proxy, the service or the server at random moments of calls that a client of the official SDK makes through
// the proxy to the official server-everything. Then the log is compared with what the server received: each call that
// reached it has an earlier entry of the use of a permit for exactly its arguments, no call reached it twice, no permit has
// two uses or two results, and every entry that the client was told of is in the log.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Random } from '../../clients/random.ts';
import { startProcess } from '../../e2e/process.ts';
import type { ServerProcess } from '../../e2e/process.ts';
import { run } from '../../gateway/running.ts';
import type { Body } from '../../gateway/running.ts';
import { ACTLOG } from '../../support/actlog.ts';
import { preloadArgs } from '../../support/child.ts';
import { freePort } from '../../support/free-port.ts';
import { EVERYTHING, statements } from './proxied.ts';

/** What can be killed. */
export type Victim = 'proxy' | 'service' | 'server';
const VICTIMS: readonly Victim[] = ['proxy', 'service', 'server'];

/** What a run saw. */
export interface KillReport {
  readonly kills: Readonly<Record<Victim, number>>;
  /** Calls that the client made, that the server received, and that were answered with a result or a refusal. */
  readonly sent: number;
  readonly received: number;
  readonly answered: number;
  readonly refused: number;
  /** Uses of permits in the log, and results of them. */
  readonly uses: number;
  readonly results: number;
}

/** How a run goes. */
export interface KillOptions {
  readonly seed: number;
  /** The victims in order, in place of random ones. */
  readonly victims?: readonly Victim[];
  readonly told?: (kill: number) => void;
}

/** Calls on their way at a time. */
const CONCURRENT = 4;
/** How long calls run after the first answer of a proxy until the kill, at most. */
const LIFE_MS = 200;
/** One kill in so many comes while the processes start. */
const EARLY = 6;
const START_MS = 1500;

/** A call that was permitted, as its answer says. */
interface Answered {
  readonly permit_id: string;
  readonly permit_use_id: string;
  readonly result_entry_id: string | null;
  readonly arguments_commitment: { readonly salt: string; readonly sha256: string };
}

/** A client, and the proxy that it started. */
interface Connection {
  readonly client: Client;
  readonly pid: () => number;
  /** Settled when the client is connected. */
  readonly ready: Promise<void>;
  /** Settled when the proxy has ended. */
  readonly closed: Promise<unknown>;
  isOver: boolean;
}

/** A service, and clients with proxies and servers one after the other. */
class Story {
  readonly answers = new Map<number, Answered>();
  refused = 0;
  sent = 0;
  readonly #proxyArgs: readonly string[];
  readonly #env: Record<string, string>;
  readonly #received: string;
  #waiting: (() => void)[] = [];

  constructor(proxyArgs: readonly string[], env: Record<string, string>, received: string) {
    this.#proxyArgs = proxyArgs;
    this.#env = env;
    this.#received = received;
  }

  connect(): Connection {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [...ACTLOG, 'mcp-proxy', ...this.#proxyArgs],
      env: this.#env,
      stderr: 'ignore',
    });
    const client = new Client({ name: 'kills', version: '1.0.0' });
    const ready = client.connect(transport);
    ready.catch(() => undefined);
    const connection: Connection = {
      ...{ client, ready, isOver: false },
      pid: () => transport.pid ?? 0,
      closed: new Promise<void>((resolve) => {
        client.onclose = () => {
          connection.isOver = true;
          resolve();
        };
      }),
    };
    return connection;
  }

  /** Calls one after the other, several of them at a time, until the proxy has ended or `isEnough`. */
  async load(connection: Connection, isEnough: () => boolean): Promise<void> {
    const { client, ready } = connection;
    const worker = async (): Promise<void> => {
      while (!connection.isOver && !isEnough()) await this.#call(client);
    };
    await ready
      .then(() => Promise.all(Array.from({ length: CONCURRENT }, worker)))
      .catch(() => undefined);
  }

  /** Waits for the next answer. */
  answer(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #call(client: Client): Promise<void> {
    const n = (this.sent += 1);
    let result: Body;
    try {
      result = await client.callTool({ name: 'echo', arguments: { message: String(n) } });
    } catch {
      return; // The proxy has ended, or the server: whether the call was made shows below.
    }
    if (result.isError === true) this.refused += 1;
    else {
      assert.equal(result.content[0].text, `Echo: ${String(n)}`);
      this.answers.set(n, result._meta['dev.actlog/call'] as Answered);
    }
    for (const told of this.#waiting.splice(0)) told();
  }

  /** The lines of the server's preload. */
  async received(): Promise<readonly Body[]> {
    const text = await readFile(this.#received, 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  /** Kills the servers that these proxies started. A server outlives its proxy until it reads the end of its input. */
  async killServers(proxy: number): Promise<boolean> {
    const started = (await this.received()).filter(({ parent }) => parent === proxy);
    for (const { pid } of started) killed(Number(pid));
    return started.length > 0;
  }
}

/** Kills a process, unless it has ended. */
function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Kills so many times. */
export async function killRun(
  kills: number,
  { seed, victims = [], told = () => undefined }: KillOptions,
): Promise<KillReport> {
  const chance = new Random(seed);
  const folder = await mkdtemp(join(tmpdir(), 'actlog-mcp-kills-'));
  const [data, file] = [join(folder, 'data'), join(folder, 'received')];
  const CHECKPOINT_DIR = join(folder, 'checkpoints');
  const PORT = String(await freePort());
  const settings = {
    PORT,
    CHECKPOINT_DIR,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
    BASE_URL: '',
    LOG_ORIGIN: 'test.example',
  };
  let service: ServerProcess = await startProcess(data, settings);
  const { key, url } = service;
  await allowEcho(url, key);
  const [node = '', ...server] = EVERYTHING;
  const preload = await preloadArgs(new URL('./received.ts', import.meta.url));
  const env = { NODE_NO_WARNINGS: '1', RECEIVED: file, PATH: process.env['PATH'] ?? '' };
  const told_env = { ...env, ACTLOG_URL: url, ACTLOG_KEY: key, ACTLOG_ENTITY: 'mcp:kills' };
  const story = new Story(['--', node, ...preload, ...server], told_env, file);
  const count: Record<Victim, number> = { proxy: 0, service: 0, server: 0 };
  const proxies = new Set<number>();
  let connection = story.connect();
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      if (connection.isOver) connection = story.connect();
      const current = connection;
      let isOver = false;
      const loading = story.load(current, () => isOver);
      const victim = victims[kill - 1] ?? chance.pick(VICTIMS);
      if (victims.length === 0 && chance.once(EARLY)) await pause(chance.below(START_MS));
      else {
        await Promise.race([story.answer(), current.closed]);
        await pause(chance.below(LIFE_MS));
      }
      proxies.add(current.pid());
      count[victim] += 1;
      if (victim === 'service') {
        await service.kill();
        service = await startProcess(data, settings);
        isOver = true;
      } else {
        const hit = victim === 'server' && (await story.killServers(current.pid()));
        if (!hit) killed(current.pid());
        await current.closed;
      }
      await loading;
      if (current.isOver) await story.killServers(current.pid());
      told(kill);
    }
    if (connection.isOver) connection = story.connect();
    const last = story.answer();
    const loading = story.load(connection, () => true);
    await Promise.race([last, connection.closed, loading]);
    await loading;
    await connection.client.close();
    await service.stop();
    const seen = await judged(story, { DATA_DIR: data, CHECKPOINT_DIR }, key);
    const { sent, refused, answers } = story;
    return { kills: count, sent, answered: answers.size, refused, ...seen };
  } finally {
    await connection.client.close();
    for (const proxy of proxies) await story.killServers(proxy);
    await service.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

async function allowEcho(url: string, key: string): Promise<void> {
  const rules = [{ id: 'echo', effect: 'allow', action_types: ['mcp.echo'] }];
  const answer = await fetch(`${url}/api/v1/execute-gate/policy`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ rules }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

/** Compares the log with what the server received. */
async function judged(
  story: Story,
  settings: Readonly<Record<string, string>>,
  key: string,
): Promise<Pick<KillReport, 'received' | 'uses' | 'results'>> {
  const received = (await story.received())
    .filter((line) => line.arguments !== undefined)
    .map((line) => ({ n: Number(line.arguments.message), at_ms: line.at_ms as number }));
  assert.equal(
    new Set(received.map(({ n }) => n)).size,
    received.length,
    'a call reached the server twice',
  );
  const running = await run(settings);
  try {
    const entries = statements(running);
    const of = (type: string): readonly Body[] => entries.filter((entry) => entry.type === type);
    const [uses, results] = [of('gate.permit_use.v1'), of('gate.permit_result.v1')];
    for (const once of [uses, results]) {
      assert.equal(new Set(once.map((entry) => entry.permit_id as string)).size, once.length);
    }
    const logged = new Set(entries.map((entry) => entry.entry_id as string));
    const permits = new Map<string, { readonly scope: string; readonly used_ms: number }>();
    for (const { permit_id, issued_at_ms } of uses) {
      // The tenant can open what the decision commits to: the act, whose scope commits to the arguments.
      const { json } = await running.get(`/receipt/lookup?entry_id=${String(permit_id)}`, { key });
      const { scope } = json.receipt.disclosures.preimage.value;
      permits.set(permit_id as string, { scope, used_ms: issued_at_ms as number });
    }
    const isFor = (scope: string, n: number): boolean => {
      const [, salt = '', sha256 = ''] = scope.split(':');
      const opened = [Buffer.from(salt, 'hex'), Buffer.from(`{"message":"${String(n)}"}`)];
      return hash('sha256', Buffer.concat(opened), 'hex') === sha256;
    };
    const permitOf = (n: number): string | undefined => {
      const answered = story.answers.get(n);
      if (answered === undefined) {
        return [...permits].find(([, { scope }]) => isFor(scope, n))?.[0];
      }
      const { permit_id, permit_use_id, result_entry_id } = answered;
      for (const id of [permit_id, permit_use_id, result_entry_id ?? permit_id]) {
        assert.ok(
          logged.has(id),
          `the answer of call ${String(n)} names ${id}, which is not logged`,
        );
      }
      return permit_id;
    };
    // Calls that were answered first: what remains to be searched for the others is little.
    const isAnswered = ({ n }: { n: number }): number => (story.answers.has(n) ? 0 : 1);
    for (const { n, at_ms } of [...received].sort((a, b) => isAnswered(a) - isAnswered(b))) {
      const id = permitOf(n) ?? '';
      const permit = permits.get(id);
      assert.ok(permit !== undefined, `call ${String(n)} reached the server without a permit`);
      assert.ok(isFor(permit.scope, n), `the permit of call ${String(n)} is for other arguments`);
      assert.ok(permit.used_ms <= at_ms, `the permit of call ${String(n)} was used after the call`);
      permits.delete(id);
    }
    return { received: received.length, uses: uses.length, results: results.length };
  } finally {
    await running.close(true);
  }
}
