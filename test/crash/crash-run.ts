// Kills a server at random moments under load, restarts it, and checks it against all its earlier answers: no
// acknowledged receipt is lost or changed, no size has two roots, each idempotency key gets the same answer, and fsck
// finds no difference.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fsck } from '../../log/operate/fsck/fsck.ts';
import { LOG_KINDS } from '../../log/index.ts';
import type { Kind } from '../../log/index.ts';
import { FileRegister } from '../../log/store/register.ts';
import { Auditor, expect, toldOf } from '../../tools/hammer/auditor.ts';
import type { Told } from '../../tools/hammer/auditor.ts';
import { Client, WrongAnswer } from '../../tools/hammer/client.ts';
import { messageOf, WRITE_PATH } from '../../tools/hammer/load.ts';
import { freePort } from '../support/free-port.ts';
import { ChildServer } from './child-server.ts';
import type { ServerPlace } from './child-server.ts';

const WRITERS = 12;
/** Minimum and maximum time of the server under load, in milliseconds. */
const LIFE_MS = [20, 700] as const;
/** The number of older receipts checked after each start. */
const SAMPLE = 12;
/** fsck runs after this number of kills, and at the end. */
const FSCK_EVERY = 20;

/** The result of a run. */
export interface CrashReport {
  readonly kills: number;
  readonly receipts: number;
  /** Requests without an answer, repeated with their idempotency key after the restart. */
  readonly unanswered: number;
  /** Those of them that had been appended before the crash. */
  readonly bound: number;
  readonly checkpoints: number;
  readonly fscks: number;
}

interface Asked {
  readonly idempotency_key: string;
  readonly body: string;
}

/** One log of the server, its writers and the answers that they received. */
export class Side {
  readonly kind: Kind;
  readonly client: Client;
  auditor: Auditor | null = null;
  readonly told: Told[] = [];
  /** Answers since the last start. */
  fresh: Told[] = [];
  unanswered: Asked[] = [];
  #next = 0;

  constructor(kind: Kind, url: string, key: string) {
    this.kind = kind;
    this.client = new Client(url, key, WRITERS + 4);
  }

  /** Writes until the server has ended. */
  async write(): Promise<void> {
    for (;;) {
      this.#next += 1;
      const n = this.#next;
      const asked = {
        idempotency_key: `crash-${this.kind}-${String(n)}`,
        body: JSON.stringify({ message: messageOf(n), session_id: `s${String(n % 40)}` }),
      };
      try {
        this.#take(asked, await this.client.post(WRITE_PATH, asked.body, asked.idempotency_key));
      } catch (error) {
        if (error instanceof WrongAnswer) throw error;
        this.unanswered.push(asked);
        return;
      }
    }
  }

  /** Collects checkpoints until the server has ended. */
  async watch(): Promise<void> {
    for (;;) {
      try {
        await this.auditor?.look();
      } catch (error) {
        if (error instanceof WrongAnswer) throw error;
        return;
      }
    }
  }

  /** Repeats requests without an answer, and returns how many had been appended before. */
  async askAgain(): Promise<number> {
    let bound = 0;
    await eachOf(this.unanswered, async (asked) => {
      const answer = await this.client.post(WRITE_PATH, asked.body, asked.idempotency_key);
      if (answer.replayed) bound += 1;
      this.#take(asked, answer);
    });
    this.unanswered = [];
    return bound;
  }

  /** Checks all new receipts, and a sample of older ones. */
  async audit(all: boolean): Promise<void> {
    const auditor = (this.auditor ??= await Auditor.open(this.client, this.kind));
    const older = Array.from(
      { length: Math.min(SAMPLE, this.told.length) },
      () => this.told[Math.floor(Math.random() * this.told.length)]!,
    );
    const looked = new Set(all ? this.told : [...this.fresh, ...older]);
    await eachOf([...looked], async (told) => {
      await auditor.checkReceipt(told);
      await auditor.checkReplay(WRITE_PATH, told);
    });
    this.fresh = [];
    await auditor.look();
    if (all) await auditor.lookBack();
    // No two receipts have the same index.
    const places = new Set(this.told.map(({ index }) => index));
    assert.equal(places.size, this.told.length, 'two receipts of one index');
  }

  #take(asked: Asked, answer: Awaited<ReturnType<Client['post']>>): void {
    const { idempotency_key, body } = asked;
    const told = toldOf(idempotency_key, body, expect(answer, 200, WRITE_PATH));
    this.told.push(told);
    this.fresh.push(told);
  }
}

/** Eight concurrent workers. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** Runs fsck on the logs of a stopped server. */
export async function checkFolders(data: string, sides: readonly Side[]): Promise<void> {
  for (const { kind, auditor } of sides) {
    const result = await fsck({
      folder: join(data, kind, '1'),
      outside: { register: new FileRegister(join(data, 'checkpoints')), name: `${kind}-1` },
      ...(auditor === null ? {} : { vkey: auditor.trust.vkey }),
    });
    assert.deepEqual(result.differences, [], `fsck of the ${kind} log`);
  }
}

/** Kills the given number of times; throws at the first error. */
export async function crashRun(
  kills: number,
  progress: (done: number, report: CrashReport) => void = () => undefined,
): Promise<CrashReport> {
  const data = await mkdtemp(join(tmpdir(), 'actlog-crash-'));
  const place: ServerPlace = { data, port: await freePort() };
  let server = await ChildServer.start(place);
  const sides = LOG_KINDS.map((kind) => new Side(kind, server.url, server.keys.get(kind) ?? ''));
  const count = { unanswered: 0, bound: 0, fscks: 0 };
  const report = (done: number): CrashReport => ({
    ...count,
    kills: done,
    receipts: sides.reduce((sum, side) => sum + side.told.length, 0),
    checkpoints: sides.reduce((sum, side) => sum + (side.auditor?.checkpoints ?? 0), 0),
  });
  try {
    for (const side of sides) await side.audit(false);
    for (let kill = 1; kill <= kills; kill += 1) {
      const load = Promise.all(
        sides.flatMap((side) => [
          side.watch(),
          ...Array.from({ length: WRITERS }, () => side.write()),
        ]),
      );
      const [least, most] = LIFE_MS;
      const life = new Promise((resolve) =>
        setTimeout(resolve, least + Math.random() * (most - least)),
      );
      // A wrong answer ends the load, and then the run.
      await Promise.race([life, load]);
      await server.kill();
      await load;
      if (kill % FSCK_EVERY === 0 || kill === kills) {
        await checkFolders(data, sides);
        count.fscks += 1;
      }
      server = await ChildServer.start(place);
      for (const { unanswered } of sides) count.unanswered += unanswered.length;
      for (const bound of await Promise.all(sides.map((side) => side.askAgain()))) {
        count.bound += bound;
      }
      await Promise.all(sides.map((side) => side.audit(kill === kills)));
      progress(kill, report(kill));
    }
    assert.equal(await server.stop(), 0, 'an orderly stop');
    await checkFolders(data, sides);
    count.fscks += 1;
    return report(kills);
  } finally {
    await server.kill();
    await Promise.all(sides.map(({ client }) => client.close()));
    await rm(data, { recursive: true, force: true });
  }
}
