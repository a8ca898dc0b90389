// The copies of a node: one for each stream of the cluster. Opens and fills them, brings them up to date, and on the
// leader writes snapshots of them.

import type { Logger } from 'pino';
import {
  loadSnapshot,
  makeFolder,
  Replica,
  snapshotBytes,
  writable,
  writeSnapshot,
} from '../../log/index.ts';
import type { ClusterDatabase, StreamPosition } from '../../log/index.ts';
import type { Applied } from './cluster.ts';

/** How often a long filling logs its progress. */
const TOLD_MS = 2000;

/** What the copies are opened with. */
export interface CopiesOptions {
  /** The data folder. */
  readonly data: string;
  readonly database: ClusterDatabase;
  /** The id of the cluster. */
  readonly cluster: string;
  /** The folder of each stream; `add` adds more. */
  readonly folders: ReadonlyMap<string, string>;
  /** Bytes of rounds after which a snapshot is written, at least. */
  readonly snapshot_bytes: number;
  readonly logger: Logger;
  /** Called when a commit failed. */
  readonly onFailure: (error: unknown) => void;
  /** Called after rounds were applied. */
  readonly onApplied: () => void;
}

/** The copies of one node. */
export class Copies {
  readonly #options: CopiesOptions;
  readonly #folders: Map<string, string>;
  readonly #replicas = new Map<string, Replica>();
  /** Bytes of rounds since the last snapshot, and the bytes of that one; negative while they are not known. */
  readonly #bytes = new Map<string, { since: number; last: number }>();
  #snapshotting: Promise<void> | null = null;
  #told_ms = 0;
  #filling: string | null = null;
  /** Whether all copies are open. */
  #open_all = false;

  constructor(options: CopiesOptions) {
    this.#options = options;
    this.#folders = new Map(options.folders);
  }

  /** How far a filling is; null while the copies are complete or nearly so. */
  get filling(): string | null {
    return this.#filling;
  }

  /** Opens all copies. An empty one is filled from the newest snapshot. */
  async open(): Promise<void> {
    for (const [stream, folder] of this.#folders) await this.#open(stream, folder);
    this.#open_all = true;
  }

  /** Opens copies of streams that there are none of yet. */
  async add(folders: ReadonlyMap<string, string>): Promise<void> {
    for (const [stream, folder] of folders) {
      if (this.#replicas.has(stream)) continue;
      await this.#open(stream, folder);
      this.#folders.set(stream, folder);
    }
  }

  /** Whether a copy takes no rounds, because the disk has refused a write. It can be read. */
  get refused(): boolean {
    return !this.#open_all || this.all().some((replica) => replica.refused);
  }

  /** Whether the disk of the data folder takes writes. */
  hasRoom(): Promise<boolean> {
    return writable(this.#options.data).then(
      () => true,
      () => false,
    );
  }

  /** Closes all copies, and opens them again. Nothing may read them. */
  async reopen(): Promise<void> {
    await this.close();
    await this.open();
  }

  /** Deletes all copies, and fills them again. */
  async renew(): Promise<void> {
    this.#open_all = false;
    for (const [stream, folder] of this.#folders) {
      await this.#replicas.get(stream)?.close();
      await Replica.remove(folder);
      await this.#open(stream, folder);
    }
    this.#open_all = true;
  }

  of(stream: string): Replica {
    const replica = this.#replicas.get(stream);
    if (replica === undefined) throw new Error(`this node has no copy of ${stream}`);
    return replica;
  }

  all(): readonly Replica[] {
    return [...this.#replicas.values()];
  }

  positions(): ReadonlyMap<string, StreamPosition> {
    return new Map(this.all().map(({ stream, position }) => [stream, position]));
  }

  applied(): Applied {
    return Object.fromEntries(this.all().map(({ stream, position }) => [stream, position.seq]));
  }

  /** Whether the copies have these rounds. */
  have(applied: Applied): boolean {
    return Object.entries(applied).every(
      ([stream, seq]) => (this.#replicas.get(stream)?.position.seq ?? 0) >= seq,
    );
  }

  /**
   * Applies all rounds that are committed. Rejects like `Replica.pull`.
   *
   * @param serving whether a gateway reads the copies, so that this is no filling
   * @param stopping says whether to end early, between two pages of rounds
   */
  async pull(serving: boolean, stopping: () => boolean): Promise<void> {
    await Promise.all(
      this.all().map(async (replica) => {
        for (let more = true; more && !stopping();) {
          ({ more } = await replica.pull());
          if (more && !serving) {
            this.#filling = `${replica.stream}: round ${String(replica.position.seq)}`;
            this.#tell(replica.stream, { round: replica.position.seq });
          }
          this.#options.onApplied();
        }
      }),
    );
    this.#filling = null;
  }

  lead(epoch: string): void {
    for (const replica of this.all()) replica.lead(epoch);
  }

  /** Refuses writes at once; resolves when the commits in progress have ended. */
  async stopLeading(): Promise<void> {
    await Promise.all(this.all().map((replica) => replica.stopLeading()));
  }

  /** Writes the snapshots that are due, in the background. For the leader. */
  takeSnapshots(): void {
    for (const replica of this.all()) {
      const known = this.#bytes.get(replica.stream) ?? { since: 0, last: -1 };
      known.since += replica.takeBytes();
      this.#bytes.set(replica.stream, known);
    }
    this.#snapshotting ??= this.#writeSnapshots()
      .catch((err: unknown) => this.#options.logger.warn({ err }, 'a snapshot was not written'))
      .finally(() => {
        this.#snapshotting = null;
      });
  }

  async close(): Promise<void> {
    await this.#snapshotting;
    this.#open_all = false;
    for (const replica of this.all()) await replica.close();
    this.#replicas.clear();
  }

  async #open(stream: string, folder: string): Promise<void> {
    const { database, cluster, onFailure } = this.#options;
    const options = { database, stream, folder, cluster, onFailure };
    const found = await Replica.open(options);
    if (!found.empty) {
      this.#replicas.set(stream, found);
      return;
    }
    // A filling that did not finish has left rows, or the node is new.
    await found.close();
    await Replica.remove(folder);
    await makeFolder(folder, 0o700);
    const replica = await Replica.open(options);
    try {
      await loadSnapshot(database, replica, (share) => {
        const percent = Math.floor(share * 100);
        this.#filling = `${stream}: snapshot ${String(percent)} %`;
        this.#tell(stream, { percent });
      });
    } catch (error) {
      // The next try opens it again.
      await replica.close();
      throw error;
    }
    this.#replicas.set(stream, replica);
  }

  #tell(stream: string, progress: object): void {
    const now = performance.now();
    if (now - this.#told_ms < TOLD_MS) return;
    this.#told_ms = now;
    this.#options.logger.info({ stream, ...progress }, 'filling the copy');
  }

  async #writeSnapshots(): Promise<void> {
    const { database, snapshot_bytes, logger } = this.#options;
    for (const [stream, known] of this.#bytes) {
      if (known.since < snapshot_bytes) continue;
      if (known.last < 0) known.last = (await snapshotBytes(database, stream)) ?? 0;
      if (known.since < known.last) continue;
      const replica = this.of(stream);
      known.since = 0;
      known.last = await writeSnapshot(database, replica);
      logger.info({ stream, seq: replica.position.seq, bytes: known.last }, 'wrote a snapshot');
    }
  }
}
