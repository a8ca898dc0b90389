// The files that pages load and that third parties download: the assets in static/, and what `npm run build`
// makes for browsers in dist/static/. They are read once, at start.

import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** One file with its content type and SHA-256 in hex. */
export interface StaticFile {
  readonly bytes: Buffer;
  readonly type: string;
  readonly sha256: string;
}

/** Every file that is served under `/static/`, by name. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

/** The assets, then what the build makes: its folder as seen from dist/gateway/pages and from the sources. */
const PLACES = ['./static/', '../../static/', '../../dist/static/'];

/** Reads them; a source tree that was never built has no scripts, and pages work without. */
export function readStaticFiles(): StaticFiles {
  const files = new Map<string, StaticFile>();
  for (const place of PLACES) {
    const folder = new URL(place, import.meta.url);
    if (!existsSync(folder)) continue;
    for (const name of readdirSync(folder)) {
      const type = TYPES[extension(name)];
      if (type === undefined || files.has(name)) continue;
      const bytes = readFileSync(new URL(name, folder));
      files.set(name, { bytes, type, sha256: hash('sha256', bytes, 'hex') });
    }
  }
  return files;
}

const extension = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
