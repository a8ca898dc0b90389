// The request that a log sends a witness: the size it thinks the witness has, the consistency path from
// there, the signed checkpoint. C2SP tlog-witness.

import { fromBase64, toBase64 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { parseDecimal } from './decimal.ts';

/** The longest path that fits a tree of 2^63 leaves. */
const MAX_PATH = 63;

/** `POST <prefix>/add-checkpoint`. */
export interface AddCheckpoint {
  /** Size of the newest checkpoint that the witness is thought to have cosigned; 0 for none. */
  readonly old: number;
  readonly path: readonly Uint8Array[];
  /** The signed note, untouched. */
  readonly note: string;
}

/** The body of the request. */
export function formatAddCheckpoint({ old, path, note }: AddCheckpoint): string {
  const lines = path.map((hash) => `${toBase64(hash)}\n`).join('');
  return `old ${String(old)}\n${lines}\n${note}`;
}

/** Reads a body that may be hostile; `note_invalid` when it is not of the form. */
export function parseAddCheckpoint(body: string): AddCheckpoint {
  const end = body.indexOf('\n\n');
  if (end < 0) throw invalid('request has no blank line');
  const [first = '', ...lines] = body.slice(0, end).split('\n');
  const old = first.startsWith('old ') ? parseDecimal(first.slice('old '.length)) : null;
  if (old === null) throw invalid('first line is not old and a size');
  if (lines.length > MAX_PATH) throw invalid(`path is longer than ${String(MAX_PATH)} hashes`);
  try {
    return { old, path: lines.map((line) => fromBase64(line, 32)), note: body.slice(end + 2) };
  } catch (cause) {
    throw invalid('path has a line that is not 32 bytes in base64', { cause });
  }
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('note_invalid', message, options);
}
