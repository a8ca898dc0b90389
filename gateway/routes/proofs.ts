// Proofs about a log as JSON: inclusion, consistency, and what a chain has in a window. log/FORMAT.md §5, §6.

import { Type } from 'typebox';
import { fromHex } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import { ApiError, LookupDocument, route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { logAt, LOG_TAG, PLACES } from './log.ts';
import { lookupDocument, LookupQuery } from './lookup.ts';
import { covering, publishedSize, noteOf } from './published.ts';
import { Count, Hex32, integerOf, integerText, Note, Path } from './schemas.ts';
import { sendText } from './send.ts';

const Size = Type.Optional(integerText('A published size; the newest unless given.'));

const InclusionProof = Type.Object(
  {
    index: Count,
    entry: Type.String({ description: 'The exact text of the entry.' }),
    path: Path,
    checkpoint: Note,
  },
  { $id: 'InclusionProof' },
);

const ConsistencyProof = Type.Object(
  { from: Count, to: Count, path: Path, checkpoint: Note },
  { $id: 'ConsistencyProof', description: 'The checkpoint is that of `to`.' },
);

const InclusionQuery = Type.Object({
  index: Type.Optional(integerText('Index of the entry.')),
  entry_hash: Type.Optional(Hex32),
  size: Size,
});

interface InclusionQuestion {
  readonly index?: string;
  readonly entry_hash?: string;
  readonly size?: string;
}

/** The three kinds of proof, under both places. */
export function proofRoutes(gateway: Gateway): readonly Route[] {
  return PLACES.flatMap(({ prefix, members }) => [
    route({
      method: 'GET',
      path: `${prefix}/proof/inclusion`,
      tag: LOG_TAG,
      summary: 'Inclusion proof of an entry',
      description:
        'By `index` or by `entry_hash`. An entry that is not published yet is waited for.',
      access: 'read',
      budget: 'log',
      params: Type.Object(members),
      query: InclusionQuery,
      responses: { 200: { description: 'The entry and its path.', schema: InclusionProof } },
      errors: ['resource_missing', 'log_unavailable'],
      async handle(ctx) {
        const log = logAt(gateway, ctx.state.params);
        sendText(ctx, await inclusionProof(log, ctx.state.query));
      },
    }),
    route({
      method: 'GET',
      path: `${prefix}/proof/consistency`,
      tag: LOG_TAG,
      summary: 'Consistency proof of a past size with a published one',
      access: 'read',
      budget: 'log',
      params: Type.Object(members),
      query: Type.Object({
        from: integerText('The older size, published or not; 0 is the empty log.'),
        to: Size,
      }),
      responses: { 200: { description: 'The path.', schema: ConsistencyProof } },
      errors: ['resource_missing'],
      handle(ctx) {
        const log = logAt(gateway, ctx.state.params);
        const { query } = ctx.state;
        const to = publishedSize(log, query.to, 'to');
        // Any past size: the head_hash of a manifest is the root at a size that has no checkpoint.
        const from = integerOf(query.from, 'from');
        if (from > to)
          throw new ApiError('parameter_invalid', 'from is over to', { param: 'from' });
        const path = from === 0 ? [] : log.consistency(from, to);
        const members = `"from":${String(from)},"to":${String(to)}`;
        sendText(ctx, proofText(log, to, members, path));
      },
    }),
    route({
      method: 'GET',
      path: `${prefix}/proof/lookup`,
      tag: LOG_TAG,
      summary: 'What stands on a chain in a window, or that nothing does',
      description:
        'An absence document (svc-absence-witness-v1) without `declared` and `coverage`. The window must be ' +
        'closed: up to the time of the newest map head. `Prefer: wait=N` waits for that. It counts as ten reads.',
      access: 'read',
      budget: 'log',
      cost: 10,
      params: Type.Object(members),
      query: LookupQuery,
      responses: { 200: { description: 'The document.', schema: LookupDocument } },
      errors: ['window_not_closed', 'resource_missing'],
      async handle(ctx) {
        const log = logAt(gateway, ctx.state.params);
        ctx.body = await lookupDocument(gateway, log, ctx.state.query, ctx.state.wait_ms);
      },
    }),
  ]);
}

async function inclusionProof(log: Log, query: InclusionQuestion): Promise<string> {
  const index = indexOf(log, query);
  const size =
    query.size === undefined
      ? (await covering(log, index + 1)).size
      : publishedSize(log, query.size, 'size');
  if (index >= size) {
    throw new ApiError('parameter_invalid', 'size does not reach the entry', { param: 'size' });
  }
  const entry = log.entry(index);
  if (entry === null) throw new ApiError('resource_missing', 'there is no such entry');
  const members = `"index":${String(index)},"entry":${JSON.stringify(entry)}`;
  return proofText(log, size, members, log.inclusion(index, size));
}

function indexOf(log: Log, { index, entry_hash }: InclusionQuestion): number {
  if (index !== undefined && entry_hash !== undefined) {
    throw new ApiError('parameter_invalid', 'index and entry_hash are given: one names the entry', {
      param: 'entry_hash',
    });
  }
  if (index === undefined && entry_hash === undefined) {
    throw new ApiError('parameter_missing', 'index or entry_hash is missing', { param: 'index' });
  }
  const found =
    index === undefined
      ? log.indexOfHash(fromHex(entry_hash ?? '', 32))
      : integerOf(index, 'index');
  if (found === null || found >= log.size()) {
    const param = index === undefined ? 'entry_hash' : 'index';
    throw new ApiError('resource_missing', 'the log has no such entry', { param });
  }
  return found;
}

// Proofs are written as JSON text by hand, because auditors ask for millions of them. The dash in a note is escaped:
// otherwise the whole answer would be a two-byte string, which takes longer to send than its hashes take to find.

/** The JSON text of the newest note of each log; nearly every proof is under it. */
const written = new WeakMap<Log, { readonly size: number; readonly text: string }>();

/** The note of a published size as a JSON string in ASCII. */
function noteText(log: Log, size: number): string {
  const known = written.get(log);
  if (known?.size === size) return known.text;
  const text = JSON.stringify(noteOf(log, size)).replace(/[\u0080-\uffff]/g, escaped);
  written.set(log, { size, text });
  return text;
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A path as base64, leaf side first. */
function pathTexts(path: readonly Uint8Array[]): string[] {
  return path.map((hash) =>
    Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString('base64'),
  );
}

/** `{…members, path, checkpoint}`; `members` is the JSON of the first ones, without braces. */
function proofText(log: Log, size: number, members: string, path: readonly Uint8Array[]): string {
  const hashes = path.length === 0 ? '' : `"${pathTexts(path).join('","')}"`;
  return `{${members},"path":[${hashes}],"checkpoint":${noteText(log, size)}}`;
}
