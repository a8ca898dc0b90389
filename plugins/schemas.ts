// Schemas of what every layer's requests and entries name alike: reserved members by their grammar, times,
// receipts. formats.md §3; behaviour.md §1.1.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { JsonObject } from '../log/index.ts';

/** An entity: an identifier, never a natural person's. */
export const EntityName = Type.String({ pattern: '^[a-z0-9][a-z0-9:._-]{0,255}$' });

/** A surface of an entity. */
export const SurfaceName = Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' });

/** The name of a session in a log. */
export const SessionRef = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' });

/** The chain of a session. TypeBox writes tuples as draft 7 does; the log's schemas are of 2020-12. */
export const SessionKey = Type.Unsafe<readonly ['session', string]>({
  type: 'array',
  prefixItems: [Type.Literal('session'), SessionRef],
  items: false,
  minItems: 2,
  maxItems: 2,
});

/** Milliseconds of UTC. */
export const Millis = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** What opens one commitment. */
export const DisclosureSchema = Type.Object({
  salt: Type.String({ pattern: '^[0-9a-f]{32}$' }),
  value: Type.Unknown(),
});

/** What stands for it once its text was destroyed (DELETE /api/v1/disclosures/{entry_id}). */
const ErasedSchema = Type.Object({
  erased: Type.Literal(true),
  erased_at_ms: Millis,
  erasure_entry_id: Type.String({ format: 'uuid' }),
});

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
      Type.Object({
        key: Type.Array(Type.String()),
        seq: Type.Integer({ minimum: 0 }),
        prev_index: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
        prev_ms: Type.Union([Millis, Type.Null()]),
      }),
    ),
  ),
  commitments: Type.Optional(Type.Record(Type.String(), Type.String())),
  disclosures: Type.Optional(
    Type.Record(Type.String(), Type.Union([DisclosureSchema, ErasedSchema])),
  ),
  event_at_ms: Type.Optional(Millis),
  toll: Type.Optional(Type.String()),
  toll_micro_usd: Type.Optional(Type.Integer({ minimum: 0 })),
  log: Type.Object({
    origin: Type.String(),
    index: Type.Integer({ minimum: 0 }),
    checkpoint: Type.Optional(Type.String()),
    inclusion_proof: Type.Optional(Type.Array(Type.String())),
  }),
};

/** A receipt of any type. */
export const ReceiptSchema = Type.Object(receiptMembers);

/** A TypeBox schema as the plain JSON that is declared in the log. */
export function asSchema(schema: TSchema): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}
