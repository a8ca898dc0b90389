// What a log has said, and whether it keeps to it: acknowledged entries at their indexes, one history, one root for each
// size. It copies the published entries as a mirror does, and replays them as a monitor does (log/FORMAT.md §7).

import { native } from '../../log/crypto/native.ts';
import { equal, toHex } from '../../log/encoding/bytes.ts';
import { isLogError, parseJson } from '../../log/index.ts';
import type { JsonObject, Log, ReceiptKey } from '../../log/index.ts';
import { checkConsistency } from '../../log/merkle/check.ts';
import { openCheckpoint } from '../../log/note/checkpoint.ts';
import { isViolation, Replay } from '../../log/replay/replay.ts';
import { Broken } from './world/world.ts';

/** A published checkpoint. */
interface Head {
  readonly size: number;
  readonly root: Uint8Array;
}

export class Ledger {
  readonly origin: string;
  /** The texts of acknowledged entries by index. */
  readonly acknowledged = new Map<number, string>();
  /** The published entries, and what a parse of each says. */
  readonly texts: string[] = [];
  readonly statements: JsonObject[] = [];
  readonly #replay: Replay;
  #vkey: string | null = null;
  /** The newest note of each size that was published or offered to witnesses. */
  readonly #roots = new Map<number, string>();
  readonly #published: Head[] = [];
  /** The status of each key, and the size of the log at which it was first seen. */
  readonly #ended = new Map<
    string,
    { readonly status: ReceiptKey['status']; readonly size: number }
  >();

  /** @param before the ledger of the predecessor */
  constructor(origin: string, before: Ledger | null) {
    this.origin = origin;
    const head = before?.published.at(-1);
    const last = before?.statements.at(-1);
    const predecessor =
      before === null || head === undefined
        ? {}
        : {
            predecessor: {
              origin: before.origin,
              size: head.size,
              root: toHex(head.root),
              last_ms: last?.['issued_at_ms'] as number,
            },
          };
    this.#replay = new Replay({ suite: native, origin, ...predecessor });
  }

  get published(): readonly Head[] {
    return this.#published;
  }

  get replay(): Replay {
    return this.#replay;
  }

  /** Takes what an append was answered with. */
  acknowledge(index: number, text: string): void {
    const before = this.acknowledged.get(index) ?? this.texts[index];
    if (before !== undefined && before !== text) {
      throw new Broken('index given twice', `index ${String(index)} of ${this.origin}`);
    }
    this.acknowledged.set(index, text);
  }

  /** Takes a note that left the log, published or not. */
  take(note: string, vkey: string): Head {
    this.#vkey ??= vkey;
    if (this.#vkey !== vkey) throw new Broken('verifier key changed', this.origin);
    const { size, root } = openCheckpoint(native, note, { origin: this.origin, vkey });
    const hex = toHex(root);
    const before = this.#roots.get(size);
    if (before !== undefined && before !== hex) {
      throw new Broken('two roots', `size ${String(size)} of ${this.origin}: ${before} and ${hex}`);
    }
    this.#roots.set(size, hex);
    return { size, root };
  }

  /**
   * Takes a published checkpoint: copies and replays the entries up to it, and compares it with them and with an
   * earlier one.
   */
  publish(log: Log, earlier: (count: number) => number): void {
    const { note } = log.published();
    const head = this.take(note, log.vkey);
    const last = this.#published.at(-1);
    if (last !== undefined && head.size < last.size) {
      throw new Broken(
        'rollback',
        `size ${String(head.size)} is published after ${String(last.size)}`,
      );
    }
    if (last?.size === head.size) return;
    for (let index = this.texts.length; index < head.size; index += 1) this.#copy(log, index);
    this.#follows('checkpoint', () => {
      this.#replay.checkCheckpoint(
        openCheckpoint(native, note, { origin: this.origin, vkey: log.vkey }),
      );
    });
    const from = this.#published[earlier(this.#published.length)];
    this.#published.push(head);
    if (from === undefined) return;
    const path = log.consistency(from.size, head.size);
    this.#follows('consistency', () => {
      const roots = { fromRoot: from.root, toRoot: head.root };
      checkConsistency(native, { from: from.size, to: head.size, ...roots, path });
    });
  }

  #copy(log: Log, index: number): void {
    const text = log.entry(index);
    if (text === null)
      throw new Broken('entry missing', `published entry ${String(index)} is not there`);
    this.#same(index, text);
    this.texts.push(text);
    this.statements.push(parseJson(text) as JsonObject);
    this.#follows(`entry ${String(index)}`, () => this.#replay.add(text));
    const { entry_id } = this.statements[index] ?? {};
    const found = [log.indexOfEntry(entry_id as string), log.indexOfHash(log.leafHash(index))];
    if (found.some((one) => one !== index)) {
      throw new Broken('entry not found', `entry ${String(index)} is found at ${String(found)}`);
    }
    if (
      !equal(log.leafHash(index), native.sha256(Buffer.concat([Buffer.of(0), Buffer.from(text)])))
    ) {
      throw new Broken('leaf hash', `entry ${String(index)}`);
    }
  }

  #same(index: number, text: string): void {
    const before = this.acknowledged.get(index);
    if (before !== undefined && before !== text) {
      throw new Broken('receipt replaced', `entry ${String(index)} is not the acknowledged one`);
    }
  }

  #follows(what: string, check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!isViolation(error) && !isLogError(error)) throw error;
      const rule = isViolation(error) ? error.rule : error.code;
      throw new Broken(`monitor: ${rule}`, `${what}: ${error.message}`);
    }
  }

  /** Looks every acknowledged and every published entry up again. */
  checkAll(log: Log, mayBeDamaged: boolean): void {
    const size = log.size();
    const look = (index: number, text: string): void => {
      let found: string | null;
      try {
        found = log.entry(index);
      } catch (error) {
        if (mayBeDamaged && isLogError(error) && error.code === 'store_corrupt') return;
        throw error;
      }
      if (found === null) {
        throw new Broken('receipt lost', `entry ${String(index)}; the log has ${String(size)}`);
      }
      if (found !== text) throw new Broken('receipt replaced', `entry ${String(index)}`);
    };
    for (const [index, text] of this.texts.entries()) look(index, text);
    for (const [index, text] of this.acknowledged)
      if (index >= this.texts.length) look(index, text);
  }

  /** Receipt keys only ever go from active to retired to revoked. */
  checkKeys(log: Log): void {
    const rank = { active: 0, retired: 1, revoked: 2 };
    const now = new Map(log.receiptKeys().map(({ kid, status }) => [kid, status]));
    for (const [kid, { status }] of this.#ended) {
      const found = now.get(kid);
      if (found === undefined || rank[found] < rank[status]) {
        throw new Broken('key', `${kid} was ${status} and is ${found ?? 'unknown'}`);
      }
    }
    const size = log.size();
    for (const [kid, status] of now) {
      if (this.#ended.get(kid)?.status !== status) this.#ended.set(kid, { status, size });
    }
  }

  /** Forgets acknowledged entries from a size on, and what they said of keys: a disk that lied has lost them. */
  forget(size: number): void {
    for (const index of [...this.acknowledged.keys()])
      if (index >= size) this.acknowledged.delete(index);
    for (const [kid, ended] of this.#ended) if (ended.size > size) this.#ended.delete(kid);
  }
}
