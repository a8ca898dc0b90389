// A catalog as the service serves it, with URLs of log.example.

import { readCatalog, servedCatalog } from '../../plugins/contract/index.ts';
import type { Body } from '../support/body.ts';

/** The URL of a path of that service. */
export const URL_OF = (path: string): string => `https://log.example${path}`;

/** A catalog by the name of its file, without `.json`. */
export function served(name: string): Body {
  return servedCatalog({ catalog: readCatalog, url: URL_OF }, `${name}.json`, `/of/${name}`);
}
