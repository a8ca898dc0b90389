// The scrub: compares the tables of all databases with their checksums while they are served, at a bounded rate, so
// that a flipped bit on the disk is found before a request reads its row. LevelDB does not compare them; a start
// compares them only after an unclean stop. gateway/API.md §13.

import { sep } from 'node:path';
import type { Logger } from 'pino';
import { tableFaults, Turns } from '../log/index.ts';
import type { TableFault } from '../log/index.ts';
import { every, paused } from './host/every.ts';

/** A hundred GiB take three and a half hours, and cost a core some two per cent. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;

/** A database in the data folder. */
export interface ScrubbedDatabase {
  /** Its place in the data folder, such as `live/1/db`. */
  readonly name: string;
  readonly folder: string;
  /** Whether a read of it failed while it was served. */
  readonly damaged?: () => boolean;
}

/** The results for one database. */
export interface Scrubbed {
  readonly name: string;
  /** How many tables the newest run has compared, and how many there are. The run may be in progress. */
  readonly bytes: number;
  readonly of: number;
  /** When a run over it ended last; null before the first. */
  readonly finished_at_ms: number | null;
  readonly faults: readonly TableFault[];
}

/** Compares databases and keeps the results. */
export class Scrub {
  readonly #databases: () => readonly ScrubbedDatabase[];
  readonly #now: () => number;
  readonly #logger: Logger;
  readonly #rate: number;
  readonly #states = new Map<string, Scrubbed>();
  readonly #turns = new Turns();

  constructor(
    databases: () => readonly ScrubbedDatabase[],
    { now, logger }: { readonly now: () => number; readonly logger: Logger },
    bytes_per_second = BYTES_PER_SECOND,
  ) {
    this.#databases = databases;
    this.#now = now;
    this.#logger = logger;
    this.#rate = bytes_per_second;
  }

  /** One run over all databases; the signal ends it early. */
  run(signal = new AbortController().signal): Promise<void> {
    const stopped = (): boolean => signal.aborted;
    return this.#turns.run(async () => {
      for (const database of this.#databases()) {
        if (stopped()) return;
        try {
          await this.#check(database, signal);
        } catch (err) {
          if (!stopped()) this.#logger.warn({ err, database: database.name }, 'not scrubbed');
        }
      }
    });
  }

  /** The results of every database that was compared. */
  states(): readonly Scrubbed[] {
    return [...this.#states.values()];
  }

  /** The damage in words: a table of each database, or a row that was read; null if there is none. */
  fault(): string | null {
    const found = this.#databases().flatMap(({ name, damaged }) => {
      const place = name.split(sep).join('/');
      const faults = this.#states.get(name)?.faults ?? [];
      const [first] = faults;
      if (first === undefined) {
        return damaged?.() === true ? `a row or block of ${place} that was read is damaged` : [];
      }
      const more = faults.length === 1 ? '' : `, and ${String(faults.length - 1)} more`;
      return `the table ${place}/${first.table} ${first.what}${more}`;
    });
    return found.length === 0 ? null : found.join('; ');
  }

  async #check({ name, folder }: ScrubbedDatabase, signal: AbortSignal): Promise<void> {
    const before = this.#states.get(name);
    const { finished_at_ms = null } = before ?? {};
    // The results of the previous run stay until this one ends.
    const known = before?.faults ?? [];
    const found: TableFault[] = [];
    let at = { bytes: 0, of: 0 };
    const show = (faults: readonly TableFault[], ended: number | null): void => {
      this.#states.set(name, { name, ...at, finished_at_ms: ended, faults });
    };
    show(known, finished_at_ms);
    const checking = tableFaults(folder, {
      pace: async (bytes) => {
        await paused((bytes / this.#rate) * 1000, signal);
        signal.throwIfAborted();
      },
      onTable: (progress) => {
        at = progress;
        show([...known, ...found.filter((fault) => !includes(known, fault))], finished_at_ms);
      },
    });
    for await (const fault of checking) {
      found.push(fault);
      if (includes(known, fault)) continue;
      const { table, what } = fault;
      const help = 'stop, keep a copy, and restore from a backup or a mirror';
      this.#logger.error({ database: name, table, what }, `a table does not hold: ${help}`);
    }
    show(found, this.#now());
  }
}

const includes = (faults: readonly TableFault[], { table, what }: TableFault): boolean =>
  faults.some((known) => known.table === table && known.what === what);

/** Runs a scrub at once and then at each interval, until it is closed. An interval of 0 disables it. */
export function startScrub(
  scrub: Scrub,
  clock: { uptimeMs(): number },
  interval_ms: number,
): { close(): Promise<void> } {
  const stopped = new AbortController();
  const { signal } = stopped;
  const done =
    interval_ms === 0 ? null : every(clock, interval_ms, signal, () => scrub.run(signal));
  return {
    async close() {
      stopped.abort();
      await done;
    },
  };
}
