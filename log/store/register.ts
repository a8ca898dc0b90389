// The checkpoint register: a small store outside the databases that moves forward only.
//
// Each log keeps its last signed checkpoint in it, and the gateway's database the digest of its last write. A
// database that holds less than the register is a restored backup (log/FORMAT.md §5). One implementation keeps a
// file for each name in a folder; a shared database is another one. Server only.

import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeFolder, removeLeftovers, writeDurableFile } from './durable-file.ts';
import { canonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { LogError } from '../errors.ts';
import { Turns } from '../turns.ts';

/** Named JSON objects, each replaced by compare-and-swap. Values are small: a few kilobytes at most. */
export interface Register {
  /**
   * The value under a name; null when there is none.
   *
   * @throws LogError `store_corrupt` when what is stored is not a JSON object
   */
  read(name: string): Promise<JsonObject | null>;

  /**
   * Replaces the value `from` (null: no value) by `to`. The new value is durable when the promise resolves. Values
   * are compared by their canonical JSON. When the promise rejects with anything but `log_locked`, the register
   * holds `from` or `to`: read it again.
   *
   * @throws LogError `log_locked` when the register holds another value than `from`: another process advanced it
   */
  advance(name: string, from: JsonObject | null, to: JsonObject): Promise<void>;

  /** Where a value is kept, for messages to the operator. */
  where(name: string): string;
}

/** Lower-case words with hyphens: they are names of files and of rows. */
const NAME = /^[a-z][a-z0-9-]{0,63}$/;

/**
 * A register of files `<name>.checkpoint` in one folder, which `advance` makes when it is missing.
 *
 * Calls of one process take turns. Between processes the comparison is not atomic: the lock of the data folder and
 * its identity (`data-folder.ts`) keep a second process from using the same register.
 */
export class FileRegister implements Register {
  readonly folder: string;
  readonly #turns = new Turns();
  /** Names whose temporary files of killed processes are deleted. */
  readonly #swept = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  where(name: string): string {
    if (!NAME.test(name)) throw new Error(`${name} is not a name of a register`);
    return join(this.folder, `${name}.checkpoint`);
  }

  async read(name: string): Promise<JsonObject | null> {
    const path = this.where(name);
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
    const value = parsed(text);
    if (!isJsonObject(value)) {
      throw new LogError('store_corrupt', `${path} is not a checkpoint file`);
    }
    return value;
  }

  async advance(name: string, from: JsonObject | null, to: JsonObject): Promise<void> {
    const path = this.where(name);
    await this.#turns.run(() => this.#advance(name, from, to), path);
  }

  async #advance(name: string, from: JsonObject | null, to: JsonObject): Promise<void> {
    const path = this.where(name);
    if (canonical(await this.read(name)) !== canonical(from)) {
      throw new LogError(
        'log_locked',
        `${path} does not hold what this process last read or wrote there: another process uses the same ` +
          'register, or the file was replaced',
      );
    }
    if (!this.#swept.has(name)) {
      await makeFolder(this.folder);
      await removeLeftovers(this.folder, { of: basename(path) });
      this.#swept.add(name);
    }
    await writeDurableFile(path, `${JSON.stringify(to)}\n`);
  }
}

/** A register whose changes stay in memory, for work that may still be given up. */
export class DraftRegister implements Register {
  readonly #base: Register;
  /** The values that differ from those of the other register. */
  readonly changes = new Map<string, JsonObject>();

  constructor(base: Register) {
    this.#base = base;
  }

  where(name: string): string {
    return this.#base.where(name);
  }

  async read(name: string): Promise<JsonObject | null> {
    return this.changes.get(name) ?? (await this.#base.read(name));
  }

  async advance(name: string, from: JsonObject | null, to: JsonObject): Promise<void> {
    if (canonical(await this.read(name)) !== canonical(from)) {
      throw new LogError('log_locked', `${this.where(name)} does not hold what was read there`);
    }
    this.changes.set(name, to);
  }
}

function parsed(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}
