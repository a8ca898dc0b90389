// Keeps the memory of a log up to date on a node that follows: takes each round after it was written to the node's copy
// (log/cluster/replica.ts), and shows the checkpoints that the leader publishes.
//
// The store has everything that a read needs; this updates what is cached above it: the size, rows and heads, declared
// types, and the head map. The map is cut at each map head, before the heads of its round, as the leader does, and
// compared with the root that the map head states. A checkpoint is shown only if its signature and its root are right.

import type { FoldedAt } from './catch-up.ts';
import type { Core } from './core.ts';
import { lastVisible } from './last-note.ts';
import type { Publisher } from './publisher.ts';
import type { Position } from './state.ts';
import { readEntry } from './statement.ts';
import { equal, fromHex } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { native } from '../crypto/native.ts';
import { vhashOf } from '../map/head.ts';
import type { Cut } from '../map/fold.ts';
import {
  CORE_ROW,
  ENTRY,
  HEAD,
  metaKey,
  NOTE,
  PLUGIN_ROW,
  readIndex,
  readRowKey,
} from '../store/layout.ts';
import type { Write } from '../store/store.ts';

const STATE = metaKey('state');
const DECLARES = '"log.entry_type.v1"';

/** One follower for each engine of a node that follows. */
export class Follower {
  readonly #core: Core;
  readonly #vkey: string;
  readonly #publisher: Publisher;
  /** The version of the map at the last map head, and the index of that entry. */
  #cut: { readonly index: number; readonly folded: Promise<FoldedAt> } | null;

  /** @param ahead the version of the map at the last map head, if no checkpoint of it is published yet */
  constructor(
    core: Core,
    vkey: string,
    publisher: Publisher,
    ahead: { readonly index: number; readonly folded: FoldedAt } | null,
  ) {
    this.#core = core;
    this.#vkey = vkey;
    this.#publisher = publisher;
    this.#cut =
      ahead === null ? null : { index: ahead.index, folded: Promise.resolve(ahead.folded) };
  }

  /**
   * Takes a round that is in the store.
   *
   * @throws LogError `store_corrupt` if it does not continue the log, or the map or the tree has another root than the
   *   leader signed
   */
  async apply(writes: readonly Write[]): Promise<void> {
    const core = this.#core;
    const entries: Buffer[] = [];
    const heads: { readonly key: Uint8Array; readonly value: Uint8Array }[] = [];
    let position: Position | null = null;
    let noted = false;
    let next = core.durable;
    for (const one of writes) {
      const { key } = one;
      const letter = key[0];
      if (letter === CORE_ROW) core.coreRows.forget(readRowKey(key));
      else if (letter === PLUGIN_ROW) core.pluginRows.forget(readRowKey(key));
      else if (one.type === 'del') continue;
      else if (letter === HEAD) heads.push(one);
      else if (letter === NOTE) noted = true;
      else if (letter === ENTRY) {
        if (readIndex(key) !== next)
          throw this.#broken(`entry ${String(next)} is missing in a round`);
        next += 1;
        entries.push(Buffer.from(one.value.buffer, one.value.byteOffset, one.value.byteLength));
      } else if (equal(key, STATE)) {
        position = JSON.parse(Buffer.from(one.value).toString()) as Position;
      }
    }
    if (position !== null) this.#adopt(position, entries, heads);
    if (noted) await this.#show();
  }

  #adopt(
    position: Position,
    entries: readonly Buffer[],
    heads: readonly { readonly key: Uint8Array; readonly value: Uint8Array }[],
  ): void {
    const core = this.#core;
    const from = core.durable;
    if (position.size !== from + entries.length) {
      throw this.#broken(`a round ends at size ${String(position.size)}`);
    }
    const head = position.map_head?.index ?? -1;
    if (head >= from) this.#cutAt(head, from, entries);
    const updates = new Uint8Array(heads.length * 64);
    for (const [i, { key, value }] of heads.entries()) {
      updates.set(key.subarray(1), i * 64);
      updates.set(vhashOf(native, value), i * 64 + 32);
    }
    if (heads.length > 0) core.fold.apply(updates);
    core.adopt(
      position,
      heads.map(({ key }) => Buffer.from(key.subarray(1)).toString('latin1')),
    );
    for (const bytes of entries) {
      if (!bytes.includes(DECLARES)) continue;
      const { statement } = readEntry(bytes.toString());
      if (statement['type'] === 'log.entry_type.v1') core.declarations.apply(statement);
    }
  }

  /** The committer begins a round with a map head only when all earlier rounds are written. */
  #cutAt(index: number, from: number, entries: readonly Buffer[]): void {
    if (index !== from) throw this.#broken(`map head ${String(index)} does not begin its round`);
    const { map_root } = readEntry((entries[0] ?? Buffer.alloc(0)).toString()).statement;
    const before = this.#cut;
    const folded = this.#core.fold.cut().then((cut: Cut) => {
      if (equal(cut.root, fromHex(map_root as string))) return cut;
      throw this.#broken(`the map has another root than map head ${String(index)} states`);
    });
    folded.catch(() => undefined);
    this.#cut = { index, folded };
    // A map head without a checkpoint: the next one replaces it.
    if (before !== null && before.index >= this.#publisher.visible.size) {
      void before.folded
        .then(({ version }) => this.#core.fold.release(version))
        .catch(() => undefined);
    }
  }

  async #show(): Promise<void> {
    const core = this.#core;
    const shown = await lastVisible(core, this.#vkey, null);
    const { visible } = this.#publisher;
    if (shown.size < visible.size) throw this.#broken('a checkpoint is older than the last one');
    if (shown.size === visible.size) {
      const { note, cosignatures } = shown;
      this.#publisher.show({ ...visible, note, cosignatures });
      return;
    }
    if (this.#cut?.index !== shown.size - 1) {
      throw this.#broken(`the checkpoint of size ${String(shown.size)} is not that of a map head`);
    }
    const { version, keys } = await this.#cut.folded;
    this.#publisher.show({ ...shown, version, keys, published_at_ms: core.clock.wall() });
  }

  #broken(what: string): LogError {
    return new LogError(
      'store_corrupt',
      `the copy of ${this.#core.origin} does not agree with the rounds of the leader: ${what}`,
    );
  }
}
