// Finds the checkpoint from which a start continues: the newest note in the database or in the checkpoint register,
// verified and compared with the tree.

import type { Core } from './core.ts';
import { native } from '../crypto/native.ts';
import { equal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { rootAt } from '../merkle/prove.ts';
import { openCheckpoint, parseCheckpoint } from '../note/checkpoint.ts';
import { splitNote } from '../note/note.ts';
import type { Visible } from './publisher.ts';
import { NOTE, noteKey, rowKey } from '../store/layout.ts';
import type { Remembered } from '../store/register.ts';
import { put, type Store } from '../store/store.ts';

/** The three lines of a signed note. */
export const noteText = (note: string): string => note.slice(0, note.indexOf('\n\n') + 1);

/** A note without the lines of cosigners, as it is sent to witnesses. */
export function ownNote(note: string, origin: string): string {
  const [own = ''] = note.split('\n').filter((line) => line.startsWith(`\u2014 ${origin} `));
  return `${noteText(note)}\n${own}\n`;
}

/** The newest note in the database; null before the first checkpoint. */
export async function storedNote(store: Store): Promise<string | null> {
  const range = { gte: Uint8Array.of(NOTE), lt: rowKey(NOTE + 1, ''), reverse: true, limit: 1 };
  for await (const [, value] of store.scan(range)) return Buffer.from(value).toString();
  return null;
}

/**
 * The newest published note, opened and compared with the tree. Without witnesses the note of the register counts as
 * published, because it may have left the process.
 */
export async function lastVisible(
  core: Core,
  vkey: string,
  remembered: Remembered | null,
): Promise<Visible> {
  const nothing: Visible = {
    size: 0,
    root: new Uint8Array(32),
    note: '',
    map_head_ms: 0,
    published_at_ms: 0,
    cosignatures: 0,
    version: 0,
    keys: 0,
  };
  let note = await storedNote(core.store);
  const outside = remembered?.note ?? null;
  if (outside !== null) {
    const { size } = parseCheckpoint(noteText(outside));
    // The process ended after it wrote the note to the register and before it wrote it to the database.
    if (note === null || size > parseCheckpoint(noteText(note)).size) {
      note = outside;
      await core.store.write([put(noteKey(size), Buffer.from(note))]);
    }
  }
  if (note === null) return nothing;
  const { origin } = core;
  const opened = openCheckpoint(native, note, { origin, vkey });
  if (!equal(rootAt(core.tiles, native, opened.size), opened.root)) {
    throw new LogError(
      'store_corrupt',
      `the tree at size ${String(opened.size)} has another root than its note`,
    );
  }
  const map_head_ms = core.statementAt(opened.size - 1)['issued_at_ms'] as number;
  const { size, root } = opened;
  return {
    ...nothing,
    size,
    root,
    note,
    map_head_ms,
    published_at_ms: map_head_ms,
    // Cosignatures of a published note were verified when they were received.
    cosignatures: splitNote(note).signatures.length - 1,
  };
}

/** Witnesses may have seen the note of the register even if it was never published. */
export function newestNote(remembered: Remembered | null, { size, note }: Visible): string | null {
  const outside = remembered?.note ?? null;
  if (outside !== null && parseCheckpoint(noteText(outside)).size > size) return outside;
  return size === 0 ? null : note;
}
