// What the disk costs and holds, for /metrics: the time of each synced batch, a probe of fsync that does not depend on
// load, free bytes, and the sizes of the databases.

import { open, readdir, stat, statfs, unlink } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Gauge } from 'prom-client';
import { openStore } from '../log/index.ts';
import type { Kind, Store } from '../log/index.ts';
import { every } from './host/every.ts';
import type { Metrics } from './metrics.ts';

const PROBE_EVERY_MS = 15_000;
const PROBE_BYTES = 4096;

/** Opens the database of a log; its synced batches are measured. */
export const timedStore =
  (metrics: Metrics, kind: Kind) =>
  async (folder: string): Promise<Store> => {
    const store = await openStore(folder);
    const write = store.write.bind(store);
    store.write = async (writes, options) => {
      const started = performance.now();
      await write(writes, options);
      if (options?.sync !== false) metrics.commit(kind, (performance.now() - started) / 1000);
    };
    return store;
  };

/** Measures an fsync of a small file in a folder at intervals. The file has no name while it is open. */
export function startFsyncProbe(
  metrics: Metrics,
  folder: string,
  clock: { uptimeMs(): number },
): { close(): Promise<void> } {
  const stopped = new AbortController();
  const done = every(clock, PROBE_EVERY_MS, stopped.signal, async () => {
    // A disk that takes nothing shows in the health of the logs.
    await probe(folder)
      .then((seconds) => metrics.fsync(seconds))
      .catch(() => undefined);
  });
  return {
    async close() {
      stopped.abort();
      await done;
    },
  };
}

async function probe(folder: string): Promise<number> {
  const path = join(folder, '.fsync-probe');
  const file = await open(path, 'w', 0o600);
  try {
    await unlink(path);
    await file.write(Buffer.alloc(PROBE_BYTES));
    const started = performance.now();
    await file.sync();
    return (performance.now() - started) / 1000;
  } finally {
    await file.close();
  }
}

/** Adds free bytes of the data folder, and the size of each database in it. */
export function observeDisk(
  metrics: Metrics,
  data: string,
  databases: () => readonly { readonly name: string; readonly folder: string }[],
): void {
  const registers = [metrics.registry];
  new Gauge({
    name: 'actlog_disk_free_bytes',
    help: 'Bytes that the service may still write to the file system of the data folder.',
    registers,
    async collect() {
      const { bavail, bsize } = await statfs(data);
      this.set(bavail * bsize);
    },
  });
  new Gauge({
    name: 'actlog_database_bytes',
    help: 'Size of the files of a database.',
    labelNames: ['database'],
    registers,
    async collect() {
      for (const { name, folder } of databases()) {
        this.set({ database: name.split(sep).join('/') }, await folderBytes(folder));
      }
    },
  });
}

async function folderBytes(folder: string): Promise<number> {
  // A database that a cluster keeps elsewhere has no folder.
  const names = await readdir(folder).catch(() => []);
  // LevelDB deletes files while they are listed.
  const sizeOf = (name: string) => stat(join(folder, name)).catch(() => ({ size: 0 }));
  const files = await Promise.all(names.map(sizeOf));
  return files.reduce((sum, { size }) => sum + size, 0);
}
