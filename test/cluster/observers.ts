// Who watches a cluster from outside: two witnesses, of which each checkpoint needs one, and a monitor that replays every
// entry. The monitor reads through a door that asks another node where one does not answer or lacks what it is asked for,
// as a load balancer does.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { generateKey, native } from '../../log/index.ts';
import { COSIGNER_KEY, formatVkey, Signer } from '../../log/operate.ts';
import { EXIT } from '../../tools/command-line.ts';
import { runMonitor } from '../../tools/monitor/run.ts';
import type { Report } from '../../tools/monitor/report.ts';
import { serveWitness } from '../../tools/witness/server.ts';
import { Witness } from '../../tools/witness/witness.ts';
import { listening } from '../support/listening.ts';
import type { Listening } from '../support/listening.ts';

/** How long a request of the monitor looks for a node that answers. */
const PATIENCE_MS = 30_000;

/** A witness in this process that listens on a free port. */
interface Watching {
  readonly witness: Witness;
  readonly line: string;
  close(): Promise<void>;
}

/** Two witnesses and a monitor. */
export class Observers {
  /** The file for WITNESS_POLICY. */
  readonly policy: string;
  readonly #folder: string;
  readonly #witnesses: readonly Watching[];
  readonly #stop = new AbortController();
  #door: Listening | null = null;
  #watching: Promise<number> | null = null;
  /** The largest size up to which the monitor has replayed the log. */
  #replayed = 0;
  #changed: () => void = () => undefined;
  #violation: unknown = null;

  private constructor(folder: string, policy: string, witnesses: readonly Watching[]) {
    this.#folder = folder;
    this.policy = policy;
    this.#witnesses = witnesses;
  }

  /** Starts the witnesses, and writes the policy that names them. */
  static async start(folder: string): Promise<Observers> {
    const witnesses = await Promise.all(
      ['one', 'two'].map((name) => startWitness(`witness.example/${name}`, join(folder, name))),
    );
    const policy = join(folder, 'policy');
    const lines = witnesses.map(({ line }) => line);
    const rule = ['group any 1 one two', 'quorum any\n'];
    await writeFile(policy, [...lines, ...rule].join('\n'));
    return new Observers(folder, policy, witnesses);
  }

  /** The witnesses cosign for these logs. */
  know(vkeys: readonly string[]): void {
    for (const { witness } of this.#witnesses) for (const vkey of vkeys) witness.know(vkey);
  }

  /** Starts the monitor. */
  async watch(nodes: () => readonly string[], vkeys: readonly string[]): Promise<void> {
    this.#door = await startDoor(nodes, this.#stop.signal);
    const options = {
      log: 'live' as const,
      state: join(this.#folder, 'monitor'),
      interval: '500ms',
      maxCosignatureAge: '15m',
      cosignServe: '',
      vkey: vkeys,
      policy: this.policy,
    };
    const run = { threads: 0, signal: this.#stop.signal, mirror: { backoff_ms: 100 } };
    this.#watching = runMonitor(this.#door.url, options, { ...run, report: this.#report() });
    this.#watching.then(
      () => this.#changed(),
      (error: unknown) => {
        this.#violation = error;
        this.#changed();
      },
    );
  }

  /** Waits until the monitor has replayed this size, and holds it to having found nothing. */
  async passed(size: number): Promise<void> {
    const deadline = Date.now() + 2 * PATIENCE_MS;
    while (this.#replayed < size && this.#violation === null) {
      const left = deadline - Date.now();
      assert.ok(left > 0, `the monitor is at ${String(this.#replayed)} of ${String(size)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (this.#violation !== null) throw new Error(`monitor: ${JSON.stringify(this.#violation)}`);
  }

  /** The newest checkpoints that the witnesses have cosigned. */
  async cosigned(origin: string): Promise<string[]> {
    const name = hash('sha256', origin);
    const notes = await Promise.all(this.#witnesses.map(({ witness }) => witness.checkpoint(name)));
    return notes.filter((note) => note !== null);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    const code = await this.#watching?.catch(() => EXIT.failed);
    await this.#door?.close();
    for (const witness of this.#witnesses) await witness.close();
    assert.notEqual(code, EXIT.violation, 'the monitor found a violation');
  }

  #report(): Report {
    const ignored = (): void => undefined;
    return {
      pinned: ignored,
      trouble: ignored,
      watched: ignored,
      note: ignored,
      cosignatures: (_, unwitnessed) => {
        if (unwitnessed?.problem !== undefined) this.#violation ??= unwitnessed;
      },
      checked: (_, __, { size, stale }) => {
        if (!stale) this.#replayed = Math.max(this.#replayed, size);
        this.#changed();
      },
      violation: (_, document) => {
        this.#violation ??= document;
      },
    };
  }
}

async function startWitness(name: string, folder: string): Promise<Watching> {
  await mkdir(folder);
  const signer = new Signer(generateKey());
  const witness = await Witness.open({ name, signer, vkeys: [], folder });
  const server = await serveWitness(witness, { host: '127.0.0.1', port: 0 });
  const vkey = formatVkey(native, name, COSIGNER_KEY, signer.publicKey);
  return {
    witness,
    line: `witness ${name.split('/')[1] ?? ''} ${vkey} http://127.0.0.1:${String(server.port)}`,
    async close() {
      await server.close();
      await witness.close();
    },
  };
}

/** Passes each GET to one node after the other until one has an answer. */
function startDoor(nodes: () => readonly string[], signal: AbortSignal): Promise<Listening> {
  return listening((asked, answer) => {
    void (async () => {
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        let last: { readonly status: number; readonly bytes: ArrayBuffer } | null = null;
        for (const node of nodes()) {
          try {
            const got = await request(node + (asked.url ?? ''), { headersTimeout: 1000, signal });
            last = { status: got.statusCode, bytes: await got.body.arrayBuffer() };
            if (last.status === 200) break;
          } catch {
            // The next node, or this one later.
          }
        }
        const asks = last !== null && last.status !== 503;
        if (asks || Date.now() > deadline || signal.aborted) {
          answer.writeHead(last?.status ?? 504).end(Buffer.from(last?.bytes ?? new ArrayBuffer()));
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
  });
}
