// Entry types of a plugin for tests of the log: an act with its own chain, and a count.

import type { EntryType } from '../../log/index.ts';

/** `demo.act.v1`: an act of a case; the plugin counts acts by case. */
export const DEMO_ACT: EntryType = {
  name: 'demo.act.v1',
  schema: {
    type: 'object',
    properties: {
      n: { type: 'integer' },
      case_id: { type: 'string' },
      session_ref: { type: 'string' },
      entity: { type: 'string' },
      surface: { type: 'string' },
    },
    required: ['n'],
    additionalProperties: false,
  },
  keys: [['demo.case', 'case_id']],
  project(entry, rows) {
    const { case_id } = entry.statement;
    if (typeof case_id !== 'string') return;
    const key = `demo/case/${case_id}`;
    rows.put(key, ((rows.get(key) as number | undefined) ?? 0) + 1);
    rows.put('demo/last', { index: entry.index });
  },
};

export const DEMO_TYPES: readonly EntryType[] = [DEMO_ACT];

/** An act as a draft. */
export const act = (n: number, case_id?: string) => ({
  type: DEMO_ACT.name,
  members: { n, ...(case_id === undefined ? {} : { case_id }) },
});
