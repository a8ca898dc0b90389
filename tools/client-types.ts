// The text of tools/clients/typescript/paths.ts: the operations of the interface as TypeScript types, without those of pages
// and without refusals, which the client throws as errors of one class. The file is not committed: the build writes it.

import openapiTypes, { astToString } from 'openapi-typescript';
import { isJsonObject, memberOf, objectOf } from '../log/verify.ts';
import type { Json, JsonObject } from '../log/verify.ts';
import { interfaceOf, LEFT_OUT } from './interface.ts';

const HEAD = '// Written by tools/build.ts from the OpenAPI document. Do not edit.\n\n';

/** The text of paths.ts. */
export async function clientTypes(): Promise<string> {
  const { document } = await interfaceOf();
  const types = await openapiTypes(trimmed(document) as never, { defaultNonNullable: false });
  return HEAD + astToString(types);
}

/** The document with what the client's types need: operations with their JSON answers, and what these refer to. */
function trimmed(document: JsonObject): JsonObject {
  const paths: Record<string, Json> = {};
  for (const [path, item] of Object.entries(objectOf(document.paths))) {
    const operations = Object.entries(objectOf(item)).flatMap(([method, operation]) => {
      const kept = trimmedOperation(objectOf(operation));
      return kept === null ? [] : [[method, kept] as const];
    });
    if (operations.length > 0) paths[path] = Object.fromEntries(operations);
  }
  const { schemas = {}, parameters = {} } = objectOf(document.components);
  const { openapi = null, info = null } = document;
  const components = referred(paths, {
    schemas: objectOf(schemas),
    parameters: objectOf(parameters),
  });
  return { openapi, info, paths, components };
}

function trimmedOperation(operation: JsonObject): JsonObject | null {
  const { summary = '', tags, parameters = [], requestBody, responses } = operation;
  if (Array.isArray(tags) && tags.some((tag) => LEFT_OUT.includes(tag as string))) return null;
  const { description = '', content = null } = objectOf(objectOf(responses)['200']);
  const isShown = content === null || 'application/json' in objectOf(content);
  if (!isShown) return null;
  const answer: JsonObject = content === null ? { description } : { description, content };
  const kept = (parameters as readonly Json[]).filter((one) => objectOf(one).in !== 'header');
  return {
    summary,
    parameters: kept,
    responses: { '200': answer },
    ...(requestBody === undefined ? {} : { requestBody }),
  };
}

type Components = Readonly<Record<string, JsonObject>>;

/** The components that a value refers to, and those that these refer to. */
function referred(from: Json, all: Components): JsonObject {
  const kept: Record<string, Record<string, Json>> = {};
  const follow = (value: Json): void => {
    if (Array.isArray(value)) for (const one of value as readonly Json[]) follow(one);
    if (!isJsonObject(value)) return;
    const [, group = '', name = ''] =
      /^#\/components\/(\w+)\/(.+)$/.exec(memberOf(value, '$ref') ?? '') ?? [];
    const found = all[group]?.[name];
    if (found !== undefined && kept[group]?.[name] === undefined) {
      (kept[group] ??= {})[name] = found;
      follow(found);
    }
    for (const member of Object.values(value)) follow(member);
  };
  follow(from);
  return kept;
}
