// Records the form of the plugins' rows in a database. A release that derives other rows from the same entries
// raises `EntryType.row_form`: rows of an earlier form are never read as rows of the new one, nor mixed with them. Only
// forms above 1 are recorded; a declared type without a record has form 1.

import type { Core } from './core.ts';
import { pluginOf } from '../rules/declarations.ts';
import { LogError } from '../errors.ts';
import { metaKey, PLUGIN_ROW, rowKey } from '../store/layout.ts';
import { write, type Range, type Store, type Write } from '../store/store.ts';
import type { EntryType } from '../types.ts';

type Forms = Readonly<Record<string, number>>;

/**
 * Compares the recorded forms with the types that plugins bring, before any row is read or written. A database without
 * rows takes the forms of these types.
 *
 * @throws LogError `store_corrupt` where rows are of another form: `actlog reindex` rebuilds them
 */
export async function checkRowForms(
  { store, origin, declarations }: Pick<Core, 'store' | 'origin' | 'declarations'>,
  types: readonly EntryType[],
  { follows = false } = {},
): Promise<void> {
  const recorded = formsIn(store);
  const other = types.filter(({ name, row_form = 1 }) => {
    const known = recorded[name] ?? (declarations.has(name) ? 1 : row_form);
    return known !== row_form;
  });
  for (const plugin of new Set(other.map(({ name }) => pluginOf(name)))) {
    if (await isEmpty(store.scan(rowsOf(plugin)))) continue;
    throw new LogError(
      'store_corrupt',
      `${origin} has rows of ${plugin} in the form of another release: run "actlog reindex", which rebuilds them ` +
        'from the entries',
    );
  }
  // On a node that follows, the leader records them.
  if (follows) return;
  if (types.some(({ name, row_form = 1 }) => row_form !== (recorded[name] ?? 1))) {
    await store.write([recordForms(recorded, types)]);
  }
}

/** Of all rows of a plugin. */
const rowsOf = (plugin: string): Range => ({
  gte: rowKey(PLUGIN_ROW, `${plugin}/`),
  lt: rowKey(PLUGIN_ROW, `${plugin}0`), // the character after the slash
});

async function isEmpty(rows: AsyncIterable<unknown>): Promise<boolean> {
  for await (const _ of rows) return false;
  return true;
}

/** The write that records, in the batch that ends a rebuild, the forms of these types. */
export const rebuiltForms = (store: Store, types: readonly EntryType[]): Write =>
  recordForms(formsIn(store), types);

function recordForms(recorded: Forms, types: readonly EntryType[]): Write {
  const forms = types.map(({ name, row_form = 1 }) => [name, row_form] as const);
  const above = Object.entries({ ...recorded, ...Object.fromEntries(forms) }).filter(
    ([, form]) => form > 1,
  );
  const text = JSON.stringify(Object.fromEntries(above));
  return write(metaKey('rows'), above.length === 0 ? null : Buffer.from(text));
}

/**
 * The forms that a database records, by the names of types.
 *
 * @throws LogError `store_corrupt`
 */
export function formsIn(store: Store): Forms {
  const bytes = store.get(metaKey('rows'));
  if (bytes === undefined) return {};
  try {
    const forms = JSON.parse(Buffer.from(bytes).toString()) as Forms;
    if (Object.values(forms).every((form) => Number.isSafeInteger(form) && form > 1)) return forms;
  } catch {
    // counts as damaged too
  }
  throw new LogError('store_corrupt', 'the record of the forms of plugin rows is damaged');
}
