// A simulated file system: what a file and a folder hold, and what of it a power failure leaves.
//
// A write is on disk after a sync of the file; a name that was made, replaced or removed is on disk after a sync of its
// folder. A power failure keeps any of the changes of names that were not synced, in any combination, and of an
// unsynced file the old content, the new one, the beginning of the new one, or zeros of its length, as file systems
// with delayed allocation leave it. The end of a process alone loses nothing.

import { constants } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Random } from './random.ts';
import { world } from './world.ts';
import type { Latency } from './world.ts';

interface File {
  data: Buffer;
  /** The content after a power failure; null while it is `data`. */
  synced: Buffer | null;
  mode: number;
  modified_ms: number;
}

/** A name: a file, or a folder. */
type Node = File | 'folder';

type Change = readonly (readonly [path: string, node: Node | null])[];

/** What goes wrong with files at the moment. */
export interface DiskFaults {
  /** Every operation that needs room fails with ENOSPC. */
  full: boolean;
  /** A sync returns without doing anything. */
  lying: boolean;
  /** The next sync fails with EIO. */
  failing: boolean;
}

const META: Latency = { from_us: 5, to_us: 60, slow: 0.01 };
const SYNC: Latency = { from_us: 200, to_us: 4000, slow: 0.03 };

export const systemError = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${path}`), { code, syscall: 'simulated' });

/** The files of a machine. */
export class Files {
  readonly faults: DiskFaults = { full: false, lying: false, failing: false };
  /** Called with a folder that was removed with what is in it. */
  removed: (folder: string) => void = () => undefined;
  readonly #names = new Map<string, Node>([['/', 'folder']]);
  readonly #durable = new Map<string, Node>([['/', 'folder']]);
  /** Changes of names that are not on disk, oldest first, by the folder. */
  readonly #changes = new Map<string, Change[]>();

  /** The same files on another machine, all of them on its disk. */
  copy(): Files {
    const other = new Files();
    for (const [path, node] of this.#names) {
      const own = node === 'folder' ? node : { ...node, synced: null };
      other.#names.set(path, own);
      other.#durable.set(path, own);
    }
    return other;
  }

  /** What a power failure leaves. */
  powerFailure(random: Random): void {
    for (const changes of this.#changes.values()) {
      for (const change of changes) if (random.chance(0.5)) apply(this.#durable, change);
    }
    this.#changes.clear();
    for (const path of [...this.#durable.keys()]) {
      if (path !== '/' && this.#durable.get(dirname(path)) !== 'folder') this.#durable.delete(path);
    }
    for (const node of new Set(this.#durable.values())) {
      if (node === 'folder' || node.synced === null) continue;
      node.data = left(node.synced, node.data, random);
      node.synced = null;
    }
    this.#names.clear();
    for (const [path, node] of this.#durable) this.#names.set(path, node);
  }

  node(path: string): Node {
    const node = this.#names.get(path);
    if (node === undefined) throw systemError('ENOENT', path);
    return node;
  }

  file(path: string): File {
    const node = this.node(path);
    if (node === 'folder') throw systemError('EISDIR', path);
    return node;
  }

  has(path: string): boolean {
    return this.#names.has(path);
  }

  list(folder: string): string[] {
    if (this.node(folder) !== 'folder') throw systemError('ENOTDIR', folder);
    const prefix = folder === '/' ? '/' : `${folder}/`;
    return [...this.#names.keys()]
      .filter(
        (path) =>
          path !== '/' && path.startsWith(prefix) && !path.slice(prefix.length).includes('/'),
      )
      .map((path) => basename(path))
      .sort();
  }

  change(folder: string, change: Change): void {
    apply(this.#names, change);
    const changes = this.#changes.get(folder) ?? [];
    changes.push(change);
    this.#changes.set(folder, changes);
  }

  /** The path of a file that has a text; null if none has. */
  find(text: string): string | null {
    const has = (node: Node): boolean => node !== 'folder' && node.data.includes(text);
    return [...this.#names].find(([, node]) => has(node))?.[0] ?? null;
  }

  /** Makes the files by which LevelDB finds its tables. False if they are there. */
  makeDatabase(folder: string): boolean {
    if (this.has(`${folder}/CURRENT`)) return false;
    if (!this.has(folder)) this.change(dirname(folder), [[folder, 'folder']]);
    const file = (text: string): File => ({
      data: Buffer.from(text),
      synced: null,
      mode: 0o644,
      modified_ms: world().wall_ms,
    });
    // LevelDB syncs the folder before it writes the first row.
    const made: Change = [
      [`${folder}/MANIFEST-000001`, file('')],
      [`${folder}/CURRENT`, file('MANIFEST-000001\n')],
    ];
    apply(this.#names, made);
    if (this.faults.lying) this.change(folder, made);
    else apply(this.#durable, made);
    return true;
  }

  make(path: string, mode: number): File {
    this.#room(path);
    if (this.node(dirname(path)) !== 'folder') throw systemError('ENOTDIR', path);
    const file = {
      data: Buffer.alloc(0),
      synced: Buffer.alloc(0),
      mode,
      modified_ms: world().wall_ms,
    };
    this.change(dirname(path), [[path, file]]);
    return file;
  }

  write(file: File, path: string, data: Buffer): void {
    this.#room(path);
    file.synced ??= file.data;
    file.data = data;
    file.modified_ms = world().wall_ms;
  }

  syncFile(file: File, path: string): void {
    this.#fail(path);
    if (!this.faults.lying) file.synced = null;
  }

  syncFolder(path: string): void {
    this.#fail(path);
    if (this.faults.lying) return;
    for (const change of this.#changes.get(path) ?? []) apply(this.#durable, change);
    this.#changes.delete(path);
  }

  #room(path: string): void {
    if (this.faults.full) throw systemError('ENOSPC', path);
  }

  #fail(path: string): void {
    if (!this.faults.failing) return;
    this.faults.failing = false;
    throw systemError('EIO', path);
  }
}

function apply(names: Map<string, Node>, change: Change): void {
  for (const [path, node] of change) {
    if (node === null) names.delete(path);
    else names.set(path, node);
  }
}

function left(before: Buffer, now: Buffer, random: Random): Buffer {
  switch (random.int(4)) {
    case 0:
      return before;
    case 1:
      return now;
    case 2:
      return now.subarray(0, random.int(now.length + 1));
    default:
      return Buffer.alloc(now.length);
  }
}

// The functions of node:fs/promises that the product calls.

let files = new Files();

/** The files of the present world. */
export const theFiles = (): Files => files;

/** Puts the files of another machine in their place. */
export function useFiles(other: Files): void {
  files = other;
}

const meta = <T>(work: () => T): Promise<T> => world().operation(META, work);

class Handle {
  readonly #path: string;
  readonly #file: File | null;

  constructor(path: string, file: File | null) {
    this.#path = path;
    this.#file = file;
  }

  chmod(mode: number): Promise<void> {
    return meta(() => {
      this.#own().mode = mode;
    });
  }

  utimes(_accessed: Date, modified: Date): Promise<void> {
    return meta(() => {
      this.#own().modified_ms = modified.getTime();
    });
  }

  writeFile(data: string | Uint8Array): Promise<void> {
    return meta(() => {
      files.write(this.#own(), this.#path, Buffer.from(data));
    });
  }

  write(
    bytes: Uint8Array,
    from: number,
    length: number,
    position: number,
  ): Promise<{ bytesWritten: number }> {
    return meta(() => {
      const file = this.#own();
      const data = Buffer.alloc(Math.max(file.data.length, position + length));
      file.data.copy(data);
      data.set(bytes.subarray(from, from + length), position);
      files.write(file, this.#path, data);
      return { bytesWritten: length };
    });
  }

  readFile(): Promise<Buffer> {
    return meta(() => Buffer.from(this.#own().data));
  }

  stat(): Promise<ReturnType<typeof statOf>> {
    return meta(() => statOf(this.#own()));
  }

  sync(): Promise<void> {
    return world().operation(SYNC, () => {
      world().trace(() => `sync ${this.#path}`);
      if (this.#file === null) files.syncFolder(this.#path);
      else files.syncFile(this.#file, this.#path);
    });
  }

  close(): Promise<void> {
    return meta(() => undefined);
  }

  #own(): File {
    if (this.#file === null) throw systemError('EISDIR', this.#path);
    return this.#file;
  }
}

