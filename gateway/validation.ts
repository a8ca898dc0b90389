// JSON Schemas compiled at boot, and a failure as the one error that the client gets. behaviour.md §4.1.

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { ApiError } from '../plugins/contract.ts';

/** Throws an ApiError when the value does not fit; changes nothing in it. */
export type Validate = (value: unknown) => void;

/** A compiler of schemas: strict, without coercion, defaults or removals. */
export function schemaCompiler(): (schema: TSchema, place: string) => Validate {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    ownProperties: true,
    validateSchema: true,
  });
  formats.default(ajv);
  return (schema, place) => {
    const validate: ValidateFunction = ajv.compile(anonymous(schema) as TSchema);
    return (value) => {
      if (!validate(value)) throw failure(validate.errors?.[0], place);
    };
  };
}

/** The schema without the names that the OpenAPI document knows it by: one may stand twice in another. */
function anonymous(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(anonymous);
  const members = Object.entries(schema).filter(([name]) => name !== '$id');
  return Object.fromEntries(members.map(([name, member]) => [name, anonymous(member)]));
}

function failure(error: ErrorObject | undefined, place: string): ApiError {
  if (error === undefined) return new ApiError('parameter_invalid', `${place} is not valid`);
  const path = error.instancePath.slice(1).split('/').map(unescapePointer).join('.');
  if (error.keyword === 'required') {
    const missing = String(error.params['missingProperty']);
    const param = path === '' ? missing : `${path}.${missing}`;
    const code = param === 'message' ? 'message_required' : 'parameter_missing';
    return new ApiError(code, `${param} is missing`, { param });
  }
  const reason = error.message ?? 'is not valid';
  if (path === '') return new ApiError('parameter_invalid', `${place} ${reason}`);
  return new ApiError('parameter_invalid', `${path} ${reason}`, { param: path });
}

const unescapePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');
