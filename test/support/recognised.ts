// The single document in a text or in bytes, as the verifiers recognise it.

import assert from 'node:assert/strict';
import { recogniseDocuments } from '../../plugins/verifiers.ts';
import type { Shown } from '../../plugins/verifiers.ts';

/** Returns the document; throws as `recogniseDocuments` does, and also if there are several. */
export function recognised(value: string | Uint8Array): Shown {
  const [shown, ...others] = recogniseDocuments(Buffer.from(value));
  assert.ok(shown !== undefined && others.length === 0);
  return shown;
}
