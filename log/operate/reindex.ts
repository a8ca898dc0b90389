// Rebuilds the rows of plugins from the entries, for example after a new version of a plugin derives other rows.
//
// The old rows are deleted first, and the new ones are written in many batches. The row `reindex` in the database marks
// an unfinished rebuild: while it exists, the log does not open. After a crash, run the rebuild again.

import { join } from 'node:path';
import { LogClock, systemTime } from '../write/clock.ts';
import { Core } from '../write/core.ts';
import { openFold } from '../map/fold.ts';
import { project } from '../write/projection.ts';
import { originParts } from '../map/grammar.ts';
import { rebuiltForms } from '../write/row-forms.ts';
import { readEntry } from '../write/statement.ts';
import { entryKey, metaKey, PLUGIN_ROW, readRowKey, rowKey } from '../store/layout.ts';
import { openStore, put, write, type Store, type Write } from '../store/store.ts';
import type { EntryType, Link } from '../types.ts';

/** For which plugins. */
export interface ReindexOptions {
  /** The entry types of the loaded plugins. The rows of other plugins are not changed. */
  readonly types: readonly EntryType[];
  readonly onProgress?: (done: number, size: number) => void;
}

/** The result of a rebuild. */
export interface Reindexed {
  readonly size: number;
  /** Plugins whose rows were not changed: the log declares types of theirs, but they are not loaded. */
  readonly untouched: readonly string[];
}

/** Rows to delete, or entries to project, in one batch. */
const BATCH = 1024;

/**
 * Rebuilds the rows of the loaded plugins in the database of a log.
 *
 * @param options.folder the log's folder, with `db/` in it
 * @throws LogError `not_found` if there is no database, `log_locked` while the log is open
 */
export async function reindex(
  options: ReindexOptions & { readonly folder: string },
): Promise<Reindexed> {
  const store = await openStore(join(options.folder, 'db'), { existing: true });
  try {
    return await rebuildRows(store, options);
  } finally {
    await store.close();
  }
}

/**
 * Rebuilds the rows of the loaded plugins in a store that no log has open.
 *
 * @throws LogError of a write that fails
 */
export async function rebuildRows(
  store: Store,
  { types, onProgress }: ReindexOptions,
): Promise<Reindexed> {
  const first = store.get(entryKey(0));
  if (first === undefined) return { size: 0, untouched: [] };
  const origin = readEntry(Buffer.from(first).toString()).statement['origin'] as string;
  const core = new Core({
    kind: originParts(origin)?.kind ?? 'live',
    origin,
    store,
    clock: new LogClock(systemTime),
    fold: openFold({ threads: false }).trie(origin),
    types,
  });
  await core.load();
  const untouched = core.declarations.absent(types.map(({ name }) => name));
  await store.write([put(metaKey('reindex'), Buffer.from(String(core.durable)))]);
  await clear(store, untouched);
  for (let from = 0, round = 1; from < core.durable; from += BATCH, round += 1) {
    const to = Math.min(from + BATCH, core.durable);
    for (let index = from; index < to; index += 1) projectAt(core, index, untouched, round);
    await store.write([...core.pluginRows.writes(round)]);
    core.settle(round, core.durable);
    onProgress?.(to, core.durable);
  }
  await store.write([rebuiltForms(store, types), write(metaKey('reindex'), null)]);
  return { size: core.durable, untouched: [...untouched] };
}

/** Deletes all plugin rows except those of the plugins in `untouched`. */
async function clear(store: Store, untouched: ReadonlySet<string>): Promise<void> {
  let batch: Write[] = [];
  const range = { gte: Uint8Array.of(PLUGIN_ROW), lt: rowKey(PLUGIN_ROW + 1, '') };
  for await (const [key] of store.scan(range)) {
    const row = readRowKey(key);
    if (untouched.has(row.slice(0, row.indexOf('/')))) continue;
    batch.push(write(Uint8Array.from(key), null));
    if (batch.length < BATCH) continue;
    await store.write(batch);
    batch = [];
  }
  await store.write(batch);
}

function projectAt(core: Core, index: number, untouched: ReadonlySet<string>, round: number): void {
  const { statement } = readEntry(core.entryText(index));
  const type = statement['type'] as string;
  core.begin();
  const entry = {
    index,
    entry_id: statement['entry_id'] as string,
    issued_at_ms: statement['issued_at_ms'] as number,
    type,
    statement,
    links: (statement['links'] as unknown as readonly Link[] | undefined) ?? [],
  };
  project(core, entry, round, untouched);
}
