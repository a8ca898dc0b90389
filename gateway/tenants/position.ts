// How far a database of the gateway has come: how many writes it has taken, and a digest of the rows that they left.
// The database keeps it beside the rows and changes it in the same batch; the checkpoint register outside the data
// folder keeps the last one. A database that lost a write, or that is an older copy, has another one.
//
// The register is advanced after the batch and before the write is acknowledged. A crash between the two therefore
// leaves the database one write ahead of the register, and never behind.

import { hash } from 'node:crypto';
import { LogError } from '../../log/index.ts';
import type { JsonObject, Register } from '../../log/index.ts';

/** One state of the rows. */
export interface Head {
  readonly writes: number;
  /** The sum of the SHA-256 of all guarded rows modulo 2^256, hex: it changes with each row, in whatever order. */
  readonly digest: string;
}

/** What the database keeps: the state of its rows, and the one before, which the register may still have. */
export interface Position extends Head {
  readonly before: Head | null;
}

/** What the register keeps; `counted` is the sum of all counts at a time, which only grows. */
export interface Remembered extends Head {
  readonly counted: number;
}

const MODULUS = 1n << 256n;

export const NOTHING: Head = { writes: 0, digest: '0'.repeat(64) };

/** What a row adds to the digest. */
export function digestOf(key: string, value: Uint8Array): bigint {
  const head = Buffer.from(`${String(Buffer.byteLength(key))}:${key}:`);
  return BigInt(`0x${hash('sha256', Buffer.concat([head, value]), 'hex')}`);
}

/** The digest with a difference added to it. */
export function added(digest: string, difference: bigint): string {
  const sum = (BigInt(`0x${digest}`) + difference) % MODULUS;
  return (sum < 0n ? sum + MODULUS : sum).toString(16).padStart(64, '0');
}

const same = (a: Head, b: Head): boolean => a.writes === b.writes && a.digest === b.digest;

/** The state that a register has under a name; null where it has none. */
export async function readRemembered(register: Register, name: string): Promise<Remembered | null> {
  const value = await register.read(name);
  if (value === null) return null;
  const { writes, digest, counted } = value as Partial<Record<keyof Remembered, unknown>>;
  if (
    !Number.isSafeInteger(writes) ||
    !Number.isSafeInteger(counted) ||
    typeof digest !== 'string' ||
    !/^[0-9a-f]{64}$/.test(digest)
  ) {
    throw new LogError('store_corrupt', `${register.where(name)} does not say how far it has come`);
  }
  return { writes: writes as number, digest, counted: counted as number };
}

export const asJson = ({ writes, digest, counted }: Remembered): JsonObject => ({
  writes,
  digest,
  counted,
});

/**
 * What the rows of a database lack of what was acknowledged, in words; null when they lack nothing. One write more
 * than the register knows is what a crash leaves.
 */
export function lack(
  { position, counted }: { readonly position: Position; readonly counted: number },
  remembered: Remembered | null,
  where: string,
): string | null {
  if (remembered === null) {
    return position.before === null
      ? null
      : `has taken ${String(position.writes)} writes, and ${where} with its last one is missing`;
  }
  const atIt = same(position, remembered);
  const oneAhead = position.before !== null && same(position.before, remembered);
  if (!atIt && !oneAhead) {
    const knows = `${where} knows of ${String(remembered.writes)} writes`;
    return position.writes < remembered.writes
      ? `ends at write ${String(position.writes)}, ${knows}`
      : `has other rows than were acknowledged (${String(position.writes)} writes, ${knows})`;
  }
  if (counted < remembered.counted) {
    return `counts ${String(counted)}, ${where} knows of ${String(remembered.counted)}`;
  }
  return null;
}
