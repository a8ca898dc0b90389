// The entry of an anchor: digests of somebody else's document, whose text never reaches the log. gateway/API.md §12.5;
// log/FORMAT.md §2.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  EntityName,
  Hex32,
  ofEntity,
  sentenceOf,
  SessionRef,
  shortName,
  SurfaceName,
} from '../contract/index.ts';
import type { EntryType, RowWriter } from '../contract/index.ts';

/** Name of the entry type. */
export const ANCHOR = 'anchors.anchor.v1';

/** What can be anchored. */
export const KINDS = ['dsse', 'statement', 'c2pa_claim', 'digest'] as const;

/** Labels of the box that holds a C2PA claim. */
export const CLAIM_BOXES = ['c2pa.claim', 'c2pa.claim.v2'] as const;

/** Hash algorithms that a C2PA claim may name in its `alg`. */
export const CLAIM_ALGS = ['sha256', 'sha384', 'sha512'] as const;

/** `does_not_assert`: the identifiers in the entry, and what they mean. */
export const DOES_NOT_ASSERT = {
  signatures_valid: 'that any signature of the document holds, or who made it',
  content_true: 'that what the document says is true',
  content_kept: 'that the service keeps the document: it has its digests alone',
} as const;

/** What an anchor says, beside the common members. Types, predicate types and subjects are commitments. */
export const AnchorMembers = Type.Object(
  {
    kind: Type.Enum([...KINDS], { description: 'What was anchored.' }),
    digest: {
      ...Hex32,
      description:
        'SHA-256 of what was anchored: for `dsse` of the pre-authentication encoding (PAE), which the signatures cover; ' +
        'for `statement` of its text; for `c2pa_claim` of the CBOR bytes of the claim; for `digest` as the caller gave it.',
    },
    payload_sha256: Type.Optional({
      ...Hex32,
      description: 'For `dsse`: SHA-256 of the decoded payload.',
    }),
    envelope_sha256: Type.Optional({
      ...Hex32,
      description: 'For `dsse`: SHA-256 of the envelope with its signatures.',
    }),
    form: Type.Optional(
      Type.Enum(['text', 'jcs'], {
        description:
          'The bytes of `envelope_sha256`, or of the `digest` of a statement: `text` is the text as it was sent, `jcs` ' +
          'the canonical JSON (RFC 8785) of the object that was sent.',
      }),
    ),
    signatures: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 64,
        description: 'Number of signatures of an envelope.',
      }),
    ),
    claim_box: Type.Optional(
      Type.Enum([...CLAIM_BOXES], { description: 'Label of the box that holds the C2PA claim.' }),
    ),
    claim_alg: Type.Optional(
      Type.Enum([...CLAIM_ALGS], { description: 'The `alg` of the C2PA claim.' }),
    ),
    does_not_assert: Type.Array(Type.Enum(Object.keys(DOES_NOT_ASSERT))),
    session_ref: Type.Optional(SessionRef),
    entity: Type.Optional(EntityName),
    surface: Type.Optional(SurfaceName),
  },
  { additionalProperties: false },
);

/** The members of an anchor that depend on what was anchored. */
export type Anchored = Omit<
  Static<typeof AnchorMembers>,
  'session_ref' | 'entity' | 'surface' | 'does_not_assert'
>;

const NAMES: Readonly<Record<Anchored['kind'], string>> = {
  dsse: 'a DSSE envelope',
  statement: 'an in-toto statement',
  c2pa_claim: 'a C2PA claim',
  digest: 'a document',
};

/** Prefix of the rows that list all anchors by index, relative to the plugin. */
export const ALL = 'all/';
/** Prefix of the rows that list the anchors of a digest by index, relative to the plugin. */
export const ofDigest = (digest: string): string => `digest/${digest}/`;
/** The last part of a row's name. */
export const placeOfRow = (index: number): string => String(index).padStart(16, '0');

function list(rows: RowWriter, prefix: string, index: number): void {
  rows.put(`anchors/${prefix}${placeOfRow(index)}`, true);
}

/** `anchors.anchor.v1`. Each digest has a chain of its own, so that its absence from a window can be proven. */
export const anchorType: EntryType = {
  name: ANCHOR,
  schema: asSchema(AnchorMembers),
  keys: [
    ['anchors.digest', 'digest'],
    ['anchors.payload', 'payload_sha256'],
    ['anchors.envelope', 'envelope_sha256'],
  ],
  sentence: sentenceOf<Static<typeof AnchorMembers>>(
    (anchor) =>
      `The tenant anchored ${NAMES[anchor.kind]}${ofEntity(anchor)} by its SHA-256 digest ${shortName(anchor.digest)}.`,
  ),
  project({ index, statement }, rows) {
    const { digest, payload_sha256, envelope_sha256 } = statement as unknown as Anchored;
    list(rows, ALL, index);
    for (const each of new Set([digest, payload_sha256, envelope_sha256])) {
      if (each !== undefined) list(rows, ofDigest(each), index);
    }
  },
};
