// What a restraint is answered with. gateway/API.md §7.7.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { AnsweredEntry, JsonObject } from '../contract.ts';
import { RECORD_DOES_NOT_ASSERT, RecordMembers } from './entries.ts';

const { does_not_assert: _, ...members } = RecordMembers.properties;
const shown: Record<string, TSchema> = members;

/** What `restraint` holds. */
export const RestraintObject = Type.Object(
  {
    entry_id: Type.String({ format: 'uuid' }),
    verify_url: Type.String({ format: 'uri' }),
    commit_anchor: Type.String({
      description: 'Where it stands: `<origin>#<index>:<leaf hash>`.',
    }),
    ...shown,
    does_not_assert: Type.Array(Type.String()),
  },
  { $id: 'Restraint' },
);

/** A restraint's entry as its answer shows it. */
export function restraintObject({
  statement,
  receipt,
  entry_id,
  index,
}: AnsweredEntry): JsonObject {
  const own = Object.keys(shown).filter((name) => statement[name] !== undefined);
  const { origin } = statement as { readonly origin: string };
  const { entry_hash } = receipt;
  return {
    entry_id,
    verify_url: receipt.verify_url,
    commit_anchor: `${origin}#${String(index)}:${entry_hash}`,
    ...Object.fromEntries(own.map((name) => [name, statement[name] ?? null])),
    does_not_assert: Object.values(RECORD_DOES_NOT_ASSERT),
  };
}
