// Schemas that requests, entries and answers share: reserved members, receipts, and documents on a chain.
// gateway/API.md §1.1; log/FORMAT.md §2, §3, §6.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { EntryType, Json, JsonObject } from '../../log/index.ts';
import { ApiError } from './errors.ts';

/** An entity: an identifier, which must not identify a natural person. */
export const EntityName = Type.String({ pattern: '^[a-z0-9][a-z0-9:._-]{0,255}$' });

/** A surface of an entity. */
export const SurfaceName = Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' });

/** The pseudonym of a session in a log. */
export const SessionRef = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' });

/**
 * The chain of a session. Written by hand, because TypeBox emits tuples of JSON Schema draft 7 and the log uses
 * 2020-12.
 */
export const SessionKey = Type.Unsafe<readonly ['session', string]>({
  type: 'array',
  prefixItems: [Type.Literal('session'), SessionRef],
  items: false,
  minItems: 2,
  maxItems: 2,
});

/** 32 bytes in hex. */
export const Hex32 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** An entry id, UUIDv7. */
export const EntryId = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$',
});

/** The parameter by which a request names an entry. */
export const EntryOrHash = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'An entry_id or an entry hash.',
});

/** An identifier that may be logged in clear text: of an act, a rule, a currency. */
export const Identifier = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$' });

/** A count, an index or a size. */
export const Count = Type.Integer({ minimum: 0 });

/** A count in an entry, at most 2^53 - 1. */
export const SafeCount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Milliseconds of UTC. */
export const Millis = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** A schema that also allows null. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** A member, or a group of members that must be given together. */
type Needed = string | readonly string[];

const needing = (choices: readonly Needed[]): JsonObject[] =>
  choices.map((names) => ({ required: [names].flat() }));

/**
 * Options of an object schema that require exactly one of these members or groups of members. They are wrapped in
 * `allOf`, because generators of clients ignore the members of a schema that has `oneOf` at its top level.
 */
export const exactlyOne = (...choices: readonly Needed[]): { allOf: JsonObject[] } => ({
  allOf: [{ oneOf: needing(choices) }],
});

/** Options of an object schema that require at least one of these members or groups of members. */
export const atLeastOne = (...choices: readonly Needed[]): { allOf: JsonObject[] } => ({
  allOf: [{ anyOf: needing(choices) }],
});

/** Options of an object schema that require further members, depending on the value of one member. */
export const neededBy = (
  member: string,
  needs: Readonly<Record<string, readonly string[]>>,
): { allOf: JsonObject[] } => ({
  allOf: Object.entries(needs).map(([value, names]) => ({
    if: { required: [member], properties: { [member]: { const: value } } },
    then: { required: [...names] },
  })),
});

/** Converts a TypeBox schema to the plain JSON that is declared in the log. */
export function asSchema(schema: TSchema): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}

/** The salt and value that open one commitment. */
const DisclosureSchema = Type.Object(
  { salt: Type.String({ pattern: '^[0-9a-f]{32}$' }), value: Type.Unknown() },
  { $id: 'Disclosure' },
);

/** The disclosure of a commitment whose value was destroyed (DELETE /api/v1/disclosures/{entry_id}). */
const ErasedSchema = Type.Object(
  {
    erased: Type.Literal(true),
    erased_at_ms: Millis,
    erasure_entry_id: Type.String({ format: 'uuid' }),
  },
  { $id: 'ErasedDisclosure' },
);

/** Members that every receipt has, beside those of its entry type. */
export const receiptMembers = {
  type: Type.String(),
  origin: Type.String(),
  entry_id: Type.String({ format: 'uuid', description: 'The receipt identifier (UUIDv7).' }),
  index: Type.Integer({ minimum: 0 }),
  issued_at_ms: Millis,
  kid: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
  sandbox: Type.Boolean(),
  signature: Type.String({
    pattern: '^[A-Za-z0-9+/]{86}==$',
    description: 'Ed25519 over the statement in canonical form, base64.',
  }),
  entry_hash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Leaf hash of the entry.' }),
  permalink: Type.String({ format: 'uri' }),
  verify_url: Type.String({ format: 'uri' }),
  tenant_ref: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{22}$' })),
  links: Type.Optional(
    Type.Array(
      Type.Object(
        {
          key: Type.Array(Type.String()),
          seq: Type.Integer({ minimum: 0 }),
          prev_index: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
          prev_ms: Type.Union([Millis, Type.Null()]),
        },
        { $id: 'ChainLink', description: 'The place of an entry on one of its chains.' },
      ),
    ),
  ),
  commitments: Type.Optional(Type.Record(Type.String(), Type.String())),
  disclosures: Type.Optional(
    Type.Record(Type.String(), Type.Union([DisclosureSchema, ErasedSchema])),
  ),
  event_at_ms: Type.Optional(Millis),
  toll: Type.Optional(Type.String()),
  toll_micro_usd: Type.Optional(Type.Integer({ minimum: 0 })),
  cleared_micro_usd: Type.Optional(
    Type.Integer({ description: 'The exposure that the act cleared.' }),
  ),
  log: Type.Object(
    {
      origin: Type.String(),
      index: Type.Integer({ minimum: 0 }),
      checkpoint: Type.Optional(Type.String()),
      inclusion_proof: Type.Optional(Type.Array(Type.String())),
    },
    {
      $id: 'LogPlace',
      description:
        'Place of the entry in its log; with `Prefer: wait=N` it includes the inclusion proof.',
    },
  ),
};

