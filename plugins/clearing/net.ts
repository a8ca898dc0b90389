// What a tenant's week nets to, and the leaf by which its slot commits to it. gateway/API.md §10.3. Pure.

import { add } from '../clear/index.ts';
import type { Digits } from '../clear/index.ts';
import { canonical, listTree } from '../contract/index.ts';
import type { Json, JsonObject, ListTree } from '../contract/index.ts';
import { LEAF } from './verify.ts';

/** Sums of governed acts, in integer micro-USD. */
export interface Net {
  readonly acts: number;
  readonly tolls_micro_usd: Digits;
  /** Tolls that credits paid. */
  readonly credits_micro_usd: Digits;
  /** Basis points on what was cleared, and fees owed. */
  readonly fees_micro_usd: Digits;
  readonly cleared_micro_usd: Digits;
}

/** A tenant's week as a leaf of the slot. */
export interface SlotLeaf extends Net {
  readonly schema: typeof LEAF;
  readonly week: string;
  readonly tenant_ref: string;
  /** Tolls less credits, and fees: what is due. */
  readonly net_micro_usd: Digits;
}

/** Nothing yet. */
export const NO_NET: Net = {
  acts: 0,
  tolls_micro_usd: '0',
  credits_micro_usd: '0',
  fees_micro_usd: '0',
  cleared_micro_usd: '0',
};

/** Two sums as one. */
export function plusNet(a: Net, b: Net): Net {
  return {
    acts: a.acts + b.acts,
    tolls_micro_usd: add(a.tolls_micro_usd, b.tolls_micro_usd),
    credits_micro_usd: add(a.credits_micro_usd, b.credits_micro_usd),
    fees_micro_usd: add(a.fees_micro_usd, b.fees_micro_usd),
    cleared_micro_usd: add(a.cleared_micro_usd, b.cleared_micro_usd),
  };
}

/** What is due of a sum. */
export const dueOf = ({ tolls_micro_usd, credits_micro_usd, fees_micro_usd }: Net): Digits =>
  String(BigInt(tolls_micro_usd) - BigInt(credits_micro_usd) + BigInt(fees_micro_usd));

/** Out of a row; nothing where there is none. */
export const netOf = (row: Json | undefined): Net =>
  row === undefined ? NO_NET : (row as unknown as Net);

/** The leaf of a tenant's week. */
export function leafOf(week: string, tenant_ref: string, net: Net): SlotLeaf {
  return { schema: LEAF, week, tenant_ref, ...net, net_micro_usd: dueOf(net) };
}

const bytesOf = (leaf: SlotLeaf): Uint8Array =>
  new TextEncoder().encode(canonical(leaf as unknown as JsonObject));

/** The tree of a slot; leaves stand in the order of tenant_ref. */
export const slotTree = (leaves: readonly SlotLeaf[]): ListTree => listTree(leaves.map(bytesOf));
