// A plain web server over a folder: no rule of ours, no content type, nothing but files.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';

/** Serves until it is closed; answers with its address. */
export async function serveFiles(
  folder: string,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const file = join(folder, normalize(new URL(request.url ?? '/', 'http://x').pathname));
    stat(file).then(
      (found) => {
        if (!found.isFile()) response.writeHead(404).end();
        else createReadStream(file).pipe(response);
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
