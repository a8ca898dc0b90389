// The entry types of the layer: a grant and its withdrawal. An entry has a commitment to the person, never the
// person.

import {
  asSchema,
  EntityName,
  EntryId,
  errorsOf,
  Identifier,
  ofEntity,
  sentenceOf,
  SurfaceName,
} from 'actlog/plugin';
import type { EntryType, JsonObject } from 'actlog/plugin';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { WITHDRAWN } from './verify.ts';

export const GRANT = 'consent.grant.v1';
export const WITHDRAWAL = 'consent.withdrawal.v1';

/** `entity` and `surface` are reserved: they put the grant on the chains of the entity and of its surface. */
export const GrantMembers = Type.Object(
  {
    purpose: { ...Identifier, description: 'What the consent is for. It is public.' },
    entity: Type.Optional(EntityName),
    surface: Type.Optional(SurfaceName),
  },
  { additionalProperties: false },
);

export const WithdrawalMembers = Type.Object(
  { grant_id: { ...EntryId, description: 'The entry of the grant that is withdrawn.' } },
  { additionalProperties: false },
);

export const consentErrors = errorsOf({
  consent_withdrawn: { status: 409, sentence: 'The consent was withdrawn before.' },
});

/** The row of a grant, with the tenant that may withdraw it. */
export interface Granted {
  readonly tenant_ref: string;
  readonly index: number;
}

/** Names of rows as projections write them; `LogView` adds the prefix `consent/` itself. */
export const grantRow = (entry_id: string): string => `consent/grant/${entry_id}`;
export const withdrawnRow = (entry_id: string): string => `consent/withdrawn/${entry_id}`;
export const IN_FORCE = 'consent/in-force';

const counted = (before: unknown, more: number): number => Number(before ?? 0) + more;

export const grantType: EntryType = {
  name: GRANT,
  schema: asSchema(GrantMembers),
  keys: [['consent.purpose', 'purpose']],
  sentence: sentenceOf<Static<typeof GrantMembers>>(
    (grant) => `The tenant states that a person consented to ${grant.purpose}${ofEntity(grant)}.`,
  ),
  project({ entry_id, index, statement }, rows) {
    const { tenant_ref } = statement as JsonObject & { readonly tenant_ref: string };
    rows.put(grantRow(entry_id), { tenant_ref, index });
    rows.put(IN_FORCE, counted(rows.get(IN_FORCE), 1));
  },
};

/** Each grant has a chain for its withdrawal, so that an empty chain can be proved. */
export const withdrawalType: EntryType = {
  name: WITHDRAWAL,
  schema: asSchema(WithdrawalMembers),
  keys: [[WITHDRAWN, 'grant_id']],
  sentence: () => 'The tenant states that a person withdrew a consent.',
  project({ index, statement }, rows) {
    rows.put(withdrawnRow(statement['grant_id'] as string), index);
    rows.put(IN_FORCE, counted(rows.get(IN_FORCE), -1));
  },
};
