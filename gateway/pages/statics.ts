// The files that pages load and that third parties download: assets, and the scripts that `npm run build` bundles for
// browsers. They are read once, at start.

import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** One file with its content type and SHA-256 in hex. */
export interface StaticFile {
  readonly bytes: Buffer;
  readonly type: string;
  readonly sha256: string;
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
};

/** The root of the package, or dist/ when the gateway runs from there. */
const ROOT = new URL('../../', import.meta.url);

/** Every file that is served under `/static/`, by name. */
export class StaticFiles extends Map<string, StaticFile> {
  /** The gateway's own files. A source tree without dist/ has no scripts; its pages work without them. */
  constructor() {
    super();
    this.addFolder(new URL('static/', import.meta.url));
    for (const place of ['static/', 'dist/static/']) this.#read(new URL(place, ROOT));
  }

  /**
   * Adds the files of a folder whose content type is known, and those that the build made for it. The first file of a
   * name is kept; returns the names that were there already.
   */
  addFolder(folder: URL): readonly string[] {
    const taken = this.#read(folder);
    if (folder.href.startsWith(ROOT.href)) {
      this.#read(new URL(`dist/${folder.href.slice(ROOT.href.length)}`, ROOT));
    }
    return taken;
  }

  #read(folder: URL): string[] {
    const taken: string[] = [];
    if (!existsSync(folder)) return taken;
    for (const name of readdirSync(folder)) {
      const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
      if (type === undefined) continue;
      if (this.has(name)) {
        taken.push(name);
        continue;
      }
      const bytes = readFileSync(new URL(name, folder));
      this.set(name, { bytes, type, sha256: hash('sha256', bytes, 'hex') });
    }
    return taken;
  }
}
