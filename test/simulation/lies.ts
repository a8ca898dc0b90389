// Lies of a log's operator, who has its keys: an entry that breaks a rule and is signed again. A monitor that replays
// the log must find each of them at the entry (log/FORMAT.md §7).

import { createPrivateKey, sign } from 'node:crypto';
import { native } from '../../log/crypto/native.ts';
import { canonical } from '../../log/encoding/canonical.ts';
import type { JsonObject } from '../../log/index.ts';
import { isViolation, Replay } from '../../log/replay/replay.ts';
import type { Ledger } from './ledger.ts';
import type { Files } from './world/files.ts';
import type { Random } from './world/random.ts';
import { Broken } from './world/world.ts';

type Changed = JsonObject | null;

/** Each returns the changed statement; null if the entry does not offer itself for the lie. */
const LIES: Readonly<Record<string, (statement: JsonObject, before: JsonObject) => Changed>> = {
  'a time before that of the last entry': (statement, before) => ({
    ...statement,
    issued_at_ms: Number(before['issued_at_ms']) - 1,
  }),
  'an index again': (statement, before) => ({ ...statement, index: before['index'] ?? 0 }),
  'an id before that of the last entry': (statement, before) => ({
    ...statement,
    entry_id: before['entry_id'] ?? '',
  }),
  'the origin of another log': (statement) => ({ ...statement, origin: 'log.example/log/live/9' }),
  'an unregistered tenant': (statement) =>
    statement['tenant_ref'] === undefined || statement['type'] === 'log.tenant.v1'
      ? null
      : { ...statement, tenant_ref: 'bm90LXJlZ2lzdGVyZWQtMQ' },
  'another root of the map': (statement) =>
    statement['map_root'] === undefined ? null : { ...statement, map_root: 'ab'.repeat(32) },
  'a map head that leaves out entries': (statement) =>
    statement['covered'] === undefined
      ? null
      : { ...statement, covered: Number(statement['covered']) - 1 },
  'a link that skips an entry': (statement) => changeLink(statement, (seq) => ({ seq: seq + 1 })),
  'a link to no entry': (statement) =>
    changeLink(statement, (seq) =>
      seq === 0 ? null : { prev_index: null, prev_ms: null, seq: 0 },
    ),
  'no links': (statement) => {
    if (statement['links'] === undefined) return null;
    const { links: _links, ...rest } = statement;
    return rest;
  },
};

function changeLink(statement: JsonObject, change: (seq: number) => JsonObject | null): Changed {
  const [first, ...rest] = (statement['links'] as readonly JsonObject[] | undefined) ?? [];
  if (first === undefined) return null;
  const changed = change(Number(first['seq']));
  return changed === null ? null : { ...statement, links: [{ ...first, ...changed }, ...rest] };
}

/** Plants one lie in a copy of a published log, and replays the copy. */
export function checkLie(ledger: Ledger, files: Files, random: Random): void {
  const { texts, statements } = ledger;
  const name = random.pick(Object.keys(LIES));
  const at = random.between(1, texts.length - 1);
  const [statement, before] = [statements[at], statements[at - 1]];
  if (statement === undefined || before === undefined) return;
  const { signature: _signature, ...own } = statement;
  const changed = LIES[name]?.(own, before) ?? null;
  if (changed === null) return;
  const number = ledger.origin.slice(ledger.origin.lastIndexOf('/') + 1);
  const path = `/data/keys/live-${number}-receipt-${own['kid'] as string}.pem`;
  const key = createPrivateKey(files.file(path).data);
  const signature = sign(null, Buffer.from(canonical(changed)), key).toString('base64');
  const lie = canonical({ ...changed, signature });
  const replay = new Replay({ suite: native, origin: ledger.origin, verifySignatures: 'deferred' });
  for (const text of texts.slice(0, at)) replay.add(text);
  try {
    replay.add(lie);
  } catch (error) {
    if (isViolation(error)) return;
    throw error;
  }
  throw new Broken('lie not found', `${name} at entry ${String(at)}: ${lie}`);
}
