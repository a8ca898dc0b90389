// A real database that runs code before or after its writes, for tests of failures, delays and crashes there.

import { openStore } from '../../../log/store/store.ts';
import type { Store, Write } from '../../../log/store/store.ts';

/** Replaces `write`; it receives the original. */
export type Writing = (
  writes: readonly Write[],
  write: (writes: readonly Write[]) => Promise<void>,
) => Promise<void>;

/** Opens the database in a folder; all operations but writes are unchanged. */
export async function openWithWrite(folder: string, writing: Writing): Promise<Store> {
  const store = await openStore(folder);
  return {
    get: (key) => store.get(key),
    write: (writes) => writing(writes, (all) => store.write(all)),
    scan: (range) => store.scan(range),
    scanKeys: (range) => store.scanKeys(range),
    copy: () => store.copy(),
    close: () => store.close(),
  };
}
