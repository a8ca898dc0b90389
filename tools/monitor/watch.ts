// Watched chains: each new entry on one of them is reported with its receipt.

import { checkKey, isJsonObject, isLogError, parseJson, toHex } from '../../log/index.ts';
import type { ChainKey, Json, JsonObject } from '../../log/index.ts';
import { KINDS, sameKey } from '../../log/operate.ts';
import type { Replayed } from '../../log/operate.ts';
import { CommandError, EXIT } from '../command-line.ts';

/** A new entry on watched chains. */
export interface Watched {
  readonly keys: readonly ChainKey[];
  readonly index: number;
  readonly entry_id: string;
  readonly type: string;
  /** As the log would give it, without a proof: `actlog verify` takes it. */
  readonly receipt: JsonObject;
}

/** Reads keys as JSON arrays; `CommandError` for what is none. */
export function watchOf(texts: readonly string[]): readonly ChainKey[] {
  return texts.map((text) => {
    try {
      const key = parseJson(text);
      const members = Array.isArray(key) ? (key as readonly Json[]) : [];
      const [kind] = members;
      // The members of a declared kind are known to the log alone.
      return typeof kind === 'string' && !KINDS.has(kind)
        ? checkKey(key, new Map([[kind, members.length - 1]]))
        : checkKey(key);
    } catch (error) {
      if (!isLogError(error)) throw error;
      const hint = `write a chain key such as '["surface","acme","policy_bind"]'`;
      throw new CommandError(`--watch ${text}: ${error.message}; ${hint}`, EXIT.unknown);
    }
  });
}

/** The entry if it is on one of the chains; its links were checked before. */
export function watchedIn(
  keys: readonly ChainKey[],
  { index, leafHash, statement }: Replayed,
  text: string,
): Watched | null {
  const { links, origin = null } = statement;
  const own = (Array.isArray(links) ? (links as readonly Json[]) : []).flatMap((link) =>
    isJsonObject(link) ? [link['key'] as ChainKey] : [],
  );
  const found = keys.filter((key) => own.some((other) => sameKey(other, key)));
  if (found.length === 0) return null;
  const entry = parseJson(text) as JsonObject;
  return {
    keys: found,
    index,
    entry_id: statement['entry_id'] as string,
    type: statement['type'] as string,
    receipt: { ...entry, entry_hash: toHex(leafHash), log: { origin, index } },
  };
}
