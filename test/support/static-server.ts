// A plain file server over a folder, without content types.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { listening } from './listening.ts';
import type { Listening } from './listening.ts';

/** Serves until it is closed; returns its URL. */
export function serveFiles(folder: string): Promise<Listening> {
  return listening((request, response) => {
    const file = join(folder, normalize(new URL(request.url ?? '/', 'http://x').pathname));
    stat(file).then(
      (found) => {
        if (!found.isFile()) response.writeHead(404).end();
        else createReadStream(file).pipe(response);
      },
      () => response.writeHead(404).end(),
    );
  });
}
