// What an entry says, read from its text in the log.

import type { JsonObject } from '../log/index.ts';
import type { LogView } from './log-view.ts';

/** The entry at an index, its signature with it; null beyond the acknowledged size. */
export function statementAt(log: Pick<LogView, 'entry'>, index: number): JsonObject | null {
  const text = log.entry(index);
  return text === null ? null : (JSON.parse(text) as JsonObject);
}

/** The same of an entry that a chain or a row names: that it is missing is a defect. */
export function namedStatement(log: Pick<LogView, 'entry'>, index: number): JsonObject {
  const statement = statementAt(log, index);
  if (statement === null) throw new Error(`entry ${String(index)} is missing`);
  return statement;
}
