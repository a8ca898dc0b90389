// Unknown members of a request body or query (gateway/API.md §4.1).
//
// Otherwise a misspelt optional member would be ignored silently, and the answer would be to another question than the
// caller's. The schemas of the route say which names there are: an object schema that names members is closed, unless
// it says `additionalProperties: true`; an object schema without names is free-form and takes anything.

import type { TSchema } from 'typebox';
import { ApiError } from '../../plugins/contract/index.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The members that a schema allows in a value. */
interface Known {
  /** The members of objects; null where any name is allowed. */
  readonly members: ReadonlyMap<string, Known | null> | null;
  /** The elements of arrays. */
  readonly items: Known | null;
}

/** A member that no schema names, with the object that holds it. */
interface UnknownMember {
  readonly path: string;
  readonly name: string;
  readonly holder: Record<string, unknown>;
  readonly known: Iterable<string>;
}

/** Finds the unknown members of a value, depth first; null for a schema that takes any. */
export type FindUnknown = (value: unknown) => readonly UnknownMember[];

/** The request's preference about unknown members (`Prefer: handling=lenient`, RFC 7240 §4.4). */
interface Leniency {
  readonly lenient: boolean;
  /** Paths of the members that were ignored. */
  readonly ignored: string[];
}

/**
 * Refuses a value with unknown members by the first of them. `Prefer: handling=lenient` removes them instead, and the
 * answer lists them in `ignored`.
 */
export function checkUnknown(
  { state }: { readonly state: Leniency },
  find: FindUnknown | null,
  value: unknown,
  place: 'body' | 'query',
): void {
  const found = find?.(value) ?? [];
  const [first] = found;
  if (first === undefined) return;
  if (!state.lenient) throw unknownError(first, place);
  for (const { holder, name, path } of found) {
    Reflect.deleteProperty(holder, name);
    state.ignored.push(path);
  }
}

/** Compiles the search for unknown members of a schema; null where no value has any. */
export function compileUnknown(schema: TSchema): FindUnknown | null {
  const known = knownOf([schema]);
  if (known === null) return null;
  return (value) => {
    const found: UnknownMember[] = [];
    walk(value, known, '', found);
    return found;
  };
}

/**
 * The error for an unknown member.
 *
 * @param place the container of a top-level member: `body` or `query`
 */
function unknownError({ path, name, known }: UnknownMember, place: string): ApiError {
  const holder = path.slice(0, Math.max(0, path.length - name.length - 1));
  const names = [...known];
  const nearest = nearestOf(name, names);
  const hint =
    nearest !== null
      ? `; did you mean ${nearest}?`
      : names.length === 0 || names.length > MAX_NAMES
        ? ''
        : `, which has ${names.join(', ')}`;
  const message = `${path} is no member of ${holder === '' ? place : holder}${hint}`;
  return new ApiError('parameter_unknown', message, { param: path });
}

/** A message lists the known names up to this number. */
const MAX_NAMES = 24;

function walk(value: unknown, known: Known, path: string, found: UnknownMember[]): void {
  if (Array.isArray(value)) {
    if (known.items === null) return;
    for (const [i, item] of value.entries()) walk(item, known.items, join(path, String(i)), found);
  } else if (typeof value === 'object' && value !== null && known.members !== null) {
    const holder = value as Record<string, unknown>;
    for (const name of Object.keys(holder)) {
      const member = known.members.get(name);
      if (member === undefined) {
        found.push({ path: join(path, name), name, holder, known: known.members.keys() });
      } else if (member !== null) {
        walk(holder[name], member, join(path, name), found);
      }
    }
  }
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** Of several schemas for one value, a member is known if one of them names it. */
function knownOf(schemas: readonly unknown[]): Known | null {
  const branches = schemas.flatMap(branchesOf);
  // A branch without a type, such as an unknown value, takes objects and arrays of any form.
  if (branches.some((branch) => !CONSTRAINTS.some((word) => word in branch))) return null;
  const objects = branches.filter(({ type, properties }) => type === 'object' || properties);
  const arrays = branches.filter(({ type, items }) => type === 'array' || items !== undefined);
  const members = objects.some(isFree) ? null : membersOf(objects);
  const items = arrays.length === 0 ? null : knownOf(arrays.map(({ items }) => items ?? {}));
  const empty = objects.length === 0 || members === null;
  return empty && items === null ? null : { members: empty ? null : members, items };
}

/** Words by which a schema restricts a value; a conditional requirement alone (`required`) is no description of one. */
const CONSTRAINTS = ['type', 'properties', 'items', 'const', 'enum', 'required', 'not', 'pattern'];

function branchesOf(schema: unknown): readonly Schema[] {
  if (typeof schema !== 'object' || schema === null) return schema === false ? [] : [{}];
  const {
    anyOf = [],
    oneOf = [],
    allOf = [],
    ...own
  } = schema as Readonly<Record<string, unknown>>;
  const nested = [anyOf, oneOf, allOf].flatMap((list) => list as readonly unknown[]);
  const described = CONSTRAINTS.some((word) => word in own);
  return [...(described || nested.length === 0 ? [own] : []), ...nested.flatMap(branchesOf)];
}

const isFree = ({ type, properties, additionalProperties, patternProperties }: Schema): boolean => {
  if (patternProperties !== undefined) return true;
  if (additionalProperties !== undefined) return additionalProperties !== false;
  return type === 'object' && Object.keys(properties ?? {}).length === 0;
};

function membersOf(objects: readonly Schema[]): Map<string, Known | null> {
  const schemas = new Map<string, unknown[]>();
  for (const { properties = {} } of objects) {
    for (const [name, schema] of Object.entries(properties as Schema)) {
      schemas.set(name, [...(schemas.get(name) ?? []), schema]);
    }
  }
  return new Map([...schemas].map(([name, all]) => [name, knownOf(all)]));
}

/** The known name that is nearest to a name, by edits; null when more than half of the longer one differs. */
function nearestOf(name: string, known: readonly string[]): string | null {
  const least = { name: null as string | null, edits: Infinity };
  for (const one of known) {
    const longer = Math.max(one.length, name.length);
    if (name.length > MAX_NAME || Math.abs(one.length - name.length) > longer / 2) continue;
    const edits = editsBetween(name.toLowerCase(), one.toLowerCase());
    if (edits <= longer / 2 && edits < least.edits) Object.assign(least, { name: one, edits });
  }
  return least.name;
}

/** Longer names are not compared: the work grows with the product of the lengths. */
const MAX_NAME = 64;

/** Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const [left = 0, above = 0, diagonal = 0] = [next[j - 1], row[j], row[j - 1]];
      next.push(Math.min(left + 1, above + 1, diagonal + same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
