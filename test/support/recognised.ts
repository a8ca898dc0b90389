// The one document of a text or of bytes, as the verifiers recognise it.

import assert from 'node:assert/strict';
import { recogniseDocuments } from '../../plugins/verifiers.ts';
import type { Shown } from '../../plugins/verifiers.ts';

/** The document; throws as `recogniseDocuments` does, and for several. */
export function recognised(value: string | Uint8Array): Shown {
  const [shown, ...others] = recogniseDocuments(Buffer.from(value));
  assert.ok(shown !== undefined && others.length === 0);
  return shown;
}
