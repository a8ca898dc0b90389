// COSE receipts of the log tree: inclusion and consistency proofs under a signed root. RFC 9942; log/FORMAT.md §5.
// Browser-safe. Every input may come from an attacker.

import type { Suite } from '../crypto/suite.ts';
import { equal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { checkConsistency, rootOfInclusion } from '../merkle/check.ts';
import { bytesOf, countOf, decodeCbor, encodeCbor, listOf, mapOf } from './cbor.ts';
import type { Cbor, CborMap } from './cbor.ts';
import {
  CLAIM,
  HEADER,
  PROOF,
  RECEIPT_PROFILE,
  RFC9162_SHA256,
  encodeProtected,
  toBeSigned,
} from './sign1.ts';
import type { CoseSign1 } from './sign1.ts';

/** The key that signs receipts, the service and the log. */
export interface ReceiptSigner {
  readonly alg: number;
  readonly kid: Uint8Array;
  /** The URL of the service. */
  readonly iss: string;
  /** The origin of the log. */
  readonly sub: string;
}

/** An inclusion proof. The path starts at the leaf. */
export interface InclusionProof {
  readonly size: number;
  readonly index: number;
  readonly path: readonly Uint8Array[];
}

/** A consistency proof between the trees of two sizes. */
export interface ConsistencyProof {
  readonly from: number;
  readonly to: number;
  readonly path: readonly Uint8Array[];
}

/** The protected header of a receipt. It is the same for all receipts of a signer, so that each root is signed once. */
export function receiptHeader({ alg, kid, iss, sub }: ReceiptSigner): Uint8Array {
  return encodeProtected(
    new Map<number, Cbor>([
      [HEADER.alg, alg],
      [HEADER.kid, kid],
      [
        HEADER.cwt_claims,
        new Map([
          [CLAIM.iss, iss],
          [CLAIM.sub, sub],
        ]),
      ],
      [HEADER.typ, RECEIPT_PROFILE],
      [HEADER.vds, RFC9162_SHA256],
    ]),
  );
}

/** The unprotected header with one inclusion proof. */
export const inclusionHeader = ({ size, index, path }: InclusionProof): CborMap =>
  proofHeader(PROOF.inclusion, [size, index, path]);

/** The unprotected header with one consistency proof. */
export const consistencyHeader = ({ from, to, path }: ConsistencyProof): CborMap =>
  proofHeader(PROOF.consistency, [from, to, path]);

const proofHeader = (type: number, proof: readonly Cbor[]): CborMap =>
  new Map([[HEADER.vdp, new Map([[type, [encodeCbor(proof)]]])]]);

/** Whether the header of a message declares it a receipt of an RFC 9162 tree. */
export const isReceipt = (message: CoseSign1): boolean =>
  message.protected.get(HEADER.vds) === RFC9162_SHA256;

/**
 * The one inclusion proof of a receipt.
 *
 * @throws LogError `proof_invalid` or `encoding_invalid`
 */
export function inclusionOf(receipt: CoseSign1): InclusionProof {
  const [size, index, path] = proofOf(receipt, PROOF.inclusion, 'inclusion proof');
  return {
    size: countOf(size, 'tree size'),
    index: countOf(index, 'leaf index'),
    path: pathOf(path),
  };
}

/** The one consistency proof of a receipt; throws as `inclusionOf` does. */
export function consistencyOf(receipt: CoseSign1): ConsistencyProof {
  const [from, to, path] = proofOf(receipt, PROOF.consistency, 'consistency proof');
  return { from: countOf(from, 'older size'), to: countOf(to, 'newer size'), path: pathOf(path) };
}

/** The inclusion proof of a receipt, the root that it gives for a leaf, and the bytes that must be signed. */
export function openInclusion(
  suite: Suite,
  receipt: CoseSign1,
  leafHash: Uint8Array,
): InclusionProof & { readonly root: Uint8Array; readonly signed: Uint8Array } {
  const proof = inclusionOf(receipt);
  const root = rootOfInclusion(suite, { ...proof, leafHash });
  checkPayload(receipt, root);
  return { ...proof, root, signed: toBeSigned(receipt.protectedBytes, root) };
}

/** Checks a consistency receipt between two roots, and returns its proof and the bytes that must be signed. */
export function openConsistency(
  suite: Suite,
  receipt: CoseSign1,
  roots: { readonly fromRoot: Uint8Array; readonly toRoot: Uint8Array },
): ConsistencyProof & { readonly signed: Uint8Array } {
  const proof = consistencyOf(receipt);
  checkConsistency(suite, { ...proof, ...roots });
  checkPayload(receipt, roots.toRoot);
  return { ...proof, signed: toBeSigned(receipt.protectedBytes, roots.toRoot) };
}

/**
 * Checks that the payload, if the receipt contains one, is the root of the proof. Readers would take it for that root.
 */
function checkPayload({ payload }: CoseSign1, root: Uint8Array): void {
  if (payload !== null && !equal(payload, root)) {
    throw new LogError('proof_invalid', 'the payload is not the root that the proof leads to');
  }
}

function proofOf(receipt: CoseSign1, type: number, what: string): readonly Cbor[] {
  if (!isReceipt(receipt)) {
    throw new LogError(
      'proof_invalid',
      'the message is not a receipt of an RFC 9162 tree over SHA-256',
    );
  }
  const proofs = mapOf(receipt.unprotected.get(HEADER.vdp), 'vdp').get(type);
  if (proofs === undefined) throw new LogError('proof_invalid', `the receipt has no ${what}`);
  const [only, another] = listOf(proofs, what);
  if (only === undefined || another !== undefined) {
    throw new LogError('proof_invalid', `the receipt does not have exactly one ${what}`);
  }
  const proof = listOf(decodeCbor(bytesOf(only, what)), what);
  if (proof.length !== 3)
    throw new LogError('encoding_invalid', `${what} does not have three parts`);
  return proof;
}

const pathOf = (path: Cbor | undefined): Uint8Array[] =>
  listOf(path, 'path').map((node) => bytesOf(node, 'node', 32));
