// What anybody sums up from the public log alone: acts, tolls, fees and credits by month and week, and the roots of
// the slots. Nothing of the product is used.

import { createHash } from 'node:crypto';
import type { Running } from '../gateway/running.ts';

const DAY_MS = 86_400_000;

/** The members of an entry of the public log that are read here. */
export type Entry = Readonly<Record<string, string | number | undefined>>;

/** Orders pairs by their first. */
export const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : 1;

/** What acts come to, money in micro-USD. */
export interface Sum {
  acts: number;
  tolls: bigint;
  cleared: bigint;
  fees: bigint;
  credits: bigint;
  readonly byToll: Map<string, number>;
}

/** What the log's entries come to. */
export interface Told {
  metered: number;
  /** Monday of the first week with an act, ms. */
  firstWeek: number;
  /** By `YYYY-MM tenant_ref`. */
  readonly months: Map<string, Sum>;
  /** By `Monday-ms tenant_ref`. */
  readonly weeks: Map<string, Sum>;
  readonly credits: Map<string, { granted: bigint; drawn: bigint }>;
  readonly slots: Entry[];
}

/** Reads the public log as anybody can, tile by tile, and adds it up. */
export async function readLog(running: Running): Promise<Told> {
  const told: Told = {
    metered: 0,
    firstWeek: NaN,
    months: new Map(),
    weeks: new Map(),
    credits: new Map(),
    slots: [],
  };
  const note = (await running.get('/log/live/1/checkpoint')).text;
  const size = Number(note.split('\n')[1]);
  for (let n = 0; n * 256 < size; n += 1) {
    const width = Math.min(256, size - n * 256);
    const name = String(n).padStart(3, '0') + (width === 256 ? '' : `.p/${String(width)}`);
    const response = await fetch(`${running.url}/log/live/1/tile/entries/${name}`);
    const bundle = Buffer.from(await response.arrayBuffer());
    for (let at = 0; at < bundle.length; at += 2 + bundle.readUInt16BE(at)) {
      const text = bundle.toString('utf8', at + 2, at + 2 + bundle.readUInt16BE(at));
      tell(told, JSON.parse(text) as Entry);
    }
  }
  return told;
}

function tell(told: Told, entry: Entry): void {
  const tenant_ref = String(entry['tenant_ref']);
  if (entry['type'] === 'clearing.slot.v1') told.slots.push(entry);
  if (entry['type'] === 'clearing.grant.v1') {
    told.credits.set(tenant_ref, {
      granted: BigInt(Number(entry['credits_micro_usd'])),
      drawn: 0n,
    });
  }
  if (entry['toll'] === undefined) return;
  told.metered += 1;
  const ms = Number(entry['issued_at_ms']);
  const day = Math.floor(ms / DAY_MS);
  const monday = (day - ((new Date(ms).getUTCDay() + 6) % 7)) * DAY_MS;
  if (Number.isNaN(told.firstWeek)) told.firstWeek = monday;
  const month = sumAt(told.months, `${new Date(ms).toISOString().slice(0, 7)} ${tenant_ref}`);
  const week = sumAt(told.weeks, `${String(monday)} ${tenant_ref}`);
  const toll = BigInt(Number(entry['toll_micro_usd']));
  const cleared = BigInt(Number(entry['cleared_micro_usd'] ?? 0));
  // 2, 1 and 0.5 basis points, by where the month stands after the act.
  const after = month.cleared + cleared;
  const twenty_thousandths = after <= 10n ** 13n ? 4n : after <= 10n ** 14n ? 2n : 1n;
  const fee = (cleared * twenty_thousandths) / 20_000n;
  const credit = told.credits.get(tenant_ref);
  const left = credit === undefined ? 0n : credit.granted - credit.drawn;
  const drawn = toll < left ? toll : left;
  if (credit !== undefined) credit.drawn += drawn;
  for (const sum of [month, week]) {
    sum.acts += 1;
    sum.tolls += toll;
    sum.cleared += cleared;
    sum.fees += fee;
    sum.credits += drawn;
    const name = String(entry['toll']);
    sum.byToll.set(name, (sum.byToll.get(name) ?? 0) + 1);
  }
}

function sumAt(sums: Map<string, Sum>, key: string): Sum {
  const sum = sums.get(key) ?? {
    acts: 0,
    tolls: 0n,
    cleared: 0n,
    fees: 0n,
    credits: 0n,
    byToll: new Map<string, number>(),
  };
  sums.set(key, sum);
  return sum;
}

/** A leaf of a slot: RFC 8785 of a flat object of ASCII: its names sorted. */
export function leafText(week: string, tenant_ref: string, net: Sum): string {
  const leaf: Record<string, string | number> = {
    acts: net.acts,
    cleared_micro_usd: String(net.cleared),
    credits_micro_usd: String(net.credits),
    fees_micro_usd: String(net.fees),
    net_micro_usd: String(net.tolls - net.credits + net.fees),
    schema: 'svc-clearing-leaf-v1',
    tenant_ref,
    tolls_micro_usd: String(net.tolls),
    week,
  };
  return JSON.stringify(leaf);
}

/** The root over texts, RFC 9162 §2.1.1. */
export function merkle(leaves: readonly string[]): Buffer {
  const sha256 = (...parts: (Buffer | string)[]): Buffer =>
    parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return sha256(Buffer.of(0), leaves[0] ?? '');
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return sha256(Buffer.of(1), merkle(leaves.slice(0, k)), merkle(leaves.slice(k)));
}
