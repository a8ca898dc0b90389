// A closed database with all that it holds in its tables, and none of it in the write-ahead log.

import { ClassicLevel } from 'classic-level';

/** Writes it there. Tables are not compressed, as the store's own are not. */
export async function intoTables(folder: string): Promise<void> {
  const db = new ClassicLevel<Uint8Array, Uint8Array>(folder, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    compression: false,
  });
  await db.open();
  await db.compactRange(Uint8Array.of(0), Uint8Array.of(255));
  await db.close();
}
