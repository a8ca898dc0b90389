// Rows with text keys in a stream of their own, such as those of the gateway's database: read as a whole at the start,
// changed through rounds, and followed by the other nodes.

import type { Replica } from './replica.ts';
import { CORE_ROW, readRowKey, rowKey } from '../store/layout.ts';
import { write, type Write } from '../store/store.ts';

/** A row; a null value deletes it. */
export interface SharedRow {
  readonly key: string;
  readonly value: Uint8Array | null;
}

const rowOf = (one: Write): SharedRow => ({
  key: readRowKey(one.key),
  value: one.type === 'put' ? one.value : null,
});

/** The rows of one replica. */
export class SharedRows {
  readonly #replica: Replica;

  constructor(replica: Replica) {
    this.#replica = replica;
  }

  /** Whether this node leads, and may put rows. */
  get leads(): boolean {
    return this.#replica.leads;
  }

  get damaged(): boolean {
    return this.#replica.store.damaged ?? false;
  }

  /** All rows, in the order of their keys. */
  async all(): Promise<readonly { readonly key: string; readonly value: Uint8Array }[]> {
    const rows: { key: string; value: Uint8Array }[] = [];
    const range = { gte: rowKey(CORE_ROW, ''), lt: rowKey(CORE_ROW + 1, '') };
    for await (const [key, value] of this.#replica.store.scan(range)) {
      rows.push({ key: readRowKey(key), value });
    }
    return rows;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  get(key: string): Uint8Array | undefined {
    return this.#replica.store.get(rowKey(CORE_ROW, key));
  }

  /** Puts or deletes rows, all or none. They are committed when it resolves. Rejects like a write to the replica. */
  put(rows: readonly SharedRow[]): Promise<void> {
    return this.#replica.store.write(
      rows.map(({ key, value }) => write(rowKey(CORE_ROW, key), value)),
    );
  }

  /** Calls a function with the rows of each round that this node applies; null for none. */
  follow(changed: ((rows: readonly SharedRow[]) => void) | null): void {
    this.#replica.follow(changed === null ? null : (writes) => changed(writes.map(rowOf)));
  }
}
