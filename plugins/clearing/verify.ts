// The verifier of the proof of a clearing slot: the slot's receipt, that the leaf is in the slot, and that the leaf adds
// up. gateway/API.md §10.3. Browser-safe.

import {
  canonical,
  checkLeaf,
  fromHex,
  heldReceipt,
  memberOf,
  objectOf,
  refuse,
  single,
  suiteOf,
  textOf,
} from '../../log/verify.ts';
import type { Asked, JsonObject, Trust, Verifier } from '../../log/verify.ts';

/** Names the members of a proof. */
export const PROOF = 'svc-clearing-proof-v1';
/** Names the members of a leaf. */
export const LEAF = 'svc-clearing-leaf-v1';

const SLOT = 'clearing.slot.v1';

const SUMS = [
  'tolls_micro_usd',
  'credits_micro_usd',
  'fees_micro_usd',
  'cleared_micro_usd',
  'net_micro_usd',
];

/** What a proof shows. */
interface SlotResult {
  readonly leaf: JsonObject;
  /** Index of the slot's entry, and the size of the tree that it is in. */
  readonly index: number;
  readonly size: number;
}

/** Proofs of a tenant's week in its clearing slot. */
export const clearingVerifier: Verifier = {
  kind: 'clearing',
  title: 'the proof of a clearing slot',
  schemas: [PROOF],
  originOf: (document) => memberOf(objectOf(objectOf(document).slot), 'origin'),
  check: (document, trust, asked) =>
    single('clearing', () => {
      const { leaf, index, size } = verifySlotProof(objectOf(document), trust, asked);
      const { week, tenant_ref, acts, net_micro_usd } = leaf;
      return {
        detail: `leaf of ${textOf(tenant_ref)}, slot at entry ${String(index)} of ${String(size)}`,
        summary: `the slot ${textOf(week)} commits to ${String(Number(acts))} acts of this tenant, net ${textOf(net_micro_usd)} micro-USD`,
      };
    }),
};

/**
 * Checks a proof against a log that is trusted.
 *
 * @throws LogError `document_invalid`, `proof_invalid`, `encoding_invalid`
 */
export function verifySlotProof(document: JsonObject, trust: Trust, asked: Asked = {}): SlotResult {
  if (document.schema !== PROOF) refuse('the document is no slot proof');
  const slot = objectOf(document.slot);
  if (slot.type !== SLOT) refuse('the document holds no receipt of a slot');
  const { index, size: treeSize } = heldReceipt(slot, trust, asked);
  if (treeSize === undefined) {
    return refuse('the document does not show that the slot is in the log');
  }
  const { leaf_index, size, path } = document;
  if (
    typeof leaf_index !== 'number' ||
    typeof size !== 'number' ||
    size !== slot.tenants ||
    !Array.isArray(path)
  ) {
    return refuse('the document has another size than its slot');
  }
  const leaf = checkedLeaf(objectOf(document.leaf), slot);
  const root = fromHex(textOf(slot.root), 32);
  checkLeaf(suiteOf(asked), { index: leaf_index, size, leaf: canonical(leaf), path, root });
  return { leaf, index, size: treeSize };
}

function checkedLeaf(leaf: JsonObject, slot: JsonObject): JsonObject {
  if (leaf.schema !== LEAF) refuse('the document has no leaf');
  if (leaf.week !== slot.week) refuse('the document has a leaf of another week than its slot');
  if (!Number.isSafeInteger(leaf.acts)) refuse('the document has a leaf without acts');
  for (const name of SUMS) {
    if (!/^-?(0|[1-9][0-9]{0,39})$/.test(textOf(leaf[name]))) {
      refuse(`the document has a leaf without ${name}`);
    }
  }
  const [tolls = 0n, credits = 0n, fees = 0n] = SUMS.map((name) => BigInt(textOf(leaf[name])));
  if (leaf.net_micro_usd !== String(tolls - credits + fees)) {
    refuse('the document has a leaf that does not add up');
  }
  return leaf;
}
