// The proof of a tenant's week: the leaf, its path to the root, and the receipt of the slot. gateway/API.md §10.3.
// A holder of the document can check it offline with `actlog verify` or the page /verify (verify.ts).

import { Type } from 'typebox';
import { Count, receiptOf, toBase64 } from '../contract/index.ts';
import type { JsonObject } from '../contract/index.ts';
import { slotType } from './entries.ts';
import type { NettedWeek, Slot } from './slots.ts';
import { LEAF, PROOF } from './verify.ts';
import { WEEK } from '../contract/index.ts';

const Digits = Type.String({ pattern: '^-?(0|[1-9][0-9]*)$' });

/** Schema of the proof. */
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
    path: Type.Array(Type.String(), { description: 'Base64, from the leaf to the root.' }),
    slot: receiptOf(slotType),
  },
  {
    $id: 'ClearingProof',
    description:
      'The leaf hash is SHA-256(00 ‖ RFC 8785 form of `leaf`). With `path` it yields `slot.root` (RFC 9162 §2.1.3.2). ' +
      '`slot` is an ordinary receipt of the log.',
  },
);

/** The receipt of a slot with a checkpoint that covers it and the inclusion proof. */
export async function provenSlot({ log, row }: Slot): Promise<JsonObject> {
  const { index } = row;
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`the slot ${row.week} has no entry`);
  const { size, note } = await log.covering(index + 1);
  const inclusion_proof = log.inclusion(index, size).map(toBase64);
  return { ...receipt, log: { origin: log.origin, index, checkpoint: note, inclusion_proof } };
}

/** The proof of a tenant's leaf; null if the tenant has no leaf in the week. */
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
