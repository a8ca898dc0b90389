// The schemas of a document on a chain: what an absence document, the proof of a session and `proof/lookup` share.
// log/FORMAT.md §6.

import { Type } from 'typebox';
import { Count, Hex32, Millis } from './schemas.ts';

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

/** What closes the window: the chain never was, its head is in the window, or the entry after it. */
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

/** Members of every such document. */
export const documentMembers = {
  schema: Type.Literal('svc-absence-witness-v1'),
  question: Type.Object({ key: Type.Array(Type.String()), from_ms: Millis, to_ms: Millis }),
  verdict: Type.Enum(['PRESENT', 'ABSENT', 'UNDECLARED', 'UNDERSAMPLED']),
  checkpoint: Type.String({ description: 'Signed note.' }),
  map_head: OpenedEntry,
  proof: ChainProof,
  entries: Type.Optional(Type.Array(OpenedEntry)),
  more: Type.Optional(Type.Literal(true)),
};

/** A document without words, surfaces and coverage. */
export const LookupDocument = Type.Object(documentMembers, { $id: 'LookupDocument' });
