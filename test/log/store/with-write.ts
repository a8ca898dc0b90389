// A real database with something before or after its writes: for tests of what fails, waits or dies there.

import { openStore } from '../../../log/store/store.ts';
import type { Store, Write } from '../../../log/store/store.ts';

/** What takes the place of `write`; it is handed the real one. */
export type Writing = (
  writes: readonly Write[],
  write: (writes: readonly Write[]) => Promise<void>,
) => Promise<void>;

/** Opens the database in a folder; all but its writes are its own. */
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
