// Carries the state of a closed log over into its successor, before the successor takes any other entry.
//
// A start that finds a successor without `succession.carry.v1` of state `done` runs the `carry` hooks of the plugins
// on the closed log, and appends the entries that they return in groups. The rows of these entries record what was
// carried, in the same batch as its entry: after a crash at any point the next start continues, and carries nothing
// twice. The carry.ts of a plugin says what it carries and what it does not.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { isInForce, LOG_KINDS, LogError, readEntry, toHex } from '../log/index.ts';
import type { Draft, JsonObject, Kind, Log } from '../log/index.ts';
import {
  asSchema,
  carriedKind,
  carriedName,
  carriedType,
  EntityName,
  sentenceOf,
} from '../plugins/contract/index.ts';
import type { Carry, EntryType, Plugin } from '../plugins/contract/index.ts';
import type { Gateway } from './gateway.ts';
import { logView } from './host/log-view.ts';

/** The part before the dot in the names of the gateway's own carry entries. */
const OWN = 'succession';
/** The entries that begin and end a carry. */
const CARRY = 'succession.carry.v1';
const STATE_ROW = 'succession/carry';

/** Entries of one group: few enough for a round of the sequencer. */
const GROUP = 64;
const PAGE = 1000;
/** How often a long carry logs its progress. */
const TOLD_EACH = 50_000;

const CarryMembers = Type.Object(
  {
    /** The log that is carried from. */
    log_number: Type.Integer({ minimum: 1 }),
    /** `lost`: that log is not served, so nothing was carried from it. */
    state: Type.Enum(['begun', 'done', 'lost']),
  },
  { additionalProperties: false },
);

