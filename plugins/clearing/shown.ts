// Slots as answers show them: the entry with its proof, the checkpoint, and the way from the slot before.
// gateway/API.md §10.3.

import { Type } from 'typebox';
import { toBase64, toHex } from '../../log/index.ts';
import { usd } from '../clear/index.ts';
import { namedStatement, Nullable, receiptOf } from '../contract.ts';
import type { JsonObject, Kind, LogView } from '../contract.ts';
import { SlotMembers, slotType } from './entries.ts';
import type { Slot, Slots } from './slots.ts';
import { WEEK, windowOf } from './weeks.ts';

const Path = Type.Array(Type.String(), { description: 'Base64, in the order of RFC 9162.' });
export const Week = Type.String({ pattern: WEEK });
/** What a slot says, without its proof. */
export const SlotShown = Type.Object(
  {
    ...SlotMembers.properties,
    sum_cleared_usd: Type.String(),
    sum_net_usd: Type.String(),
    entry_id: Type.String({ format: 'uuid' }),
    permalink: Type.String({ format: 'uri' }),
  },
  { $id: 'ClearingSlot' },
);

/** The newest slot, as everybody may check it. */
export const LatestAnswer = Type.Object(
  {
    schema: Type.Literal('svc-clearing-network-v1'),
    origin: Type.String(),
    sandbox: Type.Boolean(),
    window: Type.Union([
      Type.Object({ week: Week, from_ms: Type.Integer(), to_ms: Type.Integer() }),
      Type.Null(),
    ]),
    root: Nullable(Type.String()),
    tenants: Type.Integer(),
    acts: Type.Integer(),
    cleared_micro_usd: Type.String(),
    cleared_usd: Type.String(),
    checkpoint: Type.String({ description: 'Signed note over the slot and everything before it.' }),
    slot: Type.Union([receiptOf(slotType), Type.Null()], { description: "The slot's receipt." }),
    consistency: Type.Union(
      [
        Type.Object({
          from: Type.Integer({ description: 'Size of the checkpoint that the slot before names.' }),
          from_root: Type.String({ description: 'Hex.' }),
          to: Type.Integer(),
          path: Path,
        }),
        Type.Null(),
      ],
      {
        description:
          'From the slot before to the checkpoint; null where there is none in this log.',
      },
    ),
    next: Type.Union([Type.Object({ week: Week, closes_at_ms: Type.Integer() }), Type.Null()]),
  },
  { $id: 'ClearingLatest' },
);

/** The statement of a slot. */
const statementOf = ({ log, row }: Slot): JsonObject => namedStatement(log, row.index);

/** A slot in a list. */
export function slotShown(slot: Slot): JsonObject {
  const statement = statementOf(slot);
  const names = Object.keys(SlotMembers.properties);
  const receipt = slot.log.receipt(slot.row.index);
  return {
    ...Object.fromEntries(names.map((name) => [name, statement[name] ?? null])),
    sum_cleared_usd: usd(statement['sum_cleared_micro_usd'] as string),
    sum_net_usd: usd(statement['sum_net_micro_usd'] as string),
    entry_id: statement['entry_id'] ?? '',
    permalink: receipt?.['permalink'] ?? '',
  };
}

/** The receipt of a slot with its inclusion under a checkpoint that covers it. */
export async function provenSlot({ log, row }: Slot): Promise<JsonObject> {
  const { index } = row;
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`the slot ${row.week} has no entry`);
  const { size, note } = await log.covering(index + 1);
  const inclusion_proof = log.inclusion(index, size).map(toBase64);
  return { ...receipt, log: { origin: log.origin, index, checkpoint: note, inclusion_proof } };
}

/** The newest slot with everything beside it; members are null, or of nothing, before the first. */
export async function latestOf(slots: Slots, kind: Kind, newest: LogView): Promise<JsonObject> {
  const open = slots.open(kind);
  const next = open === null ? null : { week: open, closes_at_ms: windowOf(open).to_ms + 1 };
  const common = { schema: 'svc-clearing-network-v1', sandbox: kind === 'sandbox', next };
  const last = slots.last(kind);
  if (last === null) {
    return {
      ...common,
      origin: newest.origin,
      window: null,
      root: null,
      tenants: 0,
      acts: 0,
      cleared_micro_usd: '0',
      cleared_usd: usd(0),
      checkpoint: newest.published().note,
      slot: null,
      consistency: null,
    };
  }
  const { log, row } = last;
  const { size, note } = await log.covering(row.index + 1);
  const slot = await provenSlot(last);
  const { week, from_ms, to_ms, root, tenants, acts, sum_cleared_micro_usd } = statementOf(last);
  return {
    ...common,
    origin: log.origin,
    window: { week: week ?? '', from_ms: from_ms ?? 0, to_ms: to_ms ?? 0 },
    root: root ?? null,
    tenants: tenants ?? 0,
    acts: acts ?? 0,
    cleared_micro_usd: sum_cleared_micro_usd ?? '0',
    cleared_usd: usd(sum_cleared_micro_usd as string),
    checkpoint: note,
    slot,
    consistency: await consistencyOf(slots, kind, last, size),
  };
}

async function consistencyOf(
  slots: Slots,
  kind: Kind,
  { log, row }: Slot,
  to: number,
): Promise<JsonObject | null> {
  const [previous] = await slots.before(kind, row.week, 1);
  if (previous?.log.origin !== log.origin) return null;
  const { size: from } = previous.row;
  const path = log.consistency(from, to).map(toBase64);
  return { from, from_root: toHex(log.rootAt(from)), to, path };
}
