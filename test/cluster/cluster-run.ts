// Three nodes on a real PostgreSQL under load, which are held to everything that any of them ever said: every receipt is
// there and verifies, no size has two roots, all nodes serve the same checkpoint, and every repeated request is answered
// as before. With observers, two witnesses cosign every checkpoint that is published, and a monitor replays every entry.
// faults.ts breaks what this file makes whole again.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Auditor, expect, toldOf } from '../../tools/hammer/auditor.ts';
import type { Told } from '../../tools/hammer/auditor.ts';
import { Client, WrongAnswer } from '../../tools/hammer/client.ts';
import type { Answer } from '../../tools/hammer/client.ts';
import { messageOf, WRITE_PATH } from '../../tools/hammer/load.ts';
import { startPostgres } from '../support/postgres.ts';
import type { Postgres } from '../support/postgres.ts';
import { ClusterNode } from './nodes.ts';
import type { Ready } from './nodes.ts';
import { Observers } from './observers.ts';

const WRITERS = 6;
/** How long a writer pauses after each answer. A run is about faults; it leaves the machine time for restarts. */
const PAUSE_MS = 100;
/** How often nodes are asked for their state, and for their checkpoints. */
const POLL_MS = 100;
const WATCH_MS = 250;
/** How many older receipts are looked at again after each fault. */
const SAMPLE = 6;
/** How long a cluster may take to recover from a fault. The target is 5 s; a loaded machine takes longer. */
const RECOVERY_MS = 60_000;

/** A choice from 0 to 1. */
export type Chance = () => number;

