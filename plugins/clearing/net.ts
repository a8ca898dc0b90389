// The net of a tenant's week, and the leaf of the slot that commits to it. gateway/API.md §10.3. Pure functions.

import { add } from '../clear/index.ts';
import type { Act, Digits } from '../clear/index.ts';
import { canonical, listTree } from '../contract/index.ts';
import type { Json, JsonObject, ListTree } from '../contract/index.ts';
import { LEAF } from './verify.ts';

/** Sums of governed acts, in integer micro-USD. */
export interface Net {
  readonly acts: number;
  readonly tolls_micro_usd: Digits;
  /** The part of the tolls that credits paid. */
  readonly credits_micro_usd: Digits;
  /** Basis points of the cleared amounts, and fees that settlements owe. */
  readonly fees_micro_usd: Digits;
  readonly cleared_micro_usd: Digits;
}

/** The leaf of a tenant's week in the tree of a slot. */
export interface SlotLeaf extends Net {
  readonly schema: typeof LEAF;
  readonly week: string;
  readonly tenant_ref: string;
  /** The amount due: tolls minus credits plus fees. */
  readonly net_micro_usd: Digits;
}

/** The empty sum. */
export const NO_NET: Net = {
  acts: 0,
  tolls_micro_usd: '0',
  credits_micro_usd: '0',
  fees_micro_usd: '0',
  cleared_micro_usd: '0',
};

/** Adds two sums. */
export function plusNet(a: Net, b: Net): Net {
  return {
    acts: a.acts + b.acts,
    tolls_micro_usd: add(a.tolls_micro_usd, b.tolls_micro_usd),
    credits_micro_usd: add(a.credits_micro_usd, b.credits_micro_usd),
    fees_micro_usd: add(a.fees_micro_usd, b.fees_micro_usd),
    cleared_micro_usd: add(a.cleared_micro_usd, b.cleared_micro_usd),
  };
}

/** Adds an act, with the part of its toll that credits paid and its fee, to a sum. */
export function netWithAct(
  net: Net,
  act: Act,
  [credits_micro_usd, fee_micro_usd]: readonly [Digits, Digits],
): Net {
  return {
    acts: net.acts + 1,
    tolls_micro_usd: add(net.tolls_micro_usd, act.toll_micro_usd),
    credits_micro_usd: add(net.credits_micro_usd, credits_micro_usd),
    fees_micro_usd: add(net.fees_micro_usd, fee_micro_usd),
    cleared_micro_usd: add(net.cleared_micro_usd, act.cleared_micro_usd),
  };
}

/** The amount due: tolls minus credits plus fees. */
export const dueOf = ({ tolls_micro_usd, credits_micro_usd, fees_micro_usd }: Net): Digits =>
  String(BigInt(tolls_micro_usd) - BigInt(credits_micro_usd) + BigInt(fees_micro_usd));

/** Reads a sum from its row; the empty sum without a row. */
export const netOf = (row: Json | undefined): Net =>
  row === undefined ? NO_NET : (row as unknown as Net);

/** The leaf of a tenant's week. */
export function leafOf(week: string, tenant_ref: string, net: Net): SlotLeaf {
  return { schema: LEAF, week, tenant_ref, ...net, net_micro_usd: dueOf(net) };
}

const bytesOf = (leaf: SlotLeaf): Uint8Array =>
  new TextEncoder().encode(canonical(leaf as unknown as JsonObject));

/** The tree of a slot. The leaves must be sorted by tenant_ref. */
export const slotTree = (leaves: readonly SlotLeaf[]): ListTree => listTree(leaves.map(bytesOf));
