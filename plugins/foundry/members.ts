// Schemas that the foundry's entries share. formats.md §2.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { AnsweredEntry } from '../contract.ts';

/** An identifier that may stand in clear. */
export const Name = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$' });

/** An entry id, UUIDv7. */
export const EntryId = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$',
});

/** 32 bytes in hex. */
export const Hex32 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** The schema, or null. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** The one entry that a group of one, or of its last, has. */
export function lastEntry(entries: readonly AnsweredEntry[]): AnsweredEntry {
  const entry = entries.at(-1);
  if (entry === undefined) throw new Error('a group has an entry');
  return entry;
}
