// Moves the content of a closed database from the write-ahead log into tables.

import { ClassicLevel } from 'classic-level';

/** Compacts the database. Tables are not compressed, like those of the store. */
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
