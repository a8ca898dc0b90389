// What work on texts, chains and sessions costs, as `RouteDeclaration.cost` counts: 1 is some 20 ms of a core.

import { isLogError } from '../log/index.ts';
import type { Caller, ChainKey, LogView, PluginHost } from './contract.ts';
import { countOf } from './finding.ts';

/** Characters that the embedded classifier judges in what 1 stands for, as measured. */
const CHARS = 8000;

/** What a request costs that classifies a text. */
export const textCost = (text: string | undefined): number => 1 + (text ?? '').length / CHARS;

/** How many entries a chain has, as last published. */
export async function chainCount(log: LogView, key: ChainKey): Promise<number> {
  const { map_head_ms: at } = log.published();
  try {
    // The last moment alone: what closes it counts the chain up to there.
    return countOf(await log.lookup({ key, from_ms: at, to_ms: at }, { limit: 1 }), key);
  } catch (error) {
    // A log that has published nothing yet; what is wrong with the key is for the handler to say.
    if (isLogError(error)) return 0;
    throw error;
  }
}

/** What a request costs that reads a whole session, with `entries` of it in what 1 stands for. */
export async function sessionCost(
  host: PluginHost,
  caller: Caller,
  session_id: string,
  entries: number,
): Promise<number> {
  const counts = host
    .logs(caller.kind)
    .map((log) => chainCount(log, ['session', caller.sessionRef(session_id, log.origin)]));
  return 1 + Math.max(...(await Promise.all(counts))) / entries;
}
