// Serves forged logs over HTTP under their C2SP prefixes, with a kit of their keys, for monitors. A test can change
// what is served between two looks.

import { native } from '../../log/crypto/native.ts';
import { concat, utf8 } from '../../log/encoding/bytes.ts';
import { encodeBundle, parseTilePath } from '../../log/merkle/tile.ts';
import { RightEdge } from '../../log/merkle/edge.ts';
import { formatVkey, LOG_KEY } from '../../log/note/note.ts';
import { CHECKPOINT_KEY, type Forge } from './forge.ts';
import { listening } from './listening.ts';
import type { Listening } from './listening.ts';

/** The served parts of a log; a test may change any of them. */
export interface ServedLog {
  note: string;
  texts: readonly string[];
  /** The leaf hashes from which the tiles are computed. */
  leaves: readonly Uint8Array[];
  readonly origin: string;
}

/** A server of logs. */
export interface LogServer extends Listening {
  /** Serves the present state of a forge under its origin. */
  put(forge: Forge): ServedLog;
  /** Called before each answer; a status other than 0 is sent instead. */
  interfere: (path: string) => number;
  readonly asked: string[];
}

/** The verifier key of forged logs. */
export const forgeVkey = (origin: string): string =>
  formatVkey(native, origin, LOG_KEY, CHECKPOINT_KEY.publicKey);

/** Starts a server without logs. */
export async function serveLogs(): Promise<LogServer> {
  const logs = new Map<string, ServedLog>();
  const asked: string[] = [];
  const server = await listening((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const status = self.interfere(path);
    const body = status === 0 ? answer(logs, path) : null;
    response.statusCode = status !== 0 ? status : body === null ? 404 : 200;
    response.end(body ?? '');
  });
  const self: LogServer = {
    ...server,
    put(forge) {
      const { origin, texts, leaves } = forge;
      const log = { origin, note: forge.note(), texts: [...texts], leaves: [...leaves] };
      logs.set(origin.slice(origin.indexOf('/log/')), log);
      return log;
    },
    interfere: () => 0,
    asked,
  };
  return self;
}

function answer(logs: ReadonlyMap<string, ServedLog>, path: string): Uint8Array | string | null {
  if (path === '/export/offline-verify-kit.json') return kit([...logs.values()]);
  const [, place = '', rest = ''] = /^(\/log\/[a-z]+\/\d+)\/(.*)$/.exec(path) ?? [];
  const log = logs.get(place);
  if (log === undefined) return null;
  return rest === 'checkpoint' ? log.note : tile(log, rest);
}

const kit = (logs: readonly ServedLog[]): string =>
  JSON.stringify({
    schema: 'svc-offline-verify-kit-v1',
    logs: logs.map(({ origin }) => ({ origin, vkey: forgeVkey(origin) })),
  });

function tile({ texts, leaves }: ServedLog, path: string): Uint8Array | null {
  const name = parseTilePath(path);
  if (name === null) return null;
  const { level, n, width } = name;
  if (level === 'entries') {
    const entries = texts.slice(n * 256, n * 256 + width);
    return entries.length < width ? null : encodeBundle(entries.map(utf8));
  }
  const edge = new RightEdge();
  for (const leaf of leaves) edge.append(leaf);
  const tiles = edge.takeDirty();
  const found = tiles.find((dirty) => dirty.level === level && dirty.n === n);
  return found === undefined || found.hashes.length < width * 32
    ? null
    : concat(found.hashes.subarray(0, width * 32));
}
