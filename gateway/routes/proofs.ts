// Proofs about a log as JSON: inclusion, consistency, and the entries of a chain in a window. log/FORMAT.md §5, §6.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { fromHex, isJsonObject, parseJson } from '../../log/index.ts';
import type { ChainKey, JsonObject, Log } from '../../log/index.ts';
import {
  ApiError,
  exactlyOne,
  limitWithin,
  LookupDocument,
  route,
} from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { logAt, LOG_TAG, PLACES } from './log.ts';
import { covering, noteOf, publishedSize, windowClosed } from './published.ts';
import { Count, Hex32, integerOf, integerText, Note, Path, refusedParameter } from './schemas.ts';
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

const InclusionQuery = Type.Object(
  {
    index: Type.Optional(integerText('Index of the entry.')),
    entry_hash: Type.Optional({ ...Hex32, description: 'Leaf hash of the entry.' }),
    size: Size,
  },
  exactlyOne('index', 'entry_hash'),
);

/** The declared path of inclusion proofs, behind that of their log. */
export const INCLUSION = '/proof/inclusion';

/** Entries of a page of a lookup. */
const MAX_LIMIT = 100;

const LookupQuery = Type.Object({
  key: Type.String({
    maxLength: 4096,
    description: 'The chain key as a JSON array: `["surface","acme","tool_invoke"]`.',
  }),
  from_ms: Type.Optional(integerText('Milliseconds of log time; 0 unless given.')),
  to_ms: Type.Optional(integerText('The time of the newest map head unless given.')),
  after: Type.Optional(
    integerText(
      'Index of the last entry of the previous page. A verifier of the page needs it too.',
    ),
  ),
  limit: Type.Optional(integerText('Entries of a page, 1 to 100; 100 unless given.')),
  size: Type.Optional(
    integerText('A published size: the window ends at its map head at the latest.'),
  ),
});

interface InclusionParameters {
  readonly index?: string;
  readonly entry_hash?: string;
  readonly size?: string;
}

/** The three kinds of proof, under both prefixes. */
export function proofRoutes(gateway: Gateway): readonly Route[] {
  return PLACES.flatMap(({ prefix, members }) => [
    route({
      method: 'GET',
      path: prefix + INCLUSION,
      tag: LOG_TAG,
      summary: 'Inclusion proof of an entry',
      description:
        'Exactly one of `index` and `entry_hash` names the entry. If the entry is not published yet, the answer waits for its checkpoint.',
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
        // `from` may be any past size, because the head_hash of a manifest is a root at a size without a checkpoint.
        const from = integerOf(query.from, 'from');
        if (from > to)
          throw new ApiError('parameter_invalid', 'from is greater than to', { param: 'from' });
        const path = from === 0 ? [] : log.consistency(from, to);
        const members = `"from":${String(from)},"to":${String(to)}`;
        sendText(ctx, proofText(log, to, members, path));
      },
    }),
    route({
      method: 'GET',
      path: `${prefix}/proof/lookup`,
      tag: LOG_TAG,
      summary: 'The entries of a chain in a window, or proof that there are none',
      description:
        'An absence document (svc-absence-witness-v1) without `declared` and `coverage`. The window must be closed, so ' +
        'it must end at or before the newest map head. `Prefer: wait=N` waits for that. It counts as ten reads.',
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

async function inclusionProof(log: Log, query: InclusionParameters): Promise<string> {
  const index = indexOf(log, query);
  const size =
    query.size === undefined
      ? (await covering(log, index + 1)).size
      : publishedSize(log, query.size, 'size');
  if (index >= size) {
    throw new ApiError('parameter_invalid', 'size does not reach the entry', { param: 'size' });
  }
  return inclusionText(log, index, size);
}

/** The inclusion proof of a durable entry below a published size, as JSON. Throws the errors of the log. */
export function inclusionText(log: Log, index: number, size: number): string {
  const entry = log.entry(index);
  if (entry === null) throw new ApiError('resource_missing', 'there is no such entry');
  const members = `"index":${String(index)},"entry":${JSON.stringify(entry)}`;
  return proofText(log, size, members, log.inclusion(index, size));
}

function indexOf(log: Log, { index, entry_hash }: InclusionParameters): number {
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

/**
 * The absence document that answers a lookup. Waits up to `wait_ms` for the window to close. The log stores chain heads
 * only at map heads, so a window ends at or before the newest one.
 */
async function lookupDocument(
  gateway: Gateway,
  log: Log,
  query: Static<typeof LookupQuery>,
  wait_ms: number,
): Promise<JsonObject> {
  const key = keyOf(query.key);
  const from_ms = query.from_ms === undefined ? 0 : integerOf(query.from_ms, 'from_ms');
  const to_ms = endOf(log, query);
  if (from_ms > to_ms) {
    throw new ApiError('parameter_invalid', 'from_ms is after the end of the window', {
      param: 'from_ms',
    });
  }
  const limit = limitWithin(
    query.limit === undefined ? MAX_LIMIT : integerOf(query.limit, 'limit'),
    MAX_LIMIT,
  );
  const after = query.after === undefined ? {} : { after: integerOf(query.after, 'after') };
  await windowClosed(log, to_ms, { wait_ms, now: () => gateway.now() });
  try {
    return await log.lookup({ key, from_ms, to_ms }, { limit, ...after });
  } catch (cause) {
    const code = (cause as { code?: unknown }).code;
    if (code === 'key_invalid') throw refusedParameter('key', cause);
    if (code === 'out_of_range' || code === 'not_found') throw refusedParameter('after', cause);
    throw cause;
  }
}

/** Parses a chain key. The log checks whether it names a chain. */
function keyOf(text: string): ChainKey {
  let key: unknown;
  try {
    key = parseJson(text);
  } catch (cause) {
    throw refusedParameter('key', cause);
  }
  if (Array.isArray(key) && key.every((member) => typeof member === 'string')) return key;
  throw new ApiError('parameter_invalid', 'key is not an array of strings', { param: 'key' });
}

/** The end of the window: `to_ms`, but not after the map head of the published size that `size` names. */
function endOf(log: Log, query: Static<typeof LookupQuery>): number {
  const asked = query.to_ms === undefined ? undefined : integerOf(query.to_ms, 'to_ms');
  if (query.size === undefined) return asked ?? log.published().map_head_ms;
  const head = mapHeadMs(log, publishedSize(log, query.size, 'size'));
  return asked === undefined ? head : Math.min(asked, head);
}

/** The time of the map head at a published size. Every checkpoint ends with its map head. */
function mapHeadMs(log: Log, size: number): number {
  const entry = parseJson(log.entry(size - 1) ?? 'null');
  const ms = isJsonObject(entry) ? entry['issued_at_ms'] : undefined;
  if (typeof ms !== 'number') throw new Error(`size ${String(size)} does not end with a map head`);
  return ms;
}

// Auditors fetch millions of proofs, so their JSON text is concatenated instead of serialised (`npm run bench`, proofs).
// The dash in a note is escaped, because otherwise V8 would store the whole answer as a two-byte string, which takes
// longer to send.

/** The JSON text of the newest note of each log, which nearly every proof has. */
const newestText = new WeakMap<Log, { readonly size: number; readonly text: string }>();

/** The note of a published size as a JSON string in ASCII. */
function noteText(log: Log, size: number): string {
  const known = newestText.get(log);
  if (known?.size === size) return known.text;
  const text = JSON.stringify(noteOf(log, size)).replace(/[\u0080-\uffff]/g, escaped);
  newestText.set(log, { size, text });
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
