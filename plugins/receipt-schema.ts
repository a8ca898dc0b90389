// The schemas of receipts in answers: any receipt, and those of one entry type, whose own members come from the
// type's declaration, so that they are written once. gateway/API.md §1.1; log/FORMAT.md §2.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { EntryType, JsonObject } from '../log/index.ts';
import { Millis } from './schemas.ts';

/** What opens one commitment. */
const DisclosureSchema = Type.Object(
  { salt: Type.String({ pattern: '^[0-9a-f]{32}$' }), value: Type.Unknown() },
  { $id: 'Disclosure' },
);

/** What stands for it once its text was destroyed (DELETE /api/v1/disclosures/{entry_id}). */
const ErasedSchema = Type.Object(
  {
    erased: Type.Literal(true),
    erased_at_ms: Millis,
    erasure_entry_id: Type.String({ format: 'uuid' }),
  },
  { $id: 'ErasedDisclosure' },
);

/** Members that every receipt has; a type's own stand beside them. */
export const receiptMembers = {
  type: Type.String(),
  origin: Type.String(),
  entry_id: Type.String({ format: 'uuid', description: 'The receipt identifier (UUIDv7).' }),
  index: Type.Integer({ minimum: 0 }),
  issued_at_ms: Millis,
  kid: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
  sandbox: Type.Boolean(),
  signature: Type.String({
    pattern: '^[A-Za-z0-9+/]{86}==$',
    description: 'Ed25519 over the statement in canonical form, base64.',
  }),
  entry_hash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Leaf hash of the entry.' }),
  permalink: Type.String({ format: 'uri' }),
  verify_url: Type.String({ format: 'uri' }),
  tenant_ref: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{22}$' })),
  links: Type.Optional(
    Type.Array(
      Type.Object(
        {
          key: Type.Array(Type.String()),
          seq: Type.Integer({ minimum: 0 }),
          prev_index: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
          prev_ms: Type.Union([Millis, Type.Null()]),
        },
        { $id: 'ChainLink', description: 'The place of an entry on one of its chains.' },
      ),
    ),
  ),
  commitments: Type.Optional(Type.Record(Type.String(), Type.String())),
  disclosures: Type.Optional(
    Type.Record(Type.String(), Type.Union([DisclosureSchema, ErasedSchema])),
  ),
  event_at_ms: Type.Optional(Millis),
  toll: Type.Optional(Type.String()),
  toll_micro_usd: Type.Optional(Type.Integer({ minimum: 0 })),
  cleared_micro_usd: Type.Optional(
    Type.Integer({ description: 'The exposure that the act cleared.' }),
  ),
  log: Type.Object(
    {
      origin: Type.String(),
      index: Type.Integer({ minimum: 0 }),
      checkpoint: Type.Optional(Type.String()),
      inclusion_proof: Type.Optional(Type.Array(Type.String())),
    },
    { $id: 'LogPlace', description: 'Where the entry stands; with `Prefer: wait=N` proven.' },
  ),
};

/** A receipt of any type; its own members are not named. */
export const EntryReceipt = Type.Object(receiptMembers, {
  $id: 'EntryReceipt',
  additionalProperties: true,
  description:
    'A signed statement with what is derived from it. `type` says of which type it is; the members of its ' +
    'own are those of the schema that is named for the type: `pdtr.twin.v1` is PdtrTwinV1Receipt.',
});

/** The name of the receipts of a type among the schemas of the OpenAPI document. */
function receiptName(type: string): string {
  const words = type.split(/[^A-Za-z0-9]+/);
  return `${words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')}Receipt`;
}

/** The receipt of an entry of a type: what all receipts have, and what the type declares. */
export function receiptOf({ name, schema }: Pick<EntryType, 'name' | 'schema'>): TSchema {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: JsonObject;
    readonly required?: readonly string[];
  };
  const shared = Type.Object(receiptMembers);
  return Type.Unsafe({
    $id: receiptName(name),
    type: 'object',
    description: `The receipt of an entry ${name}.`,
    required: [...shared.required, ...required],
    properties: { ...shared.properties, type: Type.Literal(name), ...properties },
  });
}

/** The entry type of this name that a plugin declares; a plain error without one. */
export function entryTypeOf(
  plugin: { readonly name: string; readonly types: readonly EntryType[] },
  name: string,
): EntryType {
  const type = plugin.types.find((one) => one.name === name);
  if (type === undefined) throw new Error(`${plugin.name} has no entry type ${name}`);
  return type;
}

/** A named schema with words about the place where it stands. */
export function described(schema: TSchema, description: string): TSchema {
  return Type.Unsafe({ allOf: [schema], description });
}
