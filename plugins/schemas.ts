// Schemas of what every layer's requests and entries name alike: reserved members by their grammar, and times.
// formats.md §3.

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

/** A TypeBox schema as the plain JSON that is declared in the log. */
export function asSchema(schema: TSchema): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}
