// A tenant's week, proven: the leaf, its path to the root, and the slot's receipt. gateway/API.md §10.3.
// Whoever gets the document checks it with `verifySlotProof`, or `actlog verify`, without the service.

import { Type } from 'typebox';
import {
  checkInclusion,
  fromBase64,
  fromHex,
  isJsonObject,
  LogError,
  native,
  toBase64,
} from '../../log/index.ts';
import type { ReceiptResult, Trust } from '../../log/verify.ts';
import { verifyReceipt } from '../../log/verify.ts';
import { Count, receiptOf } from '../contract.ts';
import type { Json, JsonObject } from '../contract.ts';
import { SLOT, slotType } from './entries.ts';
import { dueOf, LEAF, slotLeafHash } from './net.ts';
import type { Net, SlotLeaf } from './net.ts';
import type { NettedWeek } from './slots.ts';
import { WEEK } from './weeks.ts';

/** Names the members of a proof. */
const PROOF = 'svc-clearing-proof-v1';

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

/** What a proof shows. */
export interface SlotResult {
  readonly leaf: SlotLeaf;
  readonly receipt: ReceiptResult;
}

const NET_MEMBERS: readonly (keyof Net)[] = [
  'acts',
  'tolls_micro_usd',
  'credits_micro_usd',
  'fees_micro_usd',
  'cleared_micro_usd',
];

/**
 * Checks a proof against a log that is trusted: the slot's receipt, that it is in the tree, and that the leaf
 * is in the slot and adds up.
 *
 * @throws LogError `document_invalid`, `proof_invalid`
 */
export function verifySlotProof(document: Json, trust: Trust): SlotResult {
  if (!isJsonObject(document) || document['schema'] !== PROOF) throw invalid('is no slot proof');
  const { leaf, leaf_index, size, path, slot } = document;
  if (!isJsonObject(slot) || slot['type'] !== SLOT) throw invalid('holds no receipt of a slot');
  const receipt = verifyReceipt(slot, trust, { suite: native });
  if (!receipt.valid) {
    const failed = receipt.checks.find(({ outcome }) => outcome === 'failed');
    throw invalid(`holds a receipt that does not hold: ${failed?.detail ?? 'unknown'}`);
  }
  if (receipt.size === undefined) throw invalid('does not show that the slot is in the log');
  if (typeof leaf_index !== 'number' || size !== slot['tenants'] || !Array.isArray(path)) {
    throw invalid('has another size than its slot');
  }
  const checked = checkedLeaf(leaf, slot);
  checkInclusion(native, {
    index: leaf_index,
    size: size as number,
    leafHash: slotLeafHash(checked),
    path: path.map((hash: Json) => fromBase64(textOf(hash), 32)),
    root: fromHex(textOf(slot['root']), 32),
  });
  return { leaf: checked, receipt };
}

function checkedLeaf(leaf: Json | undefined, slot: JsonObject): SlotLeaf {
  if (!isJsonObject(leaf) || leaf['schema'] !== LEAF) throw invalid('has no leaf');
  if (leaf['week'] !== slot['week']) throw invalid('has a leaf of another week than its slot');
  for (const name of NET_MEMBERS) {
    const value = leaf[name];
    const sum = name === 'acts' ? Number.isSafeInteger(value) : isDigits(value);
    if (!sum) throw invalid(`has a leaf without ${name}`);
  }
  const net = leaf as unknown as SlotLeaf;
  if (net.net_micro_usd !== dueOf(net)) throw invalid('has a leaf that does not add up');
  return net;
}

/** What is no text is no hash. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const isDigits = (value: unknown): boolean =>
  typeof value === 'string' && /^-?(0|[1-9][0-9]{0,39})$/.test(value);

const invalid = (reason: string): LogError =>
  new LogError('document_invalid', `the document ${reason}`);
