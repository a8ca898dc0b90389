// What the checkpoint register holds of a log: how far it had come. A database behind it is a restored backup:
// writing on would fork the log (log/FORMAT.md §5).

import { fromBase64 } from '../encoding/bytes.ts';
import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { LogError } from '../errors.ts';
import type { Kind } from '../types.ts';
import type { Register } from './register.ts';

/** The last note that may have left the process, and a size and root that callers hold receipts for. */
export interface Remembered extends JsonObject {
  readonly origin: string;
  /** null until the first checkpoint. */
  readonly note: string | null;
  readonly acknowledged: { readonly size: number; readonly root: string };
}

/** The name of a log in the register. */
export const registerName = (kind: Kind, number: number): string => `${kind}-${String(number)}`;

/** Reads the value of a log; null when there is none, `store_corrupt` when it is not one of a log. */
export async function readRemembered(register: Register, name: string): Promise<Remembered | null> {
  const value = await register.read(name);
  if (value === null) return null;
  if (!isRemembered(value)) {
    throw new LogError('store_corrupt', `${register.where(name)} is not a checkpoint of a log`);
  }
  return value;
}

function isRemembered(value: JsonObject): value is Remembered {
  const { origin, note, acknowledged } = value;
  if (typeof origin !== 'string') return false;
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
