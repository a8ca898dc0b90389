// The schema of a document that the service itself wrote, such as a catalog: what it has is what it may have.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { Json, JsonObject } from '../log/index.ts';

/** The schema of values of which these are all: members that some of the objects lack are optional. */
export function shapeOf(...values: readonly Json[]): TSchema {
  const shapes: TSchema[] = [];
  const objects = values.filter(isObject);
  const lists = values.filter((value): value is readonly Json[] => Array.isArray(value));
  if (objects.length > 0) shapes.push(objectShape(objects));
  if (lists.length > 0) shapes.push(Type.Array(shapeOf(...lists.flat())));
  if (values.some((value) => typeof value === 'string')) shapes.push(Type.String());
  if (values.some((value) => typeof value === 'number')) shapes.push(Type.Number());
  if (values.some((value) => typeof value === 'boolean')) shapes.push(Type.Boolean());
  if (values.includes(null)) shapes.push(Type.Null());
  const [only = Type.Unknown()] = shapes;
  return shapes.length > 1 ? Type.Union(shapes) : only;
}

/** The schemas of the members of objects, by name; optional where one of the objects has none. */
export function memberShapes(objects: readonly JsonObject[]): Record<string, TSchema> {
  const names = new Set(objects.flatMap((object) => Object.keys(object)));
  const members = [...names].map((name): [string, TSchema] => {
    const values = objects.map((object) => object[name]).filter((value) => value !== undefined);
    const shape = shapeOf(...values);
    return [name, values.length < objects.length ? Type.Optional(shape) : shape];
  });
  return Object.fromEntries(members);
}

const objectShape = (objects: readonly JsonObject[]): TSchema => Type.Object(memberShapes(objects));

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
