// Turns signed rounds into one batch of writes: entries, index rows, tiles, heads and plugin rows. Each round is
// integrated once, in order.

import type { Core, Written } from './core.ts';
import { native } from '../crypto/native.ts';
import { encodeHead, vhashOf } from '../map/head.ts';
import type { Moved, Placed } from './placing.ts';
import { entryBytesOf, entryText } from './statement.ts';
import {
  ATTACHED_ROW,
  chainRowKey,
  entryKey,
  headKey,
  indexValue,
  leafKey,
  metaKey,
  rowKey,
  tileKey,
} from '../store/layout.ts';
import { put, write } from '../store/store.ts';
import type { Write } from '../store/store.ts';
import type { Appended, AttachedRow, Head, AppendOptions, Draft } from '../types.ts';
import type { Position } from './state.ts';

// A round: the groups that the sequencer places together, that are signed with one message and become durable in one
// batch.

/** A group of entries of one append call: all of them are appended, or none. */
export interface Waiting {
  readonly drafts: readonly Draft[];
  readonly options: AppendOptions;
  readonly resolve: (entries: readonly Appended[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Groups with their places in the log, in order. */
export interface Round {
  /** Ascending; rows that are not durable yet are kept under it. */
  readonly id: number;
  /** Groups whose entries are `placed[from]` to `placed[to - 1]`. */
  readonly groups: {
    readonly waiting: Pick<Waiting, 'resolve' | 'reject'>;
    readonly from: number;
    readonly to: number;
  }[];
  /** Refused groups, rejected when the round is durable, because a refusal may depend on entries of the round. */
  readonly refused: { readonly waiting: Waiting; readonly error: unknown }[];
  readonly placed: Placed[];
  readonly attached: AttachedRow[];
  /** The position of the log after the round. */
  position: Position;
}

/** A round without groups, after everything that is placed. */
export const newRound = (id: number, position: Position): Round => ({
  ...{ id, groups: [], refused: [], placed: [], attached: [] },
  position,
});

const NOTHING = new Uint8Array(0);

/** The result of integrating rounds: the batch, the entries, and the heads with which the map must be updated. */
export interface Integrated {
  readonly writes: Write[];
  readonly entries: readonly Appended[];
  /** The same, as they are on disk. */
  readonly written: readonly Written[];
  /** n × (skey[32] ‖ vhash[32]), each chain once. */
  readonly updates: Uint8Array;
}

/** A signed entry: its text, its leaf hash and the chains that it extends. */
export interface Entry {
  readonly appended: Appended;
  readonly bytes: Buffer;
  readonly moved: readonly Moved[];
}

/** Joins a placed entry with its signature. */
export function sealed(placed: Placed, signature: Uint8Array): Entry {
  const text = Buffer.from(signature.buffer, signature.byteOffset, signature.length).toString(
    'base64',
  );
  const { sequenced, disclosures, moved } = placed;
  const { bytes, leaf_hash } = entryBytesOf(placed.text, placed.signed, text);
  const entry = entryText(placed.text, text);
  return {
    appended: {
      index: sequenced.index,
      entry_id: sequenced.entry_id,
      issued_at_ms: sequenced.issued_at_ms,
      type: sequenced.type,
      statement: sequenced.statement,
      links: sequenced.links,
      signature: text,
      text: entry,
      leaf_hash,
      disclosures,
    },
    bytes,
    moved,
  };
}

/** Appends the entries of rounds that follow each other to the right edge, and lists every write of their batch. */
export function integrate(
  core: Core,
  rounds: readonly Pick<Round, 'id' | 'position'>[],
  entries: readonly Entry[],
  attached: readonly AttachedRow[],
): Integrated {
  const writes: Write[] = [];
  const written: Written[] = [];
  const heads = new Map<string, { skey: Uint8Array; head: Head }>();
  for (const { appended, bytes, moved } of entries) {
    const { index, entry_id, issued_at_ms, leaf_hash } = appended;
    written.push({ index, entry_id, bytes });
    core.edge.append(leaf_hash);
    writes.push(put(entryKey(index), bytes), put(leafKey(leaf_hash), indexValue(index)));
    for (const { skey, id, link } of moved) {
      const { seq, prev_index, prev_ms } = link;
      // A chain of one entry has no rows, because its head is enough. The second entry writes the rows of both.
      if (seq === 1 && prev_index !== null && prev_ms !== null) {
        writes.push(put(chainRowKey(skey, prev_ms, prev_index), NOTHING));
      }
      if (seq > 0) writes.push(put(chainRowKey(skey, issued_at_ms, index), NOTHING));
      heads.set(id, {
        skey,
        head: {
          count: seq + 1,
          last_index: index,
          last_ms: issued_at_ms,
          last_leaf_hash: leaf_hash,
        },
      });
    }
  }
  const updates = new Uint8Array(heads.size * 64);
  let at = 0;
  for (const { skey, head } of heads.values()) {
    const record = encodeHead(head);
    writes.push(put(headKey(skey), record));
    updates.set(skey, at);
    updates.set(vhashOf(native, record), at + 32);
    at += 64;
  }
  for (const { level, n, hashes } of core.edge.takeDirty()) {
    writes.push(put(tileKey(level, n), hashes));
  }
  for (const { id } of rounds) {
    writes.push(...core.coreRows.writes(id), ...core.pluginRows.writes(id));
  }
  for (const { key, value } of attached) writes.push(write(rowKey(ATTACHED_ROW, key), value));
  const position = rounds.at(-1)?.position ?? core.position;
  writes.push(put(metaKey('state'), Buffer.from(JSON.stringify(position))));
  return { writes, entries: entries.map(({ appended }) => appended), written, updates };
}
