// Proofs as JSON text, put together by hand: they are asked for by the million. A note has a dash that would make
// the whole answer a two-byte string, which costs more to send than all of its hashes cost to find.

import type { Log } from '../../log/index.ts';
import { noteOf } from './published.ts';

/** The note that was written last, for each log: nearly every proof is under the newest. */
const written = new WeakMap<Log, { readonly size: number; readonly text: string }>();

/** The note of a published size as a JSON string in ASCII. */
function noteText(log: Log, size: number): string {
  const known = written.get(log);
  if (known?.size === size) return known.text;
  const text = JSON.stringify(noteOf(log, size)).replace(/[\u0080-\uffff]/g, escaped);
  written.set(log, { size, text });
  return text;
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A path as base64, leaf side first. */
function pathTexts(path: readonly Uint8Array[]): string[] {
  return path.map((hash) =>
    Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString('base64'),
  );
}

/** `{…members, path, checkpoint}`; `members` is the JSON of the first ones, without braces. */
export function proofText(
  log: Log,
  size: number,
  members: string,
  path: readonly Uint8Array[],
): string {
  const hashes = path.length === 0 ? '' : `"${pathTexts(path).join('","')}"`;
  return `{${members},"path":[${hashes}],"checkpoint":${noteText(log, size)}}`;
}
