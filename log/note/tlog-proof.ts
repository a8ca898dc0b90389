// The format of portable inclusion proofs, `.tlog-proof` files (C2SP tlog-proof@v1).

import { fromBase64, toBase64, parseDecimal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';

/** A parsed proof. Neither its path nor its checkpoint is verified. */
export interface TlogProof {
  readonly index: number;
  /** At most 63 hashes of 32 bytes, from the leaf to the root. */
  readonly path: readonly Uint8Array[];
  /** The signed note. */
  readonly checkpoint: string;
  /** Data of the application, which nothing authenticates. */
  readonly extra?: Uint8Array;
}

const HEADER = 'c2sp.org/tlog-proof@v1';
/** The longest path in a tree of at most 2^63 entries. */
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

/** Parses a proof without verifying it. Throws `proof_invalid` if it is malformed. */
export function parseTlogProof(text: string): TlogProof {
  // The first blank line ends the proof; the checkpoint after it contains another one.
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
