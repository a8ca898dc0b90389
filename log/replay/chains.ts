// Links, running heads, and the head map over them. log/FORMAT.md §3, §4.

import type { Suite } from '../crypto/suite.ts';
import { toHex } from '../encoding/bytes.ts';
import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { vhash } from '../map/head.ts';
import { chainKeys, sameKey, skey } from '../map/key.ts';
import type { ChainKey, Head } from '../types.ts';
import { HeadTable } from './heads.ts';
import { RuleBroken, under } from '../rules/violation.ts';

/** The head map: a set of skey → vhash with a root that depends on the set only (log/FORMAT.md §4). */
export interface HeadMap {
  set(skey: Uint8Array, vhash: Uint8Array): void;
  root(): Uint8Array;
}

/** A link that was checked, and where its head stands. */
export interface CheckedLink {
  readonly key: ChainKey;
  /** Slot of the head, or the skey of a chain that begins here. */
  readonly at: number | Uint8Array;
  readonly seq: number;
}

/** The chains as of the last entry. */
export class Chains {
  readonly origin: string;
  readonly #suite: Suite;
  readonly #map: HeadMap;
  readonly #heads: HeadTable;
  /** Slots whose heads moved since the map was last brought up to date: hot chains cost one hash. */
  readonly #moved = new Set<number>();

  constructor(suite: Suite, origin: string, map: HeadMap, heads = new HeadTable()) {
    this.#suite = suite;
    this.origin = origin;
    this.#map = map;
    this.#heads = heads;
    for (let slot = 0; slot < heads.size; slot++) this.#moved.add(slot);
  }

  head(key: ChainKey): Head | null {
    const slot = this.#heads.find(skey(this.#suite, this.origin, key));
    if (slot < 0) return null;
    const head = this.#heads.head(slot);
    return { ...head, last_leaf_hash: head.last_leaf_hash.slice() };
  }

  /** The links are exactly those that the members and templates ask for, each after its running head. */
  check(statement: JsonObject, templates: readonly (readonly string[])[]): readonly CheckedLink[] {
    const keys = under(
      ({ code }) => (code === 'links_exceeded' ? 'links' : 'reserved_members'),
      () => chainKeys(statement, templates),
    );
    const links = statement.links === undefined ? [] : listOf(statement.links);
    if (links.length !== keys.length || (links.length === 0 && statement.links !== undefined)) {
      throw new RuleBroken('links', `entry has not exactly ${String(keys.length)} links`);
    }
    return keys.map((key, i) => this.#checkLink(key, links[i] ?? null));
  }

  /** Moves the heads on to an entry whose links were checked. */
  apply(links: readonly CheckedLink[], index: number, ms: number, leafHash: Uint8Array): void {
    for (const { at, seq } of links) {
      const slot = typeof at === 'number' ? at : this.#heads.slot(at);
      this.#heads.set(slot, {
        count: seq + 1,
        last_index: index,
        last_ms: ms,
        last_leaf_hash: leafHash,
      });
      this.#moved.add(slot);
    }
  }

  /** Root of the map over all entries so far. */
  mapRoot(): Uint8Array {
    for (const slot of this.#moved) {
      this.#map.set(this.#heads.skey(slot), vhash(this.#suite, this.#heads.head(slot)));
    }
    this.#moved.clear();
    return this.#map.root();
  }

  /** The heads, for `HeadTable.load`. */
  dump(): Uint8Array {
    return this.#heads.dump();
  }

  #checkLink(key: ChainKey, link: Json): CheckedLink {
    const bytes = skey(this.#suite, this.origin, key);
    const slot = this.#heads.find(bytes);
    const head = slot < 0 ? null : this.#heads.head(slot);
    const seq = head?.count ?? 0;
    const holds =
      isJsonObject(link) &&
      Object.keys(link).length === 4 &&
      Array.isArray(link.key) &&
      sameKey(link.key as ChainKey, key) &&
      link.seq === seq &&
      link.prev_index === (head?.last_index ?? null) &&
      link.prev_ms === (head?.last_ms ?? null);
    if (!holds) {
      const related = head === null ? [] : [head.last_index];
      throw new RuleBroken(
        'links',
        `link on ${JSON.stringify(key)} (skey ${toHex(bytes)}) is not seq ${String(seq)}`,
        related,
      );
    }
    return { key, at: slot < 0 ? bytes : slot, seq };
  }
}

function listOf(value: Json): readonly Json[] {
  if (!Array.isArray(value)) throw new RuleBroken('links', 'links is not a list');
  return value as readonly Json[];
}