function statOf(node: Node) {
  const file = node === 'folder' ? null : node;
  const time = new Date(file?.modified_ms ?? 0);
  return {
    mode: file === null ? constants.S_IFDIR | 0o755 : constants.S_IFREG | file.mode,
    size: file?.data.length ?? 0,
    mtimeMs: time.getTime(),
    mtime: time,
    atime: time,
    isFile: () => file !== null,
    isDirectory: () => file === null,
  };
}

export const open = (path: string, flags: string | number = 'r', mode = 0o666): Promise<Handle> =>
  meta(() => {
    if (flags === 'wx') {
      if (files.has(path)) throw systemError('EEXIST', path);
      return new Handle(path, files.make(path, mode));
    }
    if (flags === 'w') {
      const file = files.has(path) ? files.file(path) : files.make(path, mode);
      files.write(file, path, Buffer.alloc(0));
      return new Handle(path, file);
    }
    const node = files.node(path);
    return new Handle(path, node === 'folder' ? null : node);
  });

export const rename = (from: string, to: string): Promise<void> =>
  meta(() => {
    world().trace(() => `rename ${from} to ${to}`);
    files.change(dirname(to), [
      [from, null],
      [to, files.file(from)],
    ]);
  });

export const link = (from: string, to: string): Promise<void> =>
  meta(() => {
    if (files.has(to)) throw systemError('EEXIST', to);
    world().trace(() => `link ${from} to ${to}`);
    files.change(dirname(to), [[to, files.file(from)]]);
  });

