// Looking into what is to be checked, before it is: to choose what it is checked with, and for nothing else.

import { isJsonObject, parseJson } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import { MAX_BYTES } from './recognise.ts';

/** The value when it is a text. */
export const text = (value: Json | undefined): string | null =>
  typeof value === 'string' ? value : null;

/** Of a note: the origin that it claims. */
export const firstLine = (note: string | null): string | null =>
  note === null ? null : (note.split('\n', 1)[0] ?? null);

/** A JSON text or value as an object; empty when it is none. */
export function objectOf(value: Json): JsonObject {
  const parsed =
    typeof value === 'string' ? parseJson(value, { fractions: true, maxBytes: MAX_BYTES }) : value;
  return isJsonObject(parsed) ? parsed : {};
}

/** The objects of a list; none when it is none. */
export const list = (value: Json | undefined): readonly JsonObject[] =>
  (Array.isArray(value) ? (value as readonly Json[]) : []).filter(isJsonObject);
