// Test vectors: third-party ones in `../shared/vectors` next to the project, which may be missing, and those of the
// project in `test/vectors`.

import { existsSync, readFileSync } from 'node:fs';

const SHARED = new URL('../../../shared/vectors/', import.meta.url);
const OWN = new URL('../vectors/', import.meta.url);

/** The bytes of a file of the shared vectors, for example `cose/inclusion-receipt.cbor`; null if it is missing. */
export function sharedVectorBytes(path: string): Uint8Array | null {
  const url = new URL(path, SHARED);
  return existsSync(url) ? new Uint8Array(readFileSync(url)) : null;
}

/** A JSON file of the shared vectors; null if it is missing, and then the suite skips itself. */
export function sharedVectors(path: string): unknown {
  const bytes = sharedVectorBytes(path);
  return bytes === null ? null : JSON.parse(new TextDecoder().decode(bytes));
}

/** A set of vectors of the project. */
export function ownVectors(name: 'absence' | 'action-ref' | 'orn'): unknown {
  return JSON.parse(readFileSync(new URL(`${name}.json`, OWN), 'utf8'));
}