export const unlink = (path: string): Promise<void> =>
  meta(() => {
    files.file(path);
    files.change(dirname(path), [[path, null]]);
  });

export const rm = (
  path: string,
  options: { recursive?: boolean; force?: boolean } = {},
): Promise<void> =>
  meta(() => {
    if (options.force === true && !files.has(path)) return;
    if (files.node(path) !== 'folder') {
      files.change(dirname(path), [[path, null]]);
      return;
    }
    if (options.recursive !== true) throw systemError('EISDIR', path);
    const remove = (folder: string): void => {
      for (const name of files.list(folder)) {
        const child = `${folder}/${name}`;
        if (files.node(child) === 'folder') remove(child);
        else files.change(folder, [[child, null]]);
      }
      files.change(dirname(folder), [[folder, null]]);
    };
    remove(path);
    files.removed(path);
  });

export const mkdir = (
  path: string,
  options: { recursive?: boolean } = {},
): Promise<string | undefined> =>
  meta(() => {
    let first: string | undefined;
    const make = (folder: string): void => {
      if (files.has(folder)) return;
      if (options.recursive === true) make(dirname(folder));
      first ??= folder;
      files.change(dirname(folder), [[folder, 'folder']]);
    };
    make(path);
    return first;
  });

export const readdir = (path: string): Promise<string[]> => meta(() => files.list(path));
export const lstat = (path: string) => meta(() => statOf(files.node(path)));
export const stat = lstat;

export const access = (path: string): Promise<void> =>
  meta(() => {
    files.node(path);
  });

export function readFile(path: string): Promise<Buffer>;
export function readFile(path: string, encoding: 'utf8'): Promise<string>;
export function readFile(path: string, encoding?: 'utf8'): Promise<string | Buffer> {
  return meta(() => {
    const { data } = files.file(path);
    return encoding === undefined ? Buffer.from(data) : data.toString(encoding);
  });
}

export const rmdir = (path: string): Promise<void> =>
  meta(() => {
    if (files.list(path).length > 0) throw systemError('ENOTEMPTY', path);
    files.change(dirname(path), [[path, null]]);
  });

export const chmod = (path: string, mode: number): Promise<void> =>
  meta(() => {
    const node = files.node(path);
    if (node !== 'folder') node.mode = mode;
  });

/** A file system that the product does not know, so that it does not compare inodes. */
export const statfs = (path: string): Promise<{ type: bigint; bavail: number; bsize: number }> =>
  meta(() => {
    files.node(path);
    return { type: 0n, bavail: files.faults.full ? 0 : 1_000_000, bsize: 4096 };
  });

const absent = (name: string) => (): never => {
  throw new Error(`the simulated file system has no ${name}`);
};
export const mkdtemp = absent('mkdtemp');
export const writeFile = absent('writeFile');
export const utimes = absent('utimes');
