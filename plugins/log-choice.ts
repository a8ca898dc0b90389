// Which of the two logs a public read asks. gateway/API.md §3.3, §5.

import { Type } from 'typebox';
import type { Kind } from '../log/index.ts';
import type { Caller } from './caller.ts';

/** The parameter `log` of a public read. */
export const LogName = Type.Optional(
  Type.Union([Type.Literal('live'), Type.Literal('sandbox')], {
    description: 'Which log; that of the key unless given, and live without a key.',
  }),
);

/** The parameter `log` of a public read that names an entry. */
export const LogOfEntry = Type.Optional(
  Type.Union([Type.Literal('live'), Type.Literal('sandbox')], {
    description:
      'Which log; that of the key unless given, and without a key both, the live one first.',
  }),
);

/** The kind that a read is about: its parameter says so, else the key; nothing of one is found in the other. */
export const kindOf = (asked: Kind | undefined, caller: Caller): Kind =>
  asked ?? (caller.key_id === null ? 'live' : caller.kind);

/** The kinds that a read of one entry searches, in this order: without a key an entry may be in either. */
export function kindsOf(asked: Kind | undefined, caller: Caller): readonly Kind[] {
  if (asked !== undefined) return [asked];
  return caller.key_id === null ? ['live', 'sandbox'] : [caller.kind];
}
