// Schemas of what every layer's requests and entries name alike: reserved members by their grammar, and times.
// log/FORMAT.md §3.

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

/** 32 bytes in hex. */
export const Hex32 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** An entry id, UUIDv7. */
export const EntryId = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$',
});

/** What a request names an entry by: its entry id or its entry hash. */
export const EntryOrHash = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'An entry_id or an entry hash.',
});

/** An identifier that may stand in clear: of an act, a rule, a currency. */
export const Identifier = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$' });

/** A count, an index or a size. */
export const Count = Type.Integer({ minimum: 0 });

/** A count in an entry: no further than an integer of JSON goes. */
export const SafeCount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Milliseconds of UTC. */
export const Millis = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** The schema, or null. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** A TypeBox schema as the plain JSON that is declared in the log. */
export function asSchema(schema: TSchema): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}
