// A log as static files of a folder, once or again and again as it grows.

import { setTimeout as sleep } from 'node:timers/promises';
import { isTilesRefused, TilePublisher } from '../../log/index.ts';
import type { PublishedTiles } from '../../log/index.ts';
import type { Mirror } from '../../log/operate.ts';
import { CommandError, EXIT, isCommandError } from '../command-line.ts';
import { isMirrorTrouble } from '../mirror/tiled.ts';
import { StaticFiles } from './static-files.ts';

/** What is exported, and where to. */
export interface ExportOptions {
  readonly mirror: Mirror;
  /** The prefix of the log, below which `checkpoint` and `tile/` are. */
  readonly folder: string;
  /** Without it the signature of the checkpoint is not looked at. */
  readonly vkey?: string;
  readonly onProgress?: (done: number, size: number) => void;
  readonly now?: () => number;
}

/** One log and its folder. */
export class LogExport {
  readonly #publisher: TilePublisher;
  #searched = false;

  constructor({ mirror, folder, vkey, onProgress, now = Date.now }: ExportOptions) {
    this.#publisher = new TilePublisher({
      source: mirror,
      store: new StaticFiles(folder),
      reread: true,
      now,
      ...(vkey === undefined ? {} : { vkey }),
      ...(onProgress === undefined ? {} : { onProgress }),
    });
  }

  /**
   * Brings the folder up to the newest checkpoint of the mirror. The first step reads and compares what is there; later
   * ones continue from it.
   *
   * @throws CommandError when the entries do not lead to the signed root; with exit 3 and both notes when
   *   the checkpoint contradicts the one that the folder has
   */
  async step(): Promise<PublishedTiles> {
    try {
      return await this.#publisher.step();
    } catch (error) {
      if (!isTilesRefused(error)) throw error;
      const exit = { fork: EXIT.violation, behind: EXIT.trouble, foreign: EXIT.failed };
      throw new CommandError(error.message, { ...exit, unproven: EXIT.failed }[error.code]);
    }
  }

  /** Removes partial tiles and bundles whose full one has been there for an hour. */
  async removeSuperseded(): Promise<void> {
    if (!this.#searched) await this.#publisher.findPartials();
    this.#searched = true;
    await this.#publisher.removeSuperseded();
  }
}

/** Brings a folder up to the newest checkpoint of a mirror; continues where an earlier run stopped. */
export const exportLog = (options: ExportOptions): Promise<PublishedTiles> =>
  new LogExport(options).step();

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

/** How a folder follows its source. */
export interface FollowOptions {
  readonly interval_ms: number;
  readonly signal: AbortSignal;
  /** Told of each failed round, with the time until the next one. */
  readonly onTrouble: (message: string, wait_ms: number) => void;
}

/**
 * Runs rounds until the signal. A source that does not answer, or is behind the folder, and an error of the file system
 * are reported and tried again after 1 s, 2 s and so on, up to a minute. Rejects with any other CommandError.
 */
export async function follow(
  round: () => Promise<void>,
  { interval_ms, signal, onTrouble }: FollowOptions,
): Promise<void> {
  const stopped = (): boolean => signal.aborted;
  for (let failures = 0; !stopped();) {
    let wait_ms = interval_ms;
    try {
      await round();
      failures = 0;
    } catch (error) {
      if (!isPassing(error)) throw error;
      wait_ms = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS);
      failures += 1;
      if (!stopped()) onTrouble(error.message, wait_ms);
    }
    await sleep(wait_ms, undefined, { signal }).catch(() => undefined);
  }
}

const isPassing = (error: unknown): error is Error =>
  isMirrorTrouble(error) ||
  (isCommandError(error) && error.exit === EXIT.trouble) ||
  (error instanceof Error && 'syscall' in error);
