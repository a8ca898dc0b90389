// A plain web server over a folder: no rule of ours, no content type, nothing but files.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { listening } from './listening.ts';
import type { Listening } from './listening.ts';

/** Serves until it is closed; answers with its address. */
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
