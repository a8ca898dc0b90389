// The keys that the verify page trusts (gateway/API.md §2.5). The browser pins the kit that it sees first; later kits
// may only add keys to it. For each log, the browser also keeps the newest checkpoint that it has seen.

import {
  isJsonObject,
  isLogError,
  KIT_SCHEMA,
  kitChange,
  LogError,
  originsOf,
  parseJson,
  trustFromKit,
  verifyCheckpoint,
  verifyConsistency,
} from '../../../../log/verify.ts';
import type { JsonObject, Json, Line, Trust } from '../../../../log/verify.ts';

const KIT_URL = '/export/offline-verify-kit.json';
const KIT_AT = 'actlog:kit';
const SEEN_AT = 'actlog:seen:';
const MAX_KIT_BYTES = 4 * 1024 * 1024;

/** A kit that this browser keeps. */
export interface PinnedKit {
  readonly text: string;
  readonly kit: JsonObject;
  /** When it was first pinned, ISO 8601. */
  readonly since: string;
  /** The service's own, or a file of the user's, which no fetched kit replaces. */
  readonly source: 'service' | 'file';
}

/** What came of looking for a kit. */
export interface FoundKit {
  readonly pinned: PinnedKit | null;
  /** What the service says now that contradicts the pin. */
  readonly conflict: string | null;
  readonly offline: boolean;
  /** The origins of the logs that this service serves, as it says; none when it does not answer. */
  readonly served: readonly string[];
}

/** Looks at the pinned kit and at the service's newest, and keeps what agrees with the pin. */
export async function findKit(): Promise<FoundKit> {
  const pinned = readPin();
  let text: string;
  try {
    const answer = await fetch(KIT_URL, { headers: { accept: 'application/json' } });
    if (!answer.ok) throw new Error(String(answer.status));
    text = await answer.text();
    kitOf(text);
  } catch {
    return { pinned, conflict: null, offline: true, served: [] };
  }
  const found = { conflict: null, offline: false, served: originsOf(kitOf(text)) };
  if (pinned === null) return { ...found, pinned: pin(text, 'service') };
  if (pinned.source === 'file') return { ...found, pinned };
  const conflict = kitChange(pinned.kit, kitOf(text));
  if (conflict !== null) return { ...found, pinned, conflict };
  return { ...found, pinned: pin(text, 'service', pinned.since) };
}

/**
 * Pins a kit.
 *
 * @throws LogError when it is no kit, or says nothing that can be trusted of one of its logs
 */
export function pin(
  text: string,
  source: PinnedKit['source'],
  since = new Date().toISOString(),
): PinnedKit {
  const kit = kitOf(text);
  for (const origin of originsOf(kit)) trustFromKit(kit, origin);
  write(KIT_AT, JSON.stringify({ text, since, source }));
  return { text, kit, since, source };
}

/** Forgets the pin; the next look pins anew. */
export function unpin(): void {
  write(KIT_AT, null);
}

/** The newest checkpoint of a log that this browser has seen hold. */
export const lastSeen = (origin: string): string | null => read(SEEN_AT + origin);

/** Remembers a checkpoint, for the next time. */
export const remember = (origin: string, note: string): void => write(SEEN_AT + origin, note);

function kitOf(text: string): JsonObject {
  const kit = parseJson(text, { fractions: true, maxBytes: MAX_KIT_BYTES });
  if (!isJsonObject(kit) || kit.schema !== KIT_SCHEMA) {
    throw new LogError('document_invalid', 'this is no offline verification kit');
  }
  return kit;
}

function readPin(): PinnedKit | null {
  try {
    const kept = JSON.parse(read(KIT_AT) ?? 'null') as PinnedKit | null;
    return kept === null ? null : { ...kept, kit: kitOf(kept.text) };
  } catch {
    return null;
  }
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // a browser may refuse storage; then nothing is remembered
  }
}

function write(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // As above.
  }
}

/** Compares a checkpoint that holds with the one seen last, and remembers the larger one; asks for served logs only. */
export async function compareWithLast(note: string, trust: Trust, served: boolean): Promise<Line> {
  const name = 'same_log_as_before';
  const { origin } = trust;
  const last = lastSeen(origin);
  if (last === null) {
    remember(origin, note);
    return { name, outcome: 'not_shown', detail: 'this browser sees this log for the first time' };
  }
  try {
    const before = verifyCheckpoint(last, trust);
    const now = verifyCheckpoint(note, trust);
    const [older, newer] = before.size <= now.size ? [last, note] : [note, last];
    const [from, to] = [Math.min(before.size, now.size), Math.max(before.size, now.size)];
    const proof = from === to ? [] : served ? await proofBetween(origin, from, to) : null;
    if (proof === null) {
      const detail = 'there is no proof to be had now; what was seen before is kept';
      return { name, outcome: 'not_shown', detail };
    }
    verifyConsistency(older, newer, proof, trust);
    remember(origin, newer);
    const seen = `the tree of ${String(before.size)} entries that this browser saw last`;
    return { name, outcome: 'ok', detail: `one log with ${seen}` };
  } catch (error) {
    if (!isLogError(error)) throw error;
    const detail = `${error.message}: this is not the log that this browser saw before; keep both`;
    return { name, outcome: 'failed', detail };
  }
}

async function proofBetween(origin: string, from: number, to: number): Promise<Json | null> {
  const place = /\/log\/(live|sandbox)\/([1-9][0-9]*)$/.exec(origin);
  if (place === null) return null;
  const [, kind = '', n = ''] = place;
  const url = `/log/${kind}/${n}/proof/consistency?from=${String(from)}&to=${String(to)}`;
  try {
    const answer = await fetch(url, { headers: { accept: 'application/json' } });
    return answer.ok ? ((await answer.json()) as { path: Json }).path : null;
  } catch {
    return null;
  }
}
