// A consistent copy of a database into a new folder, while writes go on. Private keys and the checkpoint
// file are not part of it: a restored copy must meet the newest checkpoint file, never its own.

import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { LogError } from '../errors.ts';
import { metaKey } from './layout.ts';
import { openStore, put, type Store, type Write } from './store.ts';

const BATCH = 1024;

/** Copies every row to `<folder>/db`; refuses a folder that has one already. */
export async function backupStore(store: Store, folder: string): Promise<{ size: number }> {
  const target = join(folder, 'db');
  const taken = await access(target).then(
    () => true,
    () => false,
  );
  if (taken)
    throw new LogError('out_of_range', `${target} exists already: a backup needs a new folder`);
  const copy = await openStore(target);
  try {
    let batch: Write[] = [];
    for await (const [key, value] of store.copy()) {
      batch.push(put(key, value));
      if (batch.length < BATCH) continue;
      await copy.write(batch);
      batch = [];
    }
    await copy.write(batch);
    const state = copy.get(metaKey('state'));
    return {
      size:
        state === undefined
          ? 0
          : (JSON.parse(Buffer.from(state).toString()) as { size: number }).size,
    };
  } finally {
    await copy.close();
  }
}
