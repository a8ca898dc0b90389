// The checkpoint register: a small store outside the databases, whose values only move forward.
//
// It holds the last signed checkpoint of each log, and the digest of the last write to the gateway's database. A
// database with less data than the register records is a restored backup (log/FORMAT.md §5). FileRegister keeps a file
// for each name in a folder; postgres-register.ts keeps a row for each name in a shared database. Server only.

import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fromBase64 } from '../encoding/bytes.ts';
import { canonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import { Turns } from '../turns.ts';
import type { Kind } from '../types.ts';
import {
  makeFolder,
  removeLeftovers,
  syncFolder,
  writable,
  writeDurableFile,
} from './durable-file.ts';

/** Named JSON objects, each replaced by compare-and-swap. Values are small: a few kilobytes at most. */
export interface Register {
  /**
   * The value under a name; null when there is none. It is durable when the promise resolves.
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

/** The register of a data folder, which a start opens (data-folder.ts). */
export interface FolderRegister extends Register {
  /** The folder or the database, for messages. */
  readonly place: string;
  /** Whether processes on other machines can use it. */
  readonly shared: boolean;

  /**
   * Makes the register ready for `advance`.
   *
   * @throws LogError `log_unavailable` when it takes no writes; `log_locked` when another process uses it
   */
  prepare(): Promise<void>;

  /** The names that have a value. */
  names(): Promise<string[]>;

  /** Deletes all values, after they have moved to another register. */
  clear(): Promise<void>;

  /** Lets another process use the register at once. */
  close(): Promise<void>;
}

/** Names are lower-case words with hyphens, because they are names of files and rows. */
const NAME = /^[a-z][a-z0-9-]{0,63}$/;

/** Returns the name; throws an Error, which is a defect of the caller, if it is malformed. */
export function checkName(name: string): string {
  if (!NAME.test(name)) throw new Error(`${name} is not a name of a register`);
  return name;
}

/** A temporary file of the register that is older than this was left by a killed process. */
const SWEPT_AFTER_MS = 10_000;

/**
 * A register of files `<name>.checkpoint` in one folder, which `advance` makes when it is missing.
 *
 * Calls of one process take turns. Between processes the comparison is not atomic: the lock of the data folder and
 * its identity (`data-folder.ts`) keep a second process from using the same register.
 */
export class FileRegister implements FolderRegister {
  readonly folder: string;
  readonly shared = false;
  readonly #turns = new Turns();
  /** The sync before the first read, and before the first read after a write that failed. */
  #synced: Promise<void> | null = null;
  /** The names whose leftover temporary files were deleted. */
  readonly #swept = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  get place(): string {
    return this.folder;
  }

  where(name: string): string {
    return join(this.folder, `${checkName(name)}.checkpoint`);
  }

  async prepare(): Promise<void> {
    const { folder } = this;
    try {
      await makeFolder(folder, 0o700);
      await writable(folder);
    } catch (cause) {
      throw new LogError(
        'log_unavailable',
        `the checkpoint register cannot be written in ${folder} (${(cause as Error).message}): make the folder ` +
          'writable, or set CHECKPOINT_DIR to one that is, best on another disk than DATA_DIR',
        { cause },
      );
    }
  }

  async names(): Promise<string[]> {
    const files = await readdir(this.folder).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    });
    return files
      .filter((file) => /^[a-z][a-z0-9-]*\.checkpoint$/.test(file))
      .map((file) => file.slice(0, -'.checkpoint'.length));
  }

  async clear(): Promise<void> {
    for (const name of await this.names()) await rm(this.where(name));
    await rmdir(this.folder).catch(() => undefined);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async read(name: string): Promise<JsonObject | null> {
    const path = this.where(name);
    let text: string;
    try {
      await this.#sync();
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

  /**
   * Makes durable what a process has renamed that was killed, or that could not sync the folder, so that a power failure
   * after the read does not take it back.
   */
  #sync(): Promise<void> {
    this.#synced ??= syncFolder(this.folder).catch((error: unknown) => {
      this.#synced = null;
      throw error;
    });
    return this.#synced;
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
        `${path} has another value than this process last read or wrote: another process uses the same ` +
          'register, or the file was replaced',
      );
    }
    if (!this.#swept.has(name)) {
      await makeFolder(this.folder);
      // Another process may be writing its own temporary file, so only old ones are deleted.
      await removeLeftovers(this.folder, { of: basename(path), idle_ms: SWEPT_AFTER_MS });
      this.#swept.add(name);
    }
    try {
      await writeDurableFile(path, `${JSON.stringify(to)}\n`);
    } catch (error) {
      this.#synced = null; // the file may have been renamed, and the folder not synced
      throw error;
    }
  }
}

/** A register that keeps changes in memory, for work that may still be abandoned. Reads fall through to the base. */
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
      throw new LogError('log_locked', `${this.where(name)} has another value than was read`);
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

// The value of a log in the register. A database with fewer entries is a restored backup, and appending to it would
// fork the log.

/** The last note that may have left the process, and the size and root up to which entries were acknowledged. */
export interface Remembered extends JsonObject {
  readonly origin: string;
  /** null until the first checkpoint. */
  readonly note: string | null;
  readonly acknowledged: { readonly size: number; readonly root: string };
}

/** The name of a log in the register. */
export const registerName = (kind: Kind, number: number): string => `${kind}-${String(number)}`;

/** Reads the value of a log; null if there is none. Throws `store_corrupt` if the value is not that of a log. */
export async function readRemembered(register: Register, name: string): Promise<Remembered | null> {
  const value = await register.read(name);
  if (value === null) return null;
  if (!isRemembered(value)) {
    throw new LogError('store_corrupt', `${register.where(name)} is not a checkpoint of a log`);
  }
  return value;
}

function isRemembered(value: JsonObject): value is Remembered {
  const { origin, note, acknowledged } = value;
  if (typeof origin !== 'string') return false;
  if (note !== null && typeof note !== 'string') return false;
  if (acknowledged === undefined || !isJsonObject(acknowledged)) return false;
  const { size, root } = acknowledged;
  return Number.isSafeInteger(size) && Number(size) >= 0 && isHash(root);
}

function isHash(root: Json | undefined): boolean {
  try {
    return typeof root === 'string' && fromBase64(root, 32).length === 32;
  } catch {
    return false;
  }
}
