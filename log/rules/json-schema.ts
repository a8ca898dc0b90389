// Compiles declared JSON Schemas, each on its own. Server only (ajv).

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Options, ValidateFunction } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import { canonical } from '../encoding/canonical.ts';
import type { JsonObject } from '../encoding/json.ts';

/** Shared for the meta-schemas only, which take longer to compile than a hundred declarations. */
const meta = new Ajv2020({ logger: false });

/**
 * Makes a compiler of schemas. The compiler throws for a schema that is not JSON Schema 2020-12 under these options. An
 * instance of ajv remembers the nested `$id` of every schema, and reads `$ref` by them: with one instance for all
 * schemas, the meaning of a declaration would depend on earlier ones. Therefore each schema has its own instance; equal
 * schemas are compiled once.
 */
export function schemaCompiler(options: Options): (schema: JsonObject) => ValidateFunction {
  const compiled = new LRUCache<string, ValidateFunction>({ max: 1024 });
  return (schema) => {
    // An asynchronous validator returns a promise, which would count as true.
    if (Object.hasOwn(schema, '$async')) throw new Error('it has $async, which is not of 2020-12');
    const text = canonical(schema);
    const known = compiled.get(text);
    if (known !== undefined) return known;
    if (meta.validateSchema(schema) !== true) throw new Error(meta.errorsText());
    const own = new Ajv2020({
      ...options,
      // In 2020-12 `format` is an annotation, not an assertion.
      validateFormats: false,
      validateSchema: false,
      // Takes a third of the time of a compilation, and the code runs no faster: V8 optimises it anyway.
      code: { optimize: false },
    });
    const validate = own.compile(schema);
    compiled.set(text, validate);
    return validate;
  };
}
