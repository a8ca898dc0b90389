// Everything that the entries derive, against what is stored: heads, rows of core and plugins, position.

import type { JsonObject } from '../../encoding/json-types.ts';
import { CORE_ROW, metaKey, PLUGIN_ROW } from '../../store/layout.ts';
import type { Store } from '../../store/store.ts';
import type { EntryType } from '../../types.ts';
import type { Differences } from './differences.ts';
import type { EntryPass } from './entries.ts';
import { compareHeads, compareRows, findStrays, guarded } from './rows.ts';
import type { Scratch } from './scratch.ts';

/** What is compared, after a pass that nothing stopped. */
export interface Derived {
  readonly store: Store;
  readonly pass: EntryPass;
  readonly scratch: Scratch;
  readonly types: readonly EntryType[];
  readonly differences: Differences;
}

/** Compares all of it; answers with what could not be. */
export async function compareDerived(derived: Derived): Promise<string[]> {
  const { store, pass, scratch, types, differences } = derived;
  const { heads, chainRows } = pass;
  const { size } = pass.edge;
  const absent = scratch.core.declarations.absent(types.map(({ name }) => name));
  const foreign = (key: string): boolean => absent.has(key.slice(0, key.indexOf('/')));
  await guarded('head', differences, () => compareHeads(store, heads, differences));
  await guarded('core row', differences, () =>
    compareRows(CORE_ROW, 'core row', store, scratch.store, differences),
  );
  await guarded('plugin row', differences, () =>
    compareRows(PLUGIN_ROW, 'plugin row', store, scratch.store, differences, foreign),
  );
  await guarded('unknown row', differences, () =>
    findStrays(store, { size, chainRows }, differences),
  );
  comparePosition(derived);
  return [...absent].map((plugin) => `rows of plugin ${plugin}: it is not loaded`);
}

function comparePosition({ store, scratch, differences }: Derived): void {
  const state = store.get(metaKey('state'));
  if (state === undefined) return; // said already
  const stored = JSON.parse(Buffer.from(state).toString()) as JsonObject;
  for (const [name, value] of Object.entries(scratch.core.position)) {
    const [is, should] = [JSON.stringify(stored[name]), JSON.stringify(value)];
    if (is !== should) differences.add('state', name, `is ${is}, by the entries ${should}`);
  }
}
