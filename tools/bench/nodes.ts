// Two nodes of a cluster as processes: what a follower costs that has nothing to do, how far its reads are behind, and
// how long writes are refused after the leader was killed.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, startService } from './child.ts';
import type { ChildProgram } from './child.ts';
import { median } from './figure.ts';

/** What was measured. */
export interface NodeFigures {
  /** Share of a core. */
  readonly idle: number;
  /** Milliseconds from the acknowledgement of a batch until the follower answers for its last entry: the longest. */
  readonly lag_ms: number;
  readonly lags_ms: number;
  /** Entries that were acknowledged a second while that was measured. */
  readonly rate: number;
  /** Seconds from SIGKILL of the leader to the first acknowledged write: the longest. */
  readonly failover_s: number;
  readonly failovers_s: number;
}

/** Entries a second and in each batch while the lag is measured. */
const RATE = 1000;
const BATCH = 100;

/**
 * Measures on an empty database.
 *
 * @param folder an empty folder
 */
export async function measureNodes(
  folder: string,
  database: string,
  quick: boolean,
): Promise<NodeFigures> {
  const passphrase = join(folder, 'passphrase');
  await mkdir(folder, { recursive: true });
  await writeFile(passphrase, 'the same on both nodes\n');
  const ports = new Map<string, string>();
  const start = async (name: string): Promise<ChildProgram> => {
    const PORT = ports.get(name) ?? String(await freePort());
    ports.set(name, PORT);
    const settings = { CLUSTER: 'on', DATABASE_URL: database, KEY_PASSPHRASE_FILE: passphrase };
    const service = await startService(join(folder, name), {
      ...settings,
      ...{ PORT, BASE_URL: 'http://bench.example', ADVERTISE: `http://127.0.0.1:${PORT}` },
    });
    return { ...service, url: `http://127.0.0.1:${PORT}` };
  };
  let leader = await start('a');
  const [, key = ''] = /live key: (\S+)/.exec(leader.said.join('\n')) ?? [];
  let follower = await start('b');
  const nodes = new Set([leader, follower]);
  try {
    await write(follower.url, key, 'first');
    // What a start leaves to be done.
    await sleep(5000);
    const idle = await share(follower, quick ? 5000 : 20_000);
    const { longest, median: usual, rate } = await lagOf(follower.url, key, quick ? 3 : 10);
    const seconds: number[] = [];
    for (let turn = 0; turn < (quick ? 1 : 3); turn += 1) {
      const began = performance.now();
      await leader.kill();
      await write(follower.url, key, `after-${String(turn)}`);
      seconds.push((performance.now() - began) / 1000);
      const name = ports.get('a') === new URL(leader.url).port ? 'a' : 'b';
      nodes.delete(leader);
      [leader, follower] = [follower, await start(name)];
      nodes.add(follower);
    }
    return {
      ...{ idle, lag_ms: longest, lags_ms: usual, rate },
      ...{ failover_s: Math.max(...seconds), failovers_s: median(seconds) },
    };
  } finally {
    for (const node of nodes) await node.stop();
  }
}

/** The share of a core that a process uses. */
async function share(service: ChildProgram, ms: number): Promise<number> {
  const [began, before] = [performance.now(), service.processor_s()];
  await sleep(ms);
  return (service.processor_s() - before) / ((performance.now() - began) / 1000);
}

/** Writes through the follower at the rate, and asks it for the last entry of each batch until it answers. */
async function lagOf(
  url: string,
  key: string,
  seconds: number,
): Promise<{ longest: number; median: number; rate: number }> {
  const leader = ((await (await fetch(`${url}/readyz`)).json()) as { leader: string }).leader;
  const lags: number[] = [];
  const turns = (seconds * RATE) / BATCH;
  const every_ms = (1000 * BATCH) / RATE;
  const began = performance.now();
  const batches: Promise<void>[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    await sleep(Math.max(0, began + turn * every_ms - performance.now()));
    batches.push(
      (async () => {
        const id = await writeBatch(leader, key, turn);
        const acknowledged = performance.now();
        while ((await fetch(`${url}/r/${id}`)).status !== 200) await sleep(5);
        lags.push(performance.now() - acknowledged);
      })(),
    );
  }
  await Promise.all(batches);
  const rate = (turns * BATCH) / ((performance.now() - began) / 1000);
  return { longest: Math.max(...lags), median: median(lags), rate };
}

/** Appends a batch at the leader; returns the id of its last entry. */
async function writeBatch(url: string, key: string, turn: number): Promise<string> {
  const lines = Array.from({ length: BATCH }, (_, n) =>
    JSON.stringify({ message: `Schedule interview ${String(turn)}-${String(n)} for Monday` }),
  );
  const answer = await fetch(`${url}/api/v1/classify/batch`, {
    method: 'POST',
    body: lines.join('\n'),
    headers: { 'X-API-Key': key, 'Content-Type': 'application/x-ndjson' },
  });
  const text = await answer.text();
  const last = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as {
    body?: { entry_id?: string };
  };
  if (last.body?.entry_id === undefined) throw new Error(`a batch was refused: ${text}`);
  return last.body.entry_id;
}

/** Repeats a write until it is acknowledged. */
async function write(url: string, key: string, name: string): Promise<void> {
  for (;;) {
    const status = await fetch(`${url}/api/v1/classify`, {
      method: 'POST',
      body: JSON.stringify({ message: name }),
      headers: {
        ...{ 'X-API-Key': key, 'Content-Type': 'application/json' },
        'Idempotency-Key': `bench-${name}`,
      },
    }).then(
      async (answer) => (await answer.text(), answer.status),
      () => 503,
    );
    if (status === 200) return;
    if (status !== 503 && status !== 409) throw new Error(`a write was refused: ${String(status)}`);
    await sleep(20);
  }
}