/** A receipt of any type; the members of the type are not declared. */
export const EntryReceipt = Type.Object(receiptMembers, {
  $id: 'EntryReceipt',
  additionalProperties: true,
  description:
    'A signed statement with members derived from it. `type` is its entry type. The members of the type are in the ' +
    'schema that is named after the type: `pdtr.twin.v2` has the schema PdtrTwinV2Receipt.',
});

const { type: _, ...untyped } = receiptMembers;

/** Members of all receipts, without `type`. */
const ReceiptBase = Type.Object(untyped, {
  $id: 'ReceiptBase',
  additionalProperties: true,
  description: 'Members of receipts of all types, without `type`.',
});

/** Name of the schema of a type's receipts in the OpenAPI document. */
function receiptName(type: string): string {
  const words = type.split(/[^A-Za-z0-9]+/);
  return `${words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')}Receipt`;
}

/** Schema of the receipts of a type: the members of all receipts and those that the type declares. */
export function receiptOf({ name, schema }: Pick<EntryType, 'name' | 'schema'>): TSchema {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: JsonObject;
    readonly required?: readonly string[];
  };
  return Type.Unsafe({
    $id: receiptName(name),
    description: `The receipt of an entry of the type ${name}.`,
    allOf: [
      ReceiptBase,
      {
        type: 'object',
        required: ['type', ...required.filter((member) => member !== 'type')],
        properties: { type: Type.Literal(name), ...properties },
      },
    ],
  });
}

/** The entry type of this name among those of a plugin; throws a plain error if there is none. */
export function entryTypeOf(
  plugin: { readonly name: string; readonly types: readonly EntryType[] },
  name: string,
): EntryType {
  const type = plugin.types.find((one) => one.name === name);
  if (type === undefined) throw new Error(`${plugin.name} has no entry type ${name}`);
  return type;
}

/** Adds a description to a schema that has a name ($id). */
export function described(schema: TSchema, description: string): TSchema {
  return Type.Unsafe({ allOf: [schema], description });
}

const Hash = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$', description: 'Base64.' });

/** An entry with its path to the checkpoint of the document. */
const OpenedEntry = Type.Object(
  {
    index: Count,
    entry: Type.String({ description: 'The exact text of the entry.' }),
    path: Type.Array(Hash, { description: 'From the leaf to the root.' }),
  },
  { $id: 'OpenedEntry' },
);

const Siblings = Type.Array(Type.Union([Hash, Type.Literal('')]), { maxItems: 256 });

/** The end of the window: the chain does not exist, its last entry is before the end, or its next entry is after it. */
const ChainProof = Type.Union(
  [
    Type.Object({
      type: Type.Literal('never'),
      siblings: Siblings,
      foreign: Type.Optional(Type.Object({ skey: Type.String(), vhash: Type.String() })),
    }),
    Type.Object({
      type: Type.Literal('tail'),
      siblings: Siblings,
      head: Type.Object({
        count: Count,
        last_index: Count,
        last_ms: Count,
        last_leaf_hash: Type.Union([Hash, Hex32]),
      }),
    }),
    Type.Object({ type: Type.Literal('gap'), successor: OpenedEntry }),
  ],
  { $id: 'ChainProof' },
);

/** Members that every document on a chain has. */
export const documentMembers = {
  schema: Type.Literal('svc-absence-witness-v1'),
  question: Type.Object(
    {
      key: Type.Array(Type.String(), { description: 'The chain, by its key.' }),
      from_ms: described(Millis, 'The first millisecond of the window.'),
      to_ms: described(Millis, 'The last millisecond of the window.'),
    },
    {
      $id: 'ChainQuestion',
      description: 'Which chain the document is about, and in which window.',
    },
  ),
  verdict: Type.Enum(['PRESENT', 'ABSENT', 'UNDECLARED', 'UNDERSAMPLED']),
  checkpoint: Type.String({ description: 'Signed note.' }),
  map_head: OpenedEntry,
  proof: ChainProof,
  entries: Type.Optional(Type.Array(OpenedEntry)),
  more: Type.Optional(Type.Literal(true)),
};

/** The answer of a lookup: a document on a chain without further members. */
export const LookupDocument = Type.Object(documentMembers, { $id: 'LookupDocument' });

/** Derives a schema that fits all of these values. Members that some of the objects lack are optional. */
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

/** Derives the schemas of the members of objects, by name. Members that some of the objects lack are optional. */
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

const MAX = 64;

/** Pattern of a slug, the kebab-case form of a name. */
export const SLUG = '^[a-z0-9]+(-[a-z0-9]+)*$';

/**
 * The slug of a name: accents are removed, and every run of other characters than a-z and 0-9 becomes one hyphen.
 *
 * @throws ApiError `parameter_invalid` of `param` if no letter or digit remains
 */
export function slugOf(name: string, param: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const kebab = plain.replace(/[^a-z0-9]+/g, '-').slice(0, MAX);
  const slug = kebab.replace(/^-|-$/g, '');
  if (slug !== '') return slug;
  throw new ApiError('parameter_invalid', `${param} has no letter a to z and no digit`, { param });
}
