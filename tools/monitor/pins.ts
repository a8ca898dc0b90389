// Which verifier keys a log must sign with: what the caller says, else what the service's own kit says on first use.
// Once pinned, they never change: another key is another log.

import { readFile } from 'node:fs/promises';
import { isJsonObject, isLogError, native, parseJson, parseVkey } from '../../log/index.ts';
import { ML_DSA_KEY } from '../../log/operate.ts';
import type { Json, Kind } from '../../log/index.ts';
import { CommandError, EXIT, isCommandError } from '../command-line.ts';
import { fetchText, MAX_KIT_BYTES } from '../fetch-text.ts';
import { MirrorTrouble } from '../mirror/tiled.ts';

/** What the caller trusts. */
export interface PinOptions {
  /** Verifier keys (C2SP signed-note). */
  readonly vkey?: readonly string[];
  /** File or address of an offline verification kit. */
  readonly kit?: string;
}

/** The keys of a log and where they came from. */
export interface Pin {
  readonly vkey: string;
  /** The verifier key of its ML-DSA-44 key (log/FORMAT.md §5.2), if it has one. */
  readonly vkey_ml_dsa?: string;
  readonly origin: string;
  readonly source: string;
}

/** Finds the keys of the log of a kind and number; null if there is none. */
export async function findPin(
  options: PinOptions,
  base: URL | null,
  kind: Kind,
  number: number,
): Promise<Pin | null> {
  const end = `/log/${kind}/${String(number)}`;
  const pick = (vkeys: readonly string[], source: string): Pin | null => {
    const own = vkeys.filter((vkey) => originOf(vkey).endsWith(end));
    const vkey = own.find((one) => !isMlDsa(one, source));
    if (vkey === undefined) return null;
    const origin = originOf(vkey);
    const second = own.find((one) => originOf(one) === origin && isMlDsa(one, source));
    return { vkey, origin, source, ...(second === undefined ? {} : { vkey_ml_dsa: second }) };
  };
  for (const vkey of options.vkey ?? []) isMlDsa(vkey, '--vkey');
  const given = pick(options.vkey ?? [], 'given by --vkey');
  if (given !== null) return given;
  if (options.kit !== undefined) {
    const remote = /^https?:/.test(options.kit);
    const text = remote ? await fetched(new URL(options.kit)) : await readFile(options.kit, 'utf8');
    return pick(vkeysOf(text, options.kit), `kit ${options.kit}`);
  }
  if (base === null || (options.vkey ?? []).length > 0) return null;
  const url = new URL('export/offline-verify-kit.json', base);
  return pick(vkeysOf(await fetched(url), url.href), `operator's kit ${url.href}, on first use`);
}

const originOf = (vkey: string): string => vkey.split('+', 1)[0] ?? '';

/** Whether a verifier key is of ML-DSA-44; CommandError for a text that is no key, because no log will sign with it. */
function isMlDsa(vkey: string, source: string): boolean {
  try {
    return parseVkey(native, vkey).type === ML_DSA_KEY;
  } catch (error) {
    if (!isLogError(error)) throw error;
    throw new CommandError(`${source} ${vkey}: ${error.message}`, EXIT.unknown);
  }
}

/** What does not answer may answer later: it is trouble like that of a checkpoint. */
async function fetched(url: URL): Promise<string> {
  try {
    return await fetchText(url, MAX_KIT_BYTES);
  } catch (error) {
    throw isCommandError(error) ? new MirrorTrouble(error.message) : error;
  }
}

function vkeysOf(text: string, source: string): string[] {
  const kit = parseJson(text, { maxBytes: MAX_KIT_BYTES, fractions: true });
  if (!isJsonObject(kit) || kit['schema'] !== 'svc-offline-verify-kit-v1') {
    throw new CommandError(`${source} is no offline verification kit`, EXIT.unknown);
  }
  const { logs } = kit;
  return (Array.isArray(logs) ? (logs as readonly Json[]) : []).flatMap((log) =>
    isJsonObject(log)
      ? [log['vkey'], log['vkey_ml_dsa']].filter((vkey) => typeof vkey === 'string')
      : [],
  );
}
