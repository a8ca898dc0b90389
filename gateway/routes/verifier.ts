// The offline verifier as one file for browsers and for `node`: built from log/verify.ts by `npm run build`.

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The built file with its SHA-256 in hex. */
export interface VerifierFile {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** Seen from dist/gateway/routes, and from the sources once there is a build beside them. */
const PLACES = ['../../static/verify.js', '../../dist/static/verify.js'];

/** Reads the built verifier; null in a source tree that was never built. */
export function readVerifier(): VerifierFile | null {
  for (const place of PLACES) {
    try {
      const bytes = readFileSync(new URL(place, import.meta.url));
      return { bytes, sha256: hash('sha256', bytes, 'hex') };
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error;
    }
  }
  return null;
}
