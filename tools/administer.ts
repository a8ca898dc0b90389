// Administration from the command line: one verb through the server that holds the data folder, or on
// the folder itself; and tables to read.

import Table from 'cli-table3';
import type { AdminArgs } from '../gateway/tenants/admin.ts';
import { settingsOf, type DataOptions } from './command-line.ts';

/** Performs a verb of gateway/tenants/admin.ts and answers with what it says. */
export async function administer<T>(
  options: DataOptions,
  verb: string,
  args: AdminArgs = {},
): Promise<T> {
  const sources = await settingsOf(options);
  const { adminCall } = await import('../gateway/tenants/admin-call.ts');
  return (await adminCall(sources, verb, args)) as T;
}

/** Prints rows under a head; says so when there are none. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) {
    console.log('none');
    return;
  }
  // Bare columns: no frame to cut away in a pipe, no colours.
  const table = new Table({
    head: [...head],
    chars: Object.fromEntries(FRAME.map((part) => [part, ''])),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
  });
  table.push(...rows.map((row) => [...row]));
  console.log(table.toString().replaceAll(/ +$/gm, ''));
}

const FRAME = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left'],
  ...['bottom-right', 'left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
];
