// Where the catalogs lie: at the package root, above both the sources and dist/.
import { existsSync, readFileSync } from 'node:fs';
import type { Json } from '../log/index.ts';

const ROOT = packageRoot(new URL('.', import.meta.url));

function packageRoot(start: URL): URL {
  let folder = start;
  for (;;) {
    if (existsSync(new URL('package.json', folder)) && existsSync(new URL('catalogs/', folder))) {
      return folder;
    }
    const above = new URL('..', folder);
    if (above.href === folder.href)
      throw new Error('no catalogs/ beside a package.json above here');
    folder = above;
  }
}

/** The file URL of a catalog, `path` relative to `catalogs/` with forward slashes; `..` is refused. */
export function catalogUrl(path: string): URL {
  if (path.split('/').includes('..')) throw new Error(`catalog path leaves catalogs/: ${path}`);
  return new URL(`catalogs/${path}`, ROOT);
}

/** The bytes of a catalog file; throws the error of node:fs when it is missing. */
export function readCatalogBytes(path: string): Uint8Array {
  return readFileSync(catalogUrl(path));
}

/** A JSON catalog; the files ship with the package and are trusted, so the plain parser is enough. */
export function readCatalog(path: string): Json {
  return JSON.parse(readFileSync(catalogUrl(path), 'utf8')) as Json;
}
