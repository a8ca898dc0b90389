// What the entries of a log must say about the requests that made them, by a scan that shares nothing with the rows of
// the gateway and its plugins.

import { native } from '../../log/crypto/native.ts';
import type { JsonObject, Log } from '../../log/index.ts';
import { trustedKeyOf, verifyAbsence } from '../../log/verify.ts';
import { scan } from '../log/read/scanned-verdict.ts';
import type { Asked } from './gateway-clients.ts';
import { Broken } from './world/world.ts';

type Entries = readonly { readonly index: number; readonly statement: JsonObject }[];

/** The entry types that carry the mark of their request, one for each request. */
const MARKED = /^(classify\.result|gate\.decision|pdtr\.twin)\.v\d+$/;

/**
 * Each request is in the log at most once, and exactly once if it was answered with an entry of its own; each permit is
 * used at most once, each hold ends at most once, and the binds of a payment follow each other.
 */
export function checkEntries(
  entries: Entries,
  asked: readonly Asked[],
  markOf: (n: number) => number,
): void {
  checkMarks(entries, asked, markOf);
  checkUnique(entries, 'gate.permit_use', 'permit_id', 'permit used twice');
  checkUnique(entries, 'gate.hold_resolution', 'hold_id', 'hold ended twice');
  checkUnique(entries, 'disclosure.erasure', 'subject_entry_id', 'erased twice');
  checkBinds(entries);
}

function checkMarks(
  entries: Entries,
  asked: readonly Asked[],
  markOf: (n: number) => number,
): void {
  const found = new Map<number, string[]>();
  for (const { statement } of entries) {
    const mark = statement['event_at_ms'];
    if (typeof mark !== 'number' || !MARKED.test(statement['type'] as string)) continue;
    found.set(mark, [...(found.get(mark) ?? []), statement['entry_id'] as string]);
  }
  for (const { n, state, entries: named, request } of asked) {
    const own = found.get(markOf(n)) ?? [];
    const what = `request ${String(n)} ${request.path}`;
    if (own.length > 1) throw new Broken('appended twice', `${what}: ${own.join(', ')}`);
    if (state === 'refused' && own.length > 0) {
      throw new Broken('refused and appended', `${what}: ${own.join(', ')}`);
    }
    if (state === 'done' && own.some((entry_id) => !named.includes(entry_id))) {
      throw new Broken('answer of another entry', `${what}: ${own.join(', ')}`);
    }
  }
}

function checkUnique(entries: Entries, type: string, member: string, kind: string): void {
  const seen = new Set<string>();
  for (const { index, statement } of entries) {
    if (!(statement['type'] as string).startsWith(`${type}.v`)) continue;
    const name = statement[member] as string;
    if (seen.has(name)) throw new Broken(kind, `${name}, again by entry ${String(index)}`);
    seen.add(name);
  }
}

/** Of the binds of a tenant's payment, none follows a terminal one, and `seq` grows. */
function checkBinds(entries: Entries): void {
  const newest = new Map<string, { readonly seq: number; readonly terminal: boolean }>();
  for (const { index, statement } of entries) {
    if (!(statement['type'] as string).startsWith('pdtr.twin.v')) continue;
    const name = `${statement['tenant_ref'] as string} ${statement['payment_hash'] as string}`;
    const { seq, terminal } = statement as { readonly seq: number; readonly terminal: boolean };
    const before = newest.get(name);
    if (before !== undefined && (before.terminal || seq <= before.seq)) {
      throw new Broken('payment bound twice', `${name}, again by entry ${String(index)}`);
    }
    newest.set(name, { seq, terminal });
  }
}

/** What an absence document was asked about. */
interface Window {
  readonly entity: string;
  readonly surface: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

interface MapHead {
  readonly index: number;
}

/** The verdict of an absence document, as the verifier finds it, is that of a scan of the entries. */
export function checkAbsence(
  log: Log,
  document: JsonObject,
  { entity, surface, from_ms, to_ms }: Window,
  now_ms: number,
): void {
  const { origin, vkey } = log;
  const trust = { origin, vkey, keys: log.receiptKeys().map(trustedKeyOf) };
  const question = { key: ['surface', entity, surface], from_ms, to_ms };
  const at_ms = Math.max(now_ms, log.published().map_head_ms);
  const { verdict } = verifyAbsence(document, question, trust, { suite: native, now_ms: at_ms });
  const own: JsonObject[] = [];
  // The document speaks of the entries up to its map head.
  const { index: last } = document['map_head'] as unknown as MapHead;
  for (let index = 0; index <= last; index += 1) {
    const statement = JSON.parse(log.entry(index) ?? '{}') as JsonObject;
    if (statement['entity'] === entity) own.push(statement);
  }
  const of = (type: string) => own.filter((one) => one['type'] === type);
  const [manifests, beats] = [of('astl.manifest.v1'), of('astl.heartbeat.v1')];
  const acts = own.filter((one) => one['surface'] !== undefined && !beats.includes(one));
  const wanted = scan({ acts, manifests, beats }, { surface, from_ms, to_ms }).verdict;
  if (verdict !== wanted) {
    throw new Broken('absence verdict', `${verdict}, and the entries say ${wanted}`);
  }
}
