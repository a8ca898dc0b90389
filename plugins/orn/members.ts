// What the requests and entries of the orchestration layer share: names of agents, parties and nodes, and places.

import { Type } from 'typebox';
import { ApiError } from '../contract.ts';
import type { AnsweredEntry } from '../contract.ts';

/** The most agents, parties or nodes of a request. */
export const MAX_NAMED = 256;
/** The most edges of a request. */
export const MAX_EDGES = 4096;

/** One that is named: names are commitments, so they may be free text; a comma would part them in a table. */
export const Named = Type.Object(
  { id: Type.String({ pattern: '^[^,]{1,256}$', description: 'A name without commas.' }) },
  { additionalProperties: false },
);

/** An end of an edge. */
export const End = Type.String({ minLength: 1, maxLength: 256 });

/** The places of names; 400 for a name that stands twice. */
export function placesOf(
  named: readonly { readonly id: string }[],
  param: string,
): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [at, { id }] of named.entries()) {
    if (places.has(id)) {
      throw new ApiError('parameter_invalid', `${param} names ${id} twice`, {
        param: `${param}.${String(at)}.id`,
      });
    }
    places.set(id, at);
  }
  return places;
}

/** The place of a name; 400 for one that is not among them. */
export function placeOf(places: ReadonlyMap<string, number>, id: string, param: string): number {
  const place = places.get(id);
  if (place !== undefined) return place;
  throw new ApiError('parameter_invalid', `${param} names ${id}, which is none of the request`, {
    param,
  });
}

/** The entry of a group of one. */
export function onlyEntry(entries: readonly AnsweredEntry[]): AnsweredEntry {
  const [entry] = entries;
  if (entry === undefined) throw new Error('a group has an entry');
  return entry;
}
