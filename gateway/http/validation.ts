// JSON Schemas compiled at boot, and a failure as the one error that the client gets. gateway/API.md §4.1.

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import type { TSchema } from 'typebox';
import { ApiError } from '../../plugins/contract/index.ts';

/** Throws an ApiError when the value does not fit; changes nothing in it. */
export type Validate = (value: unknown) => void;

/** Choices that a message lists; a longer list is in the OpenAPI document. */
const MAX_CHOICES = 24;

/** Strict, without coercion, defaults or removals. One for all schemas: each instance compiles the meta-schemas again. */
const ajv = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictRequired: false, // a conditional requirement names members that the schema around it declares
  ownProperties: true,
  validateSchema: true,
  verbose: true, // an error then has its schema
  code: { optimize: false }, // the code runs no faster, and a start takes longer
});
formats.default(ajv);

/** By their text: many routes take the same query or path, and compiling is most of what a start does. */
const compiled = new LRUCache<string, ValidateFunction>({ max: 2048 });

/** Compiles the schema of the value at `place`; throws if it is not a strict JSON Schema. */
export function compileSchema(schema: TSchema, place: string): Validate {
  const whole = anonymous(schema);
  // Each member is checked before requirements that depend on several of them: the first error is then of the member.
  const texts = new Set([unconditional(whole), whole].map((part) => JSON.stringify(part)));
  const parts = [...texts].map((text) => {
    let known = compiled.get(text);
    if (known === undefined) {
      compiled.set(text, (known = ajv.compile(JSON.parse(text) as TSchema)));
    }
    return known;
  });
  return (value) => {
    for (const validate of parts) {
      if (!validate(value)) throw failure(validate.errors ?? [], place);
    }
  };
}

/** The schema without conditional requirements (`exactlyOne`, `atLeastOne`, `neededBy`, `dependentRequired`). */
function unconditional(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(unconditional);
  const members = Object.entries(schema).filter(
    ([name, value]) => name !== 'dependentRequired' && !(name === 'allOf' && isConditional(value)),
  );
  return Object.fromEntries(members.map(([name, member]) => [name, unconditional(member)]));
}

const isConditional = (allOf: unknown): boolean =>
  Array.isArray(allOf) &&
  (allOf as readonly object[]).every((part) => 'if' in part || 'oneOf' in part || 'anyOf' in part);

/** The schema without the `$id`s of the OpenAPI document, since a schema may contain another one twice. */
function anonymous(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(anonymous);
  const members = Object.entries(schema).filter(([name]) => name !== '$id');
  return Object.fromEntries(members.map(([name, member]) => [name, anonymous(member)]));
}

function failure(errors: readonly ErrorObject[], place: string): ApiError {
  const error = telling(errors);
  if (error === undefined) return new ApiError('parameter_invalid', `${place} is not valid`);
  const path = memberPath(error.instancePath);
  if (error.keyword === 'required' || error.keyword === 'dependentRequired') {
    const names = lacking(errors, error).map((name) => memberOf(path, name));
    const [param = ''] = names;
    if (param === 'message') {
      const expected = 'send the text to classify as a string; an empty one is classified as ERROR';
      return new ApiError('message_required', `message is missing: ${expected}`, { param });
    }
    const needing = error.params['property'] as unknown;
    const why = needing === undefined ? '' : `: ${memberOf(path, needing)} needs it`;
    const message = `${names.join(' or ')} is missing${why}`;
    return new ApiError('parameter_missing', message, { param });
  }
  if (error.keyword === 'oneOf' && error.params['passingSchemas'] !== null) {
    const names = given(error).map((name) => memberOf(path, name));
    const message = `${names.join(' and ')} are given: one of them is allowed`;
    const param = names.at(-1);
    return new ApiError('parameter_invalid', message, param === undefined ? {} : { param });
  }
  if (error.keyword === 'additionalProperties') {
    const param = memberOf(path, error.params['additionalProperty']);
    const message = `${param} is no member of ${path === '' ? place : path}`;
    return new ApiError('parameter_invalid', message, { param });
  }
  const reason = expected(errors, error) ?? error.message ?? 'is not valid';
  if (path === '') return new ApiError('parameter_invalid', `${place} ${reason}`);
  return new ApiError('parameter_invalid', `${path} ${reason}`, { param: path });
}

/** The error to speak of: of a union, that of the branch which takes values of this type, where one does. */
function telling(errors: readonly ErrorObject[]): ErrorObject | undefined {
  const [first] = errors;
  if (first === undefined) return undefined;
  const several = errors.find(({ params }) => Array.isArray(params['passingSchemas']));
  if (several !== undefined) return several;
  const { instancePath } = first;
  const fits = branchesOf(errors, first).find(
    (error) => error.instancePath !== instancePath || !CHOICES.has(error.keyword),
  );
  return fits ?? first;
}

/** Keywords that say which values there are: they fail where a branch is not meant. */
const CHOICES: ReadonlySet<string> = new Set(['type', 'const', 'enum']);

/** The missing member; of a choice between members, the first that is missing of each. */
function lacking(errors: readonly ErrorObject[], first: ErrorObject): readonly unknown[] {
  const branches = branchesOf(errors, first);
  const alike = branches.every(
    ({ keyword, instancePath }) => keyword === 'required' && instancePath === first.instancePath,
  );
  return (alike ? branches : [first]).map(({ params }) => params['missingProperty'] as unknown);
}

/** The members of which each one alone was enough. */
const given = ({ params, schema }: ErrorObject): readonly unknown[] =>
  (params['passingSchemas'] as readonly number[]).flatMap(
    (at) => (schema as readonly { readonly required?: readonly string[] }[])[at]?.required ?? [],
  );

/** The errors of a union are those of its branches, in order, then its own. */
function branchesOf(errors: readonly ErrorObject[], first: ErrorObject): readonly ErrorObject[] {
  const union = errors.findIndex(
    ({ keyword, instancePath }) =>
      (keyword === 'anyOf' || keyword === 'oneOf') && instancePath === first.instancePath,
  );
  return union < 0 ? [first] : errors.slice(0, union);
}

/** The values that the schema allows where the error is, in words: those of an enumeration, the types of a union. */
function expected(errors: readonly ErrorObject[], first: ErrorObject): string | null {
  const choices = branchesOf(errors, first).map((branch) =>
    branch.instancePath === first.instancePath ? choicesOf(branch) : null,
  );
  if (choices.includes(null)) return null;
  const all = [...new Set(choices.flatMap((some) => some ?? []))];
  if (all.length > MAX_CHOICES) return null;
  const last = all.pop() ?? '';
  return all.length === 0 ? `must be ${last}` : `must be ${all.join(', ')} or ${last}`;
}

function choicesOf({ keyword, params, parentSchema }: ErrorObject): readonly string[] | null {
  if (!CHOICES.has(keyword)) return null;
  // A literal has a type too: what is said of it is its value.
  const { const: only, enum: among = only === undefined ? undefined : [only] } = parentSchema ?? {};
  if (Array.isArray(among)) return among.map((value) => JSON.stringify(value));
  return [params['type']].flat().map(String);
}

const memberOf = (path: string, name: unknown): string =>
  path === '' ? String(name) : `${path}.${String(name)}`;

const memberPath = (pointer: string): string =>
  pointer.slice(1).split('/').map(unescapePointer).join('.');

const unescapePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');
