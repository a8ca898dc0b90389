// What a person points the monitor at: a service with its logs, one log of it, or a C2SP prefix anywhere.

import { LOG_KINDS } from '../../log/index.ts';
import type { Kind } from '../../log/index.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { isMirrorTrouble } from '../mirror/tiled.ts';
import { HttpMirror } from '../mirror/http.ts';
import type { HttpMirrorOptions } from '../mirror/http.ts';

/** Where logs are read from. */
export interface Place {
  readonly kinds: readonly Kind[];
  /** The first number that is followed. */
  readonly from: number;
  /** Where the operator's own kit would be; null for a bare prefix. */
  readonly base: URL | null;
  mirror(kind: Kind, number: number): HttpMirror;
}

/** `…/log/live/1` and `…/log/live` name a log; other addresses a service, or a prefix if they have a checkpoint. */
export async function placeOf(
  address: string,
  only: Kind | 'both',
  options: HttpMirrorOptions,
): Promise<Place> {
  if (!URL.canParse(address) || !/^https?:/.test(address)) {
    throw new CommandError(`${address} is no http or https address`, EXIT.unknown);
  }
  const url = new URL(address);
  const path = url.pathname.replace(/\/+$/, '');
  const [, root = path, kind, number] = /^(.*)\/log\/(live|sandbox)(?:\/(\d+))?$/.exec(path) ?? [];
  const base = new URL(`${root}/`, url);
  if (kind === undefined) {
    const single = new HttpMirror(url, options);
    const note = await single.newest().catch(silence);
    const place = note === null ? null : prefix(single, note);
    if (place !== null) return place;
    await single.close();
  }
  const kinds = LOG_KINDS.filter((known) =>
    kind === undefined ? only === 'both' || only === known : known === kind,
  );
  return {
    kinds,
    from: number === undefined ? 1 : Number(number),
    base,
    mirror: (of, n) => new HttpMirror(new URL(`log/${of}/${String(n)}`, base), options),
  };
}

/** Who does not answer is taken for a service, and asked again as one. */
function silence(error: unknown): null {
  if (isMirrorTrouble(error)) return null;
  throw error;
}

/**
 * A log under an address of its own, such as a static copy; null when its checkpoint names no log of this format.
 * Only the first line is read: a checkpoint that is malformed otherwise is for the follower to judge.
 */
function prefix(mirror: HttpMirror, note: string): Place | null {
  const [origin = ''] = note.split('\n', 1);
  const [, kind, number] = /\/log\/(live|sandbox)\/([1-9]\d*)$/.exec(origin) ?? [];
  if (kind === undefined) return null;
  return { kinds: [kind as Kind], from: Number(number), base: null, mirror: () => mirror };
}
