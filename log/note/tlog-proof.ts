// Portable inclusion proofs, `.tlog-proof` files. C2SP tlog-proof@v1.

import { fromBase64, toBase64 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { parseDecimal } from '../encoding/spelling.ts';

/** An index, its path and a checkpoint, which are not checked here. */
export interface TlogProof {
  readonly index: number;
  /** 32 bytes each, the leaf's sibling first; at most 63. */
  readonly path: readonly Uint8Array[];
  /** The signed note, verbatim. */
  readonly checkpoint: string;
  /** Whatever the application put beside; not authenticated. */
  readonly extra?: Uint8Array;
}

const HEADER = 'c2sp.org/tlog-proof@v1';
/** Longest path: trees have at most 2^63 entries. */
const MAX_PATH = 63;

/** The text of a proof. */
export function formatTlogProof({ index, path, checkpoint, extra }: TlogProof): string {
  if (!Number.isSafeInteger(index) || index < 0) {
    throw invalid('index is not a safe integer from 0');
  }
  if (path.length > MAX_PATH) throw invalid(`path is longer than ${String(MAX_PATH)}`);
  if (path.some((hash) => hash.length !== 32))
    throw invalid('path has a hash that is not 32 bytes');
  const lines = [
    HEADER,
    ...(extra === undefined ? [] : [`extra ${toBase64(extra)}`]),
    `index ${String(index)}`,
    ...path.map(toBase64),
    '',
  ];
  return `${lines.join('\n')}\n${checkpoint}`;
}

/** Reads the text of a proof; `proof_invalid` when it is not one. Proves nothing yet. */
export function parseTlogProof(text: string): TlogProof {
  // The checkpoint has a blank line of its own; ours is the first.
  const border = text.indexOf('\n\n');
  if (border < 0) throw invalid('proof has no blank line before its checkpoint');
  const checkpoint = text.slice(border + 2);
  if (!checkpoint.endsWith('\n')) throw invalid('checkpoint does not end in a newline');
  const [header, ...lines] = text.slice(0, border).split('\n');
  if (header !== HEADER) throw invalid(`first line is not ${HEADER}`);
  const extraLine = lines[0]?.startsWith('extra ') === true ? lines.shift() : undefined;
  const indexLine = lines.shift() ?? '';
  const index = indexLine.startsWith('index ') ? parseDecimal(indexLine.slice(6)) : null;
  if (index === null) throw invalid('index is not a decimal up to 2^53 - 1 without leading zeros');
  if (lines.length > MAX_PATH) throw invalid(`path is longer than ${String(MAX_PATH)}`);
  const path = lines.map((line) => decode(line, 32));
  if (extraLine === undefined) return { index, path, checkpoint };
  return { index, path, checkpoint, extra: decode(extraLine.slice(6)) };
}

function decode(base64: string, length?: number): Uint8Array {
  try {
    return fromBase64(base64, length);
  } catch (cause) {
    throw invalid('a line of the proof is not base64 of the right length', { cause });
  }
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('proof_invalid', message, options);
}
