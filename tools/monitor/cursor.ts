// What a monitor remembers of a log between runs: the newest note that it has checked up to, a replay at
// rest, and leaf hashes. Files but the last are replaced whole, so that a crash leaves the old or the new one.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  IDLE_MS,
  isJsonObject,
  isLogError,
  makeFolder,
  parseJson,
  removeLeftovers,
  writeDurableFile,
} from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { LeafHashes } from './leaf-hashes.ts';

/** How far a monitor has checked a log. */
export interface Cursor {
  readonly schema: 'actlog-monitor-cursor-v1';
  readonly origin: string;
  /** Pinned on first use: another one is another log. */
  readonly vkey: string;
  readonly vkey_source: string;
  /** The verifier key of its ML-DSA-44 key, if one was named; pinned like `vkey`. */
  readonly vkey_ml_dsa?: string;
  /** The newest note that everything up to was checked for; null before the first. */
  readonly note: string | null;
  /** The log has ended: nothing follows in it. */
  readonly closed: boolean;
  /** Time of the last entry that was checked. */
  readonly last_ms: number;
}

/** The files of one log in the state folder. */
export class CursorFiles {
  readonly #folder: string;
  readonly #name: string;

  /** `name` such as `live-1`. */
  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
  }

  /** Where a finding is kept; while it is there, the monitor holds. */
  get violationPath(): string {
    return join(this.#folder, `${this.#name}.violation.json`);
  }

  /** Leaf hashes of everything that was checked. */
  leafHashes(): LeafHashes {
    return new LeafHashes(this.#path('.leaves'));
  }

  async read(): Promise<Cursor | null> {
    await removeLeftovers(this.#folder, { idle_ms: IDLE_MS });
    const bytes = await this.#read('.json');
    if (bytes === null) return null;
    const value = objectIn(bytes);
    if (value?.['schema'] === 'actlog-monitor-cursor-v1') return value as unknown as Cursor;
    const way = 'move it away, and the log is pinned and checked anew';
    throw new CommandError(`${this.#path('.json')} is no cursor: ${way}`, EXIT.unknown);
  }

  async write(cursor: Cursor): Promise<void> {
    await this.#replace('.json', Buffer.from(`${JSON.stringify(cursor, null, 2)}\n`));
  }

  readReplay(): Promise<Uint8Array | null> {
    return this.#read('.replay');
  }

  async writeReplay(state: Uint8Array): Promise<void> {
    await this.#replace('.replay', state);
  }

  async readViolation(): Promise<JsonObject | null> {
    const bytes = await this.#read('.violation.json');
    if (bytes === null) return null;
    const document = objectIn(bytes);
    if (document !== null) return document;
    const way = 'the monitor holds until it is moved away';
    throw new CommandError(`${this.violationPath} cannot be read: ${way}`, EXIT.unknown);
  }

  async writeViolation(document: JsonObject): Promise<void> {
    await this.#replace('.violation.json', Buffer.from(`${JSON.stringify(document, null, 2)}\n`));
  }

  #path(end: string): string {
    return join(this.#folder, `${this.#name}${end}`);
  }

  async #read(end: string): Promise<Uint8Array | null> {
    try {
      return await readFile(this.#path(end));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  async #replace(end: string, bytes: Uint8Array): Promise<void> {
    await makeFolder(this.#folder);
    await writeDurableFile(this.#path(end), bytes);
  }
}

function objectIn(bytes: Uint8Array): JsonObject | null {
  try {
    const value = parseJson(bytes, { maxBytes: bytes.length + 1 });
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (isLogError(error)) return null;
    throw error;
  }
}
