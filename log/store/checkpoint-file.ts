// The checkpoint file stands outside the database and remembers how far the log has come. A database
// behind it is a restored backup: writing on would fork the log (formats.md §5).

import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LogError } from '../errors.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json } from '../encoding/json-types.ts';
import { fromBase64 } from '../encoding/bytes.ts';
import { makeFolder, writeDurableFile } from '../durable-file.ts';

/** The last note that may have left the process, and a size and root that callers hold receipts for. */
export interface Remembered {
  readonly origin: string;
  /** null until the first checkpoint. */
  readonly note: string | null;
  readonly acknowledged: { readonly size: number; readonly root: string };
}

/** Reads the file; null when there is none, `store_corrupt` when it is not one of ours. */
export async function readCheckpointFile(path: string): Promise<Remembered | null> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const value = parsed(text);
  if (!isRemembered(value)) {
    throw new LogError('store_corrupt', `${path} is not a checkpoint file`);
  }
  return value as unknown as Remembered;
}

function isRemembered(value: Json): boolean {
  if (!isJsonObject(value) || typeof value['origin'] !== 'string') return false;
  const { note, acknowledged } = value;
  if (note !== null && typeof note !== 'string') return false;
  if (acknowledged === undefined || !isJsonObject(acknowledged)) return false;
  const { size, root } = acknowledged;
  return Number.isSafeInteger(size) && Number(size) >= 0 && isHash(root);
}

function isHash(root: Json | undefined): boolean {
  try {
    return typeof root === 'string' && fromBase64(root, 32).length === 32;
  } catch {
    return false;
  }
}

function parsed(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/** Replaces the file so that a crash leaves the old one or the new one, and both names on disk. */
export async function writeCheckpointFile(path: string, remembered: Remembered): Promise<void> {
  await makeFolder(dirname(path));
  await writeDurableFile(path, `${JSON.stringify(remembered)}\n`);
}