/** Numbers from a seed (mulberry32). */
export function seeded(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A writer's requests reach any node, and are repeated with their key until they are answered. */
interface Asked {
  readonly idempotency_key: string;
  readonly body: string;
}

/** Three nodes, their database, and what they said. */
export class Cluster {
  readonly nodes: readonly ClusterNode[];
  readonly postgres: Postgres;
  readonly #folder: string;
  readonly #chance: Chance;
  readonly #remove: () => Promise<void>;
  readonly #observers: Observers | null;
  #clients = new Map<ClusterNode, Client>();
  #auditor: Auditor | null = null;
  /** Checkpoints that any node has served: the root of each size, and the notes that the auditor has not seen. */
  readonly #roots = new Map<number, string>();
  #notes: string[] = [];
  readonly told: Told[] = [];
  #fresh: Told[] = [];
  #next = 0;
  #loading = false;
  #load: Promise<unknown> = Promise.resolve();

  private constructor(
    nodes: readonly ClusterNode[],
    postgres: Postgres,
    folder: string,
    chance: Chance,
    observers: Observers | null,
    remove: () => Promise<void>,
  ) {
    this.nodes = nodes;
    this.postgres = postgres;
    this.#folder = folder;
    this.#chance = chance;
    this.#observers = observers;
    this.#remove = remove;
  }

  static async start(
    chance: Chance,
    {
      names = ['a', 'b', 'c'],
      server,
      database,
      settings = {},
      observed = false,
    }: {
      readonly names?: readonly string[];
      readonly server?: Postgres;
      readonly database?: string;
      readonly settings?: Readonly<Record<string, string>>;
      /** Whether two witnesses and a monitor take part. */
      readonly observed?: boolean;
    } = {},
  ): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-cluster-'));
    const own = server === undefined ? await startPostgres() : null;
    const postgres = server ?? own;
    assert.ok(postgres !== null, 'PostgreSQL is installed');
    const url = database ?? (await postgres.database());
    const observers = observed ? await Observers.start(folder) : null;
    const all = observers === null ? settings : { ...settings, WITNESS_POLICY: observers.policy };
    const nodes: ClusterNode[] = [];
    for (const name of names) nodes.push(await ClusterNode.make(folder, name, url, all));
    const remove = async (): Promise<void> => own?.remove();
    const cluster = new Cluster(nodes, postgres, folder, chance, observers, remove);
    const [first, ...others] = nodes;
    await first?.start();
    const vkeys = first?.vkeys ?? [];
    observers?.know(vkeys);
    await Promise.all(others.map((node) => node.start()));
    const key = first?.keys?.live ?? '';
    for (const node of nodes) cluster.#clients.set(node, new Client(node.url, key, WRITERS + 4));
    cluster.#auditor = await Auditor.open(cluster.#roaming(), 'live');
    const addresses = (): string[] => cluster.#shuffled().map((node) => node.url);
    await observers?.watch(addresses, vkeys);
    return cluster;
  }

  get receipts(): number {
    return this.told.length;
  }

  get checkpoints(): number {
    return this.#roots.size;
  }

  client(node: ClusterNode): Client {
    const client = this.#clients.get(node);
    assert.ok(client !== undefined);
    return client;
  }

  /** Writes until `stopLoad`. */
  startLoad(): void {
    this.#loading = true;
    this.#load = Promise.all([
      ...Array.from({ length: WRITERS }, () => this.#write()),
      ...this.nodes.map((node) => this.#watch(node)),
    ]);
    this.#load.catch(() => undefined);
  }

  /** Waits until every request is answered. Rejects with the first wrong answer. */
  async stopLoad(): Promise<void> {
    this.#loading = false;
    await this.#load;
  }

  /** The node that leads. */
  async leader(ms = RECOVERY_MS): Promise<ClusterNode> {
    const deadline = Date.now() + ms;
    for (;;) {
      for (const node of this.nodes) {
        if (!node.running || node.paused) continue;
        const ready = await node.ready();
        if (ready?.role === 'leader') return node;
      }
      if (Date.now() > deadline) throw new Error('no node leads');
      await sleep(POLL_MS);
    }
  }

  async follower(): Promise<ClusterNode> {
    const leader = await this.leader();
    const others = this.nodes.filter((node) => node !== leader && node.running);
    return this.pick(others);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#chance() * items.length)];
    assert.ok(item !== undefined);
    return item;
  }

  between(least: number, most: number): number {
    return least + this.#chance() * (most - least);
  }

  /** Makes a synchronous standby, and makes it the database while the first one ends without notice. */
  async promote(): Promise<void> {
    const standby = await this.postgres.standby({ synchronous: true });
    await this.write();
    await sleep(this.between(0, 1000));
    await standby.promote();
    this.moveDatabase();
  }

  /** The nodes find the database at its new port, as behind an address that follows the promotion. */
  moveDatabase(): void {
    for (const { toDatabase } of this.nodes) {
      toDatabase.lead(this.postgres.port);
      toDatabase.cut();
    }
  }

  /** Everything runs and passes again. Recovery is up to the cluster. */
  async mend(): Promise<void> {
    for (const node of this.nodes) {
      await node.fillDisk(false);
      node.toDatabase.set('pass');
      node.toDatabase.delay(0);
      node.toNode.set('pass');
      if (node.paused) node.resume();
    }
    await Promise.all(this.nodes.filter((node) => !node.running).map((node) => node.start()));
  }

  /** Waits until all nodes agree on one leader and one size; all of them serve the same checkpoint then. */
  async settle(): Promise<void> {
    const deadline = Date.now() + RECOVERY_MS;
    for (;;) {
      const all = await Promise.all(this.nodes.map((node) => node.ready()));
      const sizes = new Set(all.map((ready) => ready?.applied['live-1']));
      const leaders = all.filter((ready) => ready?.role === 'leader');
      const agreed = new Set(all.map((ready: Ready | null) => ready?.leader));
      if (leaders.length === 1 && sizes.size === 1 && agreed.size === 1 && !agreed.has(null)) {
        const notes = await Promise.all(this.nodes.map((node) => this.#checkpoint(node)));
        if (new Set(notes).size === 1 && notes[0] !== undefined) return;
      }
      if (Date.now() > deadline) throw new Error(`no agreement: ${JSON.stringify(all)}`);
      await sleep(POLL_MS);
    }
  }

  /** Holds the cluster to what it said; `all` looks at every receipt again. */
  async audit(all = false): Promise<void> {
    const auditor = this.#auditor;
    assert.ok(auditor !== null);
    for (const note of this.#notes.splice(0)) await auditor.see(note);
    const older = Array.from({ length: Math.min(SAMPLE, this.told.length) }, () =>
      this.pick(this.told),
    );
    const looked = [...new Set(all ? this.told : [...this.#fresh, ...older])];
    this.#fresh = [];
    const worker = async (): Promise<void> => {
      for (let told = looked.pop(); told !== undefined; told = looked.pop()) {
        await auditor.checkReceipt(told);
        await auditor.checkReplay(WRITE_PATH, told);
      }
    };
    await Promise.all(Array.from({ length: 6 }, worker));
    if (all) await auditor.lookBack();
    await this.#observe(auditor);
    const places = new Set(this.told.map(({ index }) => index));
    assert.equal(places.size, this.told.length, 'two receipts have one index');
  }

  /** Asks one request until it is answered, and returns the node that answered and the milliseconds. */
  async write(nodes: readonly ClusterNode[] = this.nodes): Promise<number> {
    const began = Date.now();
    await this.#ask(this.#request(), nodes);
    return Date.now() - began;
  }

  async close(): Promise<void> {
    this.#loading = false;
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
    await this.#load.catch(() => undefined);
    await Promise.all(this.nodes.map((node) => node.close()));
    await this.#observers?.close();
    await this.#remove();
    if (process.env['KEEP'] === undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  #request(): Asked {
    this.#next += 1;
    const n = this.#next;
    const body = JSON.stringify({ message: messageOf(n), session_id: `s${String(n % 40)}` });
    return { idempotency_key: `cluster-${String(n).padStart(8, '0')}`, body };
  }

  async #write(): Promise<void> {
    while (this.#loading) {
      await this.#ask(this.#request(), this.nodes);
      await sleep(PAUSE_MS);
    }
  }

  /** What the witnesses have cosigned is what the nodes have served, and the monitor has found nothing. */
  async #observe(auditor: Auditor): Promise<void> {
    if (this.#observers === null) return;
    for (const note of await this.#observers.cosigned(auditor.trust.origin)) {
      this.#saw(note);
      await auditor.see(note);
    }
    await this.#observers.passed(auditor.size);
  }

  /** All nodes, in a random order. */
  #shuffled(): ClusterNode[] {
    return this.nodes
      .map((node) => ({ node, place: Math.random() }))
      .sort((a, b) => a.place - b.place)
      .map(({ node }) => node);
  }

  /** Repeats a request at any node until it is answered. */
  async #ask(asked: Asked, nodes: readonly ClusterNode[]): Promise<void> {
    const { idempotency_key, body } = asked;
    const deadline = Date.now() + 2 * RECOVERY_MS;
    for (;;) {
      const node = this.pick(nodes);
      let answer: Answer | null = null;
      try {
        answer = await within(this.client(node).post(WRITE_PATH, body, idempotency_key), 8000);
      } catch {
        // No answer: the outcome is unknown, and the key finds it.
      }
      if (answer !== null) {
        // 409: the earlier attempt is still being answered. 503: no leader at the moment.
        if (answer.status === 200) {
          const told = toldOf(idempotency_key, body, expect(answer, 200, WRITE_PATH));
          this.told.push(told);
          this.#fresh.push(told);
          return;
        }
        if (answer.status !== 503 && answer.status !== 409) expect(answer, 200, WRITE_PATH);
        if (answer.status === 503 && answer.retry_after_s !== 1) {
          throw new WrongAnswer(`503 with Retry-After: ${String(answer.retry_after_s)}`);
        }
      }
      if (Date.now() > deadline) throw new Error(`a write was not answered: ${answer?.text ?? ''}`);
      await sleep(20);
    }
  }

  /** Collects the checkpoints of one node, as a witness does. */
  async #watch(node: ClusterNode): Promise<void> {
    while (this.#loading) {
      if (node.running && !node.paused) await this.#checkpoint(node);
      await sleep(WATCH_MS);
    }
  }

  /** The checkpoint that a node serves; undefined if it does not answer. */
  async #checkpoint(node: ClusterNode): Promise<string | undefined> {
    let text: string;
    try {
      const answer = await within(this.client(node).get('/log/live/1/checkpoint'), 3000);
      if (answer.status !== 200) return undefined;
      ({ text } = answer);
    } catch {
      return undefined;
    }
    this.#saw(text);
    return text;
  }

  /** Records a checkpoint of any node, and compares it with those recorded before. */
  #saw(note: string): void {
    const [, size = '', root = ''] = note.split('\n');
    const known = this.#roots.get(Number(size));
    if (known !== undefined && known !== root) {
      throw new WrongAnswer(`two roots for size ${size}: ${known} and ${root}`);
    }
    if (known === undefined) this.#notes.push(note);
    this.#roots.set(Number(size), root);
  }

  /** Asks any node that answers. */
  #roaming(): Pick<Client, 'get' | 'post'> {
    const roam = async (ask: (client: Client) => Promise<Answer>): Promise<Answer> => {
      const deadline = Date.now() + RECOVERY_MS;
      for (;;) {
        const node = this.pick(this.nodes);
        const answer = await ask(this.client(node)).catch(() => null);
        // A checkpoint of one node may reach another some milliseconds later.
        const early = answer?.text.includes('is no published size') === true;
        if (answer !== null && answer.status !== 503 && !early) return answer;
        if (Date.now() > deadline) throw new Error(`no node answers: ${answer?.text ?? ''}`);
        await sleep(50);
      }
    };
    return {
      get: (path) => roam((client) => client.get(path)),
      post: (path, body, key) => roam((client) => client.post(path, body, key)),
    };
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  promise.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
