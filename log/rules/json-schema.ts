// Declared JSON Schemas, each by itself. Server only (ajv).

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Options, ValidateFunction } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import { canonical } from '../encoding/canonical.ts';
import type { JsonObject } from '../encoding/json-types.ts';

/** Only for the meta-schemas, which take longer to compile than a hundred declarations. */
const meta = new Ajv2020({ logger: false });

/**
 * A compiler of schemas; it throws where a schema is no JSON Schema 2020-12, or not one by these options. An instance
 * of ajv remembers the nested `$id` of every schema, and reads `$ref` by them: with one for all, what a declaration
 * means would depend on those before it. So each schema has its own, and the same schema is compiled once.
 */
export function schemaCompiler(options: Options): (schema: JsonObject) => ValidateFunction {
  const compiled = new LRUCache<string, ValidateFunction>({ max: 1024 });
  return (schema) => {
    // An asynchronous validator answers a promise, which would read as true.
    if (Object.hasOwn(schema, '$async')) throw new Error('it has $async, which is not of 2020-12');
    const text = canonical(schema);
    const known = compiled.get(text);
    if (known !== undefined) return known;
    if (meta.validateSchema(schema) !== true) throw new Error(meta.errorsText());
    // In 2020-12 `format` says something and asserts nothing.
    const own = new Ajv2020({ ...options, validateFormats: false, validateSchema: false });
    const validate = own.compile(schema);
    compiled.set(text, validate);
    return validate;
  };
}
