// The offline verifier for browsers and for `node`, and beside it what reads kits: one module each, built
// from log/verify.ts by `npm run build`.

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A built file with its SHA-256 in hex. */
export interface ModuleFile {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** The modules, as they are served under `/static/`. */
export const MODULES = {
  'verify.js': 'The offline verifier as one JavaScript module',
  'kit.js': 'What reads an offline kit and a witness policy, as one JavaScript module',
} as const;

/** Seen from dist/gateway/routes, and from the sources once there is a build beside them. */
const PLACES = ['../../static/', '../../dist/static/'];

/** Reads a built module; null in a source tree that was never built. */
export function readModule(name: keyof typeof MODULES): ModuleFile | null {
  for (const place of PLACES) {
    try {
      const bytes = readFileSync(new URL(`${place}${name}`, import.meta.url));
      return { bytes, sha256: hash('sha256', bytes, 'hex') };
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error;
    }
  }
  return null;
}
