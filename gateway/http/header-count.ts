// Headers that may stand once only. Node keeps the first of them and is silent about the others.

import type { IncomingMessage } from 'node:http';

/** How often a header stands in a request; its name is in lower case. */
export function headerCount({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i];
    if (given?.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count;
}
