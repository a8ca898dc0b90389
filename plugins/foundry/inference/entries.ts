// The seal of one exchange with a model, and the tree of its session. gateway/API.md §10.8; log/FORMAT.md §2.

import { Type } from 'typebox';
import { asSchema, Hex32, Identifier, SafeCount, SessionRef } from '../../contract.ts';
import type { EntryType, RowReader, RowWriter, Sequenced } from '../../contract.ts';
import { count } from '../counts.ts';
import { grown, peaksOf, peaksRow } from './session-tree.ts';
import type { Leaf, Peaks } from './session-tree.ts';

/** Identifier of the entry type. */
export const SEAL = 'foundry.inference.v1';

/** How an exchange ended; only `completed` is an answer. */
const OUTCOMES = [
  'completed',
  'refused',
  'unreachable',
  'timed_out',
  'interrupted',
  'garbled',
  'oversized',
  'client_gone',
] as const;

/** One of the outcomes. */
export type Outcome = (typeof OUTCOMES)[number];

/** What a seal leaves open. */
export const DOES_NOT_ASSERT = {
  model: 'that the model which was named gave the answer, only that the upstream sent it',
  truth: 'that what the answer says is true',
} as const;

/** What a seal says; request and response are a commitment. */
const SealMembers = Type.Object(
  {
    session_ref: Type.Optional(SessionRef),
    source: Type.Enum(['upstream', 'caller']),
    /** `other` where its name cannot stand here. */
    model: Identifier,
    streamed: Type.Boolean(),
    outcome: Type.Enum([...OUTCOMES]),
    upstream_status: Type.Optional(Type.Integer({ minimum: 100, maximum: 999 })),
    request_hash: { ...Hex32, description: 'SHA-256(salt, canonical request).' },
    response_hash: { ...Hex32, description: 'SHA-256(salt, canonical response).' },
    session_size: SafeCount,
    session_root: {
      ...Hex32,
      description:
        'RFC 6962 root over the canonical {outcome, request_hash, response_hash} of the session so far.',
    },
    does_not_assert: Type.Array(Type.Enum(Object.keys(DOES_NOT_ASSERT))),
  },
  { additionalProperties: false },
);

const sessionRow = (session_ref: string): string => `foundry/session/${session_ref}`;

/** The session's tree with this exchange; that of the exchange alone where there is no session. */
export function sessionWith(rows: RowReader, session_ref: string | undefined, leaf: Leaf): Peaks {
  return grown(
    peaksOf(session_ref === undefined ? undefined : rows.get(sessionRow(session_ref))),
    leaf,
  );
}

function project(entry: Sequenced, rows: RowWriter): void {
  const { statement } = entry;
  const session_ref = statement['session_ref'] as string | undefined;
  const leaf = statement as unknown as Leaf;
  if (session_ref !== undefined) {
    rows.put(sessionRow(session_ref), peaksRow(sessionWith(rows, session_ref, leaf)));
  }
  count(entry, rows, { inference_seals: 1 });
}

/** `foundry.inference.v1`; on the chain of its session. */
export const sealType: EntryType = {
  name: SEAL,
  schema: asSchema(SealMembers),
  keys: [],
  project,
};
