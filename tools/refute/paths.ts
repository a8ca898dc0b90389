// Where the paths between two trees come from: a file that the caller has, or the tiles of the log itself.
// Neither is believed; they lead to signed roots or they do not.

import { readFile } from 'node:fs/promises';
import { fromBase64, isJsonObject, isLogError, parseJson } from '../../log/index.ts';
import type { Json } from '../../log/index.ts';
import { consistencyPath, inclusionPath, overTiles } from '../../log/operate.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { HttpMirror } from '../mirror/http.ts';
import type { Refuted } from './refute.ts';

const MAX_BYTES = 64 * 1024;

/** Reads paths for the log of an origin. */
export async function pathsOf(
  origin: string,
  { consistency, url }: { readonly consistency?: string; readonly url?: string },
): Promise<Pick<Refuted, 'consistency' | 'inclusion'> & { close(): Promise<void> }> {
  const given = consistency === undefined ? null : await readProof(consistency);
  const place = origin.slice(origin.indexOf('/log/') + 1);
  const mirror =
    url === undefined ? null : new HttpMirror(new URL(place, url.replace(/\/*$/, '/')));
  return {
    async consistency(from, to) {
      if (given !== null && given.from === from && given.to === to) return given.path;
      if (mirror === null) return null;
      return overTiles(mirror, to, (hashes) => consistencyPath(hashes, from, to));
    },
    async inclusion(index, size) {
      if (mirror === null) return null;
      return overTiles(mirror, size, (hashes) => inclusionPath(hashes, index, size));
    },
    close: async () => mirror?.close(),
  };
}

async function readProof(
  file: string,
): Promise<{ readonly from: Json; readonly to: Json; readonly path: readonly Uint8Array[] }> {
  try {
    const proof = parseJson(await readFile(file), { maxBytes: MAX_BYTES });
    if (isJsonObject(proof) && Array.isArray(proof['path'])) {
      const { from = null, to = null, path } = proof;
      const nodes = path as readonly Json[];
      return {
        from,
        to,
        path: nodes.map((node) => fromBase64(typeof node === 'string' ? node : '', 32)),
      };
    }
  } catch (error) {
    if (!isLogError(error)) throw error;
  }
  throw new CommandError(`${file} is no answer of proof/consistency`, EXIT.unknown);
}
