// A tenant's week, proven: the leaf, its path to the root, and the slot's receipt. gateway/API.md §10.3.
// Whoever gets the document checks it with verify.ts, `actlog verify` or the page /verify, without the service.

import { Type } from 'typebox';
import { Count, receiptOf, toBase64 } from '../contract/index.ts';
import type { JsonObject } from '../contract/index.ts';
import { slotType } from './entries.ts';
import type { NettedWeek } from './slots.ts';
import { LEAF, PROOF } from './verify.ts';
import { WEEK } from './weeks.ts';

const Digits = Type.String({ pattern: '^-?(0|[1-9][0-9]*)$' });

/** A proof as it is served. */
export const ProofAnswer = Type.Object(
  {
    schema: Type.Literal(PROOF),
    leaf: Type.Object({
      schema: Type.Literal(LEAF),
      week: Type.String({ pattern: WEEK }),
      tenant_ref: Type.String(),
      acts: Count,
      tolls_micro_usd: Digits,
      credits_micro_usd: Digits,
      fees_micro_usd: Digits,
      cleared_micro_usd: Digits,
      net_micro_usd: Digits,
    }),
    leaf_index: Count,
    size: { ...Count, description: 'Leaves of the slot.' },
    path: Type.Array(Type.String(), { description: 'Base64, leaf side first.' }),
    slot: receiptOf(slotType),
  },
  {
    $id: 'ClearingProof',
    description:
      'The leaf hash is SHA-256(00 ‖ RFC 8785 form of `leaf`); with `path` it leads to `slot.root` (RFC 9162 ' +
      '§2.1.3.2), and `slot` is a receipt of the log like any other.',
  },
);

/** The proof of a tenant's leaf; null where the tenant has none in the week. */
export function proofOf(
  { leaves, tree }: NettedWeek,
  tenant_ref: string,
  slot: JsonObject,
): JsonObject | null {
  const leaf_index = leaves.findIndex((leaf) => leaf.tenant_ref === tenant_ref);
  const leaf = leaves[leaf_index];
  if (leaf === undefined) return null;
  return {
    schema: PROOF,
    leaf: { ...leaf },
    leaf_index,
    size: tree.size,
    path: tree.path(leaf_index).map(toBase64),
    slot,
  };
}