/** `succession.carry.v1`: records the beginning and the end of carrying the state of the previous log. */
const carryType: EntryType = {
  name: CARRY,
  schema: asSchema(CarryMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof CarryMembers>>(({ log_number, state }) => {
    if (state === 'lost')
      return `Log number ${log_number} is not served, and nothing was carried over from it.`;
    return `The service ${state === 'begun' ? 'began' : 'finished'} to carry the state of log number ${log_number} over into this log.`;
  }),
  project({ statement }, rows) {
    const { log_number = 0, state = '' } = statement;
    rows.put(STATE_ROW, { log_number, state });
  },
};

const entityKind = carriedKind(
  Type.Object({ entity: EntityName }, { additionalProperties: false }),
);

const OWN_CARRIED = carriedType(OWN, { claim: entityKind, manifest: entityKind });

/** The entry types of a carry. Claims and manifests are carried as entries of their built-in types. */
export const SUCCESSION_TYPES: readonly EntryType[] = [carryType, OWN_CARRIED];

type Carrying = Pick<Gateway, 'logs' | 'served' | 'logger'>;

/**
 * Finishes the carry of every kind of log whose newest log follows another one.
 *
 * @throws LogError `store_corrupt` when a carry is unfinished and its closed log is missing
 */
export async function carryOver(gateway: Gateway, plugins: readonly Plugin[]): Promise<void> {
  for (const kind of LOG_KINDS) await carryKind(gateway, plugins, kind);
}

async function carryKind(gateway: Gateway, plugins: readonly Plugin[], kind: Kind): Promise<void> {
  const { logger } = gateway;
  const log = gateway.logs[kind];
  const { number, origin } = log;
  if (number === 1) return;
  const state = (log.row(STATE_ROW) as JsonObject | undefined)?.['state'];
  if (state === 'done' || state === 'lost') return;
  // A read-only log: a later start that has its key carries the rest.
  if (log.health().lost_key !== null) return;
  const log_number = number - 1;
  const closed = gateway.served[kind].find((served) => served.number === log_number);
  if (state === undefined) {
    if (await log.hasTenants()) {
      const told =
        'an earlier release opened this log: the state of the log before it was not carried';
      logger.warn({ log: origin }, told);
      return;
    }
    const members = { log_number, state: closed === undefined ? 'lost' : 'begun' };
    await log.append([{ type: CARRY, members }]);
  }
  if (closed === undefined) {
    if (state === undefined) {
      logger.warn({ log: origin }, 'the log before it is lost: nothing was carried from it');
      return;
    }
    throw new LogError(
      'store_corrupt',
      `the state of ${kind}/${String(log_number)} was carried to ${origin} in part only, and that log is not there: ` +
        'put its folder back, and the next start carries the rest',
    );
  }
  const carrier = new Carrier(gateway, log, closed);
  for await (const item of claims(closed)) {
    const { entity } = item.value as { readonly entity: string };
    const surfaces = log.surfaces();
    const there = item.what === 'claim' ? surfaces.owner(entity) : surfaces.manifest(entity);
    if (there === null) await carrier.take(OWN_CARRIED.name, item);
  }
  // Claims come before every entry that names an entity.
  await carrier.flush();
  for (const plugin of plugins) {
    if (plugin.carry === undefined) continue;
    const view = logView(gateway, closed, plugin.name);
    for await (const item of plugin.carry(view)) {
      if (log.row(`${plugin.name}/${item.row}`) === undefined) {
        await carrier.take(carriedName(plugin.name, plugin.types) ?? '', item);
      }
    }
  }
  await carrier.flush();
  await log.append([{ type: CARRY, members: { log_number, state: 'done' } }]);
  logger.info({ log: origin, carried: carrier.carried }, 'carried the state of the closed log');
}

/** Collects items and appends them in groups. */
class Carrier {
  readonly #gateway: Carrying;
  readonly #log: Log;
  readonly #closed: Log;
  /** The last entry that a sum over the whole closed log includes. */
  readonly #last: number;
  #drafts: Draft[] = [];
  carried = 0;

  constructor(gateway: Carrying, log: Log, closed: Log) {
    this.#gateway = gateway;
    this.#log = log;
    this.#closed = closed;
    this.#last = lastOf(closed);
  }

  async take(type: string, item: Carry): Promise<void> {
    const { what, value, tenant_ref, drafts = [] } = item;
    const members = { what, value, rests_on: this.#restsOn(item) };
    const of = tenant_ref === undefined ? {} : { tenant_ref };
    this.#drafts.push(...drafts, { type, ...of, members });
    this.carried += 1;
    if (this.carried % TOLD_EACH === 0) {
      const { logger } = this.#gateway;
      logger.info({ log: this.#log.origin, carried: this.carried }, 'carrying the closed log');
    }
    if (this.#drafts.length >= GROUP) await this.flush();
  }

  /** Appends the collected items, after registering the tenants that they name. */
  async flush(): Promise<void> {
    const drafts = this.#drafts;
    this.#drafts = [];
    if (drafts.length === 0) return;
    const tenants = new Set(drafts.flatMap(({ tenant_ref = [] }) => tenant_ref));
    await Promise.all([...tenants].map((tenant_ref) => this.#register(tenant_ref)));
    await this.#log.append(drafts);
  }

  /** The commitment to the tenant's key is that of the closed log. */
  #register(tenant_ref: string): Promise<void> {
    const index = this.#closed.tenantEntry(tenant_ref);
    const text = index === null ? null : this.#closed.entry(index);
    if (text === null) throw new Error(`a tenant of ${this.#closed.origin} is not registered`);
    const { key_sha256 } = readEntry(text).statement;
    return this.#log.registerTenant(tenant_ref, key_sha256 as string);
  }

  #restsOn({ index, log_number = this.#closed.number }: Carry): JsonObject {
    const { served } = this.#gateway;
    const holder = served[this.#closed.kind].find(({ number }) => number === log_number);
    const at = index ?? this.#last;
    const text = holder?.entry(at) ?? null;
    if (holder === undefined || text === null) return { log_number, index: at };
    const { entry_id = '' } = readEntry(text).statement;
    return { log_number, index: at, entry_id, leaf_hash: toHex(holder.leafHash(at)) };
  }
}

/**
 * Index of `log.closed.v1`, which its map head alone follows. A log that lost a key could not be closed: it ends with
 * the last entry that it acknowledged (log/FORMAT.md §5.4).
 */
function lastOf(closed: Log): number {
  const last = closed.size() - 1;
  const before = last < 1 ? '' : readEntry(closed.entry(last - 1) ?? '').statement['type'];
  return before === 'log.closed.v1' ? last - 1 : last;
}

/**
 * The owners of entities and their manifests, as entries of their built-in types, because the checks read nothing else.
 * Expired manifests and those of earlier owners are not carried. Runs of heartbeats begin anew, because a run is
 * measured within one log.
 */
async function* claims(closed: Log): AsyncGenerator<Carry> {
  const ended_ms = closed.published().map_head_ms;
  const chain = { from_ms: 0, to_ms: ended_ms };
  for (let after: string | undefined; ;) {
    const owners = await closed.owners({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const [entity, tenant_ref] of owners) {
      const claimed = await lastOn(closed, { key: ['claim', entity], ...chain });
      const of = { row: '', tenant_ref, value: { entity } };
      const claim = { type: 'astl.entity.v1', tenant_ref, members: { entity, action: 'claim' } };
      yield { ...of, what: 'claim', index: claimed, drafts: [claim] };
      const manifest = closed.surfaces().manifest(entity);
      if (manifest?.tenant_ref !== tenant_ref) continue;
      if (!isInForce(manifest, Math.max(ended_ms, manifest.valid_from_ms))) continue;
      const { index } = manifest;
      const draft = { type: 'astl.manifest.v1', tenant_ref, members: manifestAt(closed, index) };
      yield { ...of, what: 'manifest', index, drafts: [draft] };
    }
    after = owners.at(-1)?.[0];
    if (owners.length < PAGE) return;
  }
}

/** Index of the last entry of a chain that has one. */
async function lastOn(log: Log, question: Parameters<Log['chain']>[0]): Promise<number> {
  let last = -1;
  for (;;) {
    const rows = await log.chain(question, { limit: PAGE, ...(last < 0 ? {} : { after: last }) });
    last = rows.at(-1)?.index ?? last;
    if (rows.length < PAGE) return last;
  }
}

const MANIFEST_MEMBERS = [
  ...['entity', 'surfaces', 'surface_manifest_hash', 'valid_from_ms', 'valid_until_ms'],
  ...['heartbeat_interval_ms', 'min_detectable_gap_ms'],
];

function manifestAt(closed: Log, index: number): JsonObject {
  const { statement } = readEntry(closed.entry(index) ?? '');
  const there = MANIFEST_MEMBERS.filter((name) => statement[name] !== undefined);
  return Object.fromEntries(there.map((name) => [name, statement[name] ?? null]));
}
