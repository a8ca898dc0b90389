// Parameters of operations: one for each member of the schema of a route's path, query or headers.
// OpenAPI 3.1.0 §4.8.12 (Parameter Object).

import type { TSchema } from 'typebox';
import type { JsonObject } from '../../log/index.ts';
import type { SchemaComponents } from './schemas.ts';
import { termOf } from './terms.ts';

/**
 * A query parameter as the client sees it. Values arrive as strings, so a route declares a number by a pattern of its
 * digits; in the document it is an integer, or a number where the pattern allows a decimal point.
 */
function queryParameter(schema: TSchema): TSchema {
  const { pattern, type: _, ...rest } = schema as { pattern?: string; type?: string };
  if (pattern === undefined || !DIGITS.test(pattern)) return schema;
  const takes = new RegExp(pattern);
  if (!takes.test('2') || takes.test('2026-07')) return schema;
  const minimum = takes.test('0') ? 0 : 1;
  if (takes.test('0.5')) return { ...rest, type: 'number', minimum };
  const lengths = Array.from({ length: 16 }, (_item, i) => i + 1);
  const longest = lengths.findLast((length) => takes.test('9'.repeat(length))) ?? 0;
  // Without a range of lengths, the largest number need not be one of nines.
  if (!/\{\d+,\d+\}/.test(pattern)) return { ...rest, type: 'integer', minimum };
  const maximum = Math.min(Number('9'.repeat(longest)), Number.MAX_SAFE_INTEGER);
  return { ...rest, type: 'integer', minimum, maximum };
}

/** Patterns of which digits and one point are all that they can take. */
const DIGITS = /^\^(?:[0-9()[\]{},|?-]|\\\.)+\$$/;

/** One parameter of an operation for each member of an object schema. */
export function parametersOf(
  place: 'path' | 'query' | 'header',
  schema: TSchema | undefined,
  components: SchemaComponents,
): readonly JsonObject[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, TSchema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const declared = place === 'query' ? queryParameter(property) : property;
    const { description = termOf(name, [place]), ...shown } = components.use(declared);
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: shown,
    };
  });
}
