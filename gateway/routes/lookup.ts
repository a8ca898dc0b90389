// `proof/lookup`: what stands on a chain in a window, or the proof that nothing does. log/FORMAT.md §6.
// Only heads are stored, so every question about the past is answered from the newest checkpoint.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { isJsonObject, parseJson } from '../../log/index.ts';
import type { ChainKey, JsonObject, Log } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { publishedSize, windowClosed } from './published.ts';
import { integerOf, integerText, refusedParameter } from './schemas.ts';

const MAX_LIMIT = 100;

export const LookupQuery = Type.Object({
  key: Type.String({
    maxLength: 4096,
    description: 'The chain key as a JSON array: `["surface","acme","tool_invoke"]`.',
  }),
  from_ms: Type.Optional(integerText('Milliseconds of log time; 0 unless given.')),
  to_ms: Type.Optional(integerText('The time of the newest map head unless given.')),
  after: Type.Optional(
    integerText('Index of the last entry of the page before; who verifies the page names it too.'),
  ),
  limit: Type.Optional(integerText('Entries of a page, 1 to 100; 100 unless given.')),
  size: Type.Optional(
    integerText('A published size: the window ends at its map head at the latest.'),
  ),
});

/** The document that answers the query; waits up to `wait_ms` for the window to close. */
export async function lookupDocument(
  gateway: Gateway,
  log: Log,
  query: Static<typeof LookupQuery>,
  wait_ms: number,
): Promise<JsonObject> {
  const key = keyOf(query.key);
  const from_ms = query.from_ms === undefined ? 0 : integerOf(query.from_ms, 'from_ms');
  const to_ms = endOf(log, query);
  if (from_ms > to_ms) {
    throw new ApiError('parameter_invalid', 'from_ms is over the end of the window', {
      param: 'from_ms',
    });
  }
  const limit = query.limit === undefined ? MAX_LIMIT : integerOf(query.limit, 'limit');
  if (limit < 1 || limit > MAX_LIMIT) {
    throw new ApiError('parameter_invalid', `limit is not 1 to ${String(MAX_LIMIT)}`, {
      param: 'limit',
    });
  }
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

/** The strings of the key; that it names a chain is for the log to judge. */
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

/** The end of the window: as asked, and not after the map head of the asked size. */
function endOf(log: Log, query: Static<typeof LookupQuery>): number {
  const asked = query.to_ms === undefined ? undefined : integerOf(query.to_ms, 'to_ms');
  if (query.size === undefined) return asked ?? log.published().map_head_ms;
  const head = mapHeadMs(log, publishedSize(log, query.size, 'size'));
  return asked === undefined ? head : Math.min(asked, head);
}

/** Every published checkpoint ends with its map head. */
function mapHeadMs(log: Log, size: number): number {
  const entry = parseJson(log.entry(size - 1) ?? 'null');
  const ms = isJsonObject(entry) ? entry['issued_at_ms'] : undefined;
  if (typeof ms !== 'number') throw new Error(`size ${String(size)} does not end with a map head`);
  return ms;
}
