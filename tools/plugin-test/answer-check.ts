// A schema of an answer that also refuses what it does not name: so an answer has no member that the OpenAPI
// document keeps from its readers.

import type { TSchema } from 'typebox';
import { compileSchema } from '../../gateway/http/validation.ts';
import type { Validate } from '../../gateway/http/validation.ts';

/** The validator of an answer's schema with every object closed that does not say what else it may have. */
export function answerCheck(schema: TSchema): Validate {
  return compileSchema(closed(schema) as TSchema, 'answer');
}

function closed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(closed);
  const inner = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, closed(one)]));
  const { allOf, type, properties, additionalProperties } = inner;
  // The parts of one object: none of them names all members, so they are closed together.
  if (Array.isArray(allOf) && allOf.length > 1)
    return { ...inner, allOf: allOf.map(opened), unevaluatedProperties: false };
  // Without a named member it is any object.
  const names = Object.keys(properties ?? {}).length > 0;
  if (type !== 'object' || !names || additionalProperties !== undefined) return inner;
  return { ...inner, additionalProperties: false };
}

function opened({ additionalProperties: _, ...part }: Readonly<Record<string, unknown>>): object {
  return part;
}
