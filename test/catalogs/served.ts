// A catalog as the service hands it out, with the addresses of log.example in it.

import { readCatalog, servedCatalog } from '../../plugins/contract/index.ts';
import type { Body } from '../support/body.ts';

/** Address of a path of that service. */
export const URL_OF = (path: string): string => `https://log.example${path}`;

/** By the name of its file, without `.json`. */
export function served(name: string): Body {
  return servedCatalog({ catalog: readCatalog, url: URL_OF }, `${name}.json`, `/of/${name}`);
}
