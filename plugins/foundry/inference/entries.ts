// The seal of one exchange with a model, and the Merkle tree of its session. gateway/API.md §10.8; log/FORMAT.md §2.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  canonical,
  Hex32,
  Identifier,
  SafeCount,
  sentenceOf,
  SessionRef,
  shortName,
} from '../../contract/index.ts';
import type {
  EntryType,
  Json,
  JsonObject,
  RowReader,
  RowWriter,
  Sequenced,
} from '../../contract/index.ts';
import { count } from '../entries.ts';

/** The longest event that is waited for. */
const MAX_EVENT_CHARS = 1_048_576;

/** The data of each event; comments and other fields are passed over. An event that never ends is an error. */
export async function* eventsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  let held = 0;
  for await (const piece of bytes) {
    rest += decoder.decode(piece, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
        held = 0;
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
        held += line.length;
      }
    }
    if (held + rest.length > MAX_EVENT_CHARS) throw new Error('an event is too long');
  }
  // What is left without its empty line was cut off, but for a last event that says it is the last.
  const last = rest.startsWith('data:') ? rest.slice(5).trim() : data.join('\n');
  if (last === '[DONE]') yield last;
}

/** The complete subtrees of a tree, largest first, by their hashes in hex: one for each bit of its size. */
interface Peaks {
  readonly size: number;
  readonly peaks: readonly string[];
}

/** The tree without leaves. */
export const NO_PEAKS: Peaks = { size: 0, peaks: [] };

/** What a leaf says of an exchange; members of its entry, so that anyone rebuilds the tree from the log. */
export interface Leaf {
  readonly request_hash: string;
  readonly response_hash: string;
  readonly outcome: string;
}

const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

const node = (left: string, right: string): string =>
  sha256(Buffer.of(1), Buffer.from(left, 'hex'), Buffer.from(right, 'hex')).toString('hex');

/** SHA-256(00 ‖ JCS(leaf)), hex. */
export function leafHash({ request_hash, response_hash, outcome }: Leaf): string {
  const leaf = { request_hash, response_hash, outcome };
  return sha256(Buffer.of(0), canonical(leaf)).toString('hex');
}

/** The tree with one more leaf. */
export function grown({ size, peaks }: Peaks, leaf: Leaf): Peaks {
  let last = leafHash(leaf);
  const left = [...peaks];
  // Each full pair below becomes one subtree, as a carry runs through a counter.
  for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
    last = node(left.pop() ?? '', last);
  }
  return { size: size + 1, peaks: [...left, last] };
}

/** Root of a tree that has a leaf, hex. */
export function rootOf({ peaks }: Peaks): string {
  const [last = '', ...rest] = [...peaks].reverse();
  return rest.reduce((right, left) => node(left, right), last);
}

/** SHA-256(salt ‖ JCS(value)), hex: the form of every commitment (log/FORMAT.md §2). */
export function sealed(salt_hex: string, value: Json): string {
  return sha256(Buffer.from(salt_hex, 'hex'), canonical(value)).toString('hex');
}

/** A tree out of its row. */
function peaksOf(row: Json | undefined): Peaks {
  return row === undefined ? NO_PEAKS : (row as unknown as Peaks);
}

/** A tree as a row. */
const peaksRow = ({ size, peaks }: Peaks): JsonObject => ({ size, peaks: [...peaks] });

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
    /** `other` if an entry cannot hold its name. */
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
  sentence: sentenceOf<Static<typeof SealMembers>>(
    ({ model, source, outcome }) =>
      `An exchange with the model ${shortName(model)}, as the ${source} told it, was sealed with the outcome ${outcome}.`,
  ),
  project,
};
