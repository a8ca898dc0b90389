// Takes the state of a closed log over into its successor, before the successor takes any other entry.
//
// A start that finds a successor without `succession.carry.v1` of state `done` runs the `carry` hooks of the plugins
// on the closed log, and appends what they hand out in groups. What was carried is told by the rows that it wrote,
// in the same batch as its entry: after a crash at any point the next start goes on, and carries nothing twice.
// What a plugin carries, and what it leaves, stands in its own carry.ts.

import { Type } from 'typebox';
import { isInForce, LOG_KINDS, LogError, readEntry, toHex } from '../log/index.ts';
import type { Draft, EntryType, JsonObject, Kind, Log } from '../log/index.ts';
import {
  asSchema,
  carriedKind,
  carriedName,
  carriedType,
  EntityName,
} from '../plugins/contract/index.ts';
import type { Carry, Plugin } from '../plugins/contract/index.ts';
import type { Gateway } from './gateway.ts';
import { logView } from './host/log-view.ts';

/** Name before the dot of the entries that the gateway itself carries by. */
const OWN = 'succession';
/** The entries that begin and end a carry. */
const CARRY = 'succession.carry.v1';
const STATE_ROW = 'succession/carry';

/** Entries of one group: few enough for a round of the sequencer. */
const GROUP = 64;
const PAGE = 1000;
/** How often a long carry tells how far it is. */
const TOLD_EACH = 50_000;

const CarryMembers = Type.Object(
  {
    /** The log that is carried from. */
    log_number: Type.Integer({ minimum: 1 }),
    /** `lost`: that log is not served, and nothing could be carried from it. */
    state: Type.Enum(['begun', 'done', 'lost']),
  },
  { additionalProperties: false },
);

/** `succession.carry.v1`: says that the state of the log before this one is being carried, and that it was. */
const carryType: EntryType = {
  name: CARRY,
  schema: asSchema(CarryMembers),
  keys: [],
  project({ statement }, rows) {
    const { log_number = 0, state = '' } = statement;
    rows.put(STATE_ROW, { log_number, state });
  },
};

const entityKind = carriedKind(
  Type.Object({ entity: EntityName }, { additionalProperties: false }),
);

const OWN_CARRIED = carriedType(OWN, { claim: entityKind, manifest: entityKind });

/** The types by which the gateway carries; claims and manifests are entries of their own built-in types beside. */
export const SUCCESSION_TYPES: readonly EntryType[] = [carryType, OWN_CARRIED];

type Carrying = Pick<Gateway, 'logs' | 'served' | 'logger'>;

/**
 * Finishes the carry of every kind of log whose newest log follows another one.
 *
 * @throws LogError `store_corrupt` where a carry is half done and its closed log is not there
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
  // Read-only: the start that has its key again carries the rest.
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
  // Claims stand before all that names an entity.
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
  /** The entry that a sum over the whole closed log rests on. */
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

  /** Appends what was collected; the tenants that it names are registered before. */
  async flush(): Promise<void> {
    const drafts = this.#drafts;
    this.#drafts = [];
    if (drafts.length === 0) return;
    const tenants = new Set(drafts.flatMap(({ tenant_ref = [] }) => tenant_ref));
    await Promise.all([...tenants].map((tenant_ref) => this.#register(tenant_ref)));
    await this.#log.append(drafts);
  }

  /** As the closed log has it: the commitment to the tenant's key is that of its own entry. */
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
 * Who owns which entity, and the manifest of each, as entries of their own types: what checks them reads nothing
 * else. A manifest whose time is over, or of an owner before, goes over no more; runs of heartbeats begin anew, since
 * a run is measured in its own log.
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
