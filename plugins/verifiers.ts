// One verifier for each document type, and the one door to them: `actlog verify`, the page /verify and callers of
// `actlog/verify` recognise a document, check it and print the finding. Everything below runs in browsers too.

import { coseVerifier } from '../log/cose/portable.ts';
import {
  absenceVerifier,
  check,
  checkpointVerifier,
  inclusionVerifier,
  logOf,
  receiptVerifier,
  recognise,
  tlogProofVerifier,
  verifierOf,
  violationVerifier,
} from '../log/verify.ts';
import type { Asked, Finding, Shown, Trust, Verifier } from '../log/verify.ts';
import { mandateVerifier } from './carrier/verify.ts';
import { clearingVerifier, invoiceVerifier } from './clearing/verify.ts';
import { sealedVerifier } from './compliance/verify.ts';
import { airSessionVerifier, airVerifier } from './exports/verify.ts';

export * from '../log/verify.ts';
// Verifiers of COSE documents are made of it.
export * from '../log/cose/portable.ts';

/** The verifiers of the built-in plugins, as their `verifiers` have them. */
export const pluginVerifiers: readonly Verifier[] = [
  mandateVerifier,
  clearingVerifier,
  invoiceVerifier,
  sealedVerifier,
  airVerifier,
  airSessionVerifier,
];

/** The verifiers of what the log itself signs. */
export const logVerifiers: readonly Verifier[] = [
  absenceVerifier,
  receiptVerifier,
  inclusionVerifier,
  checkpointVerifier,
  tlogProofVerifier,
  coseVerifier,
  violationVerifier,
];

/** The verifiers in the first script of the page /verify. The page loads the others for a document that needs them. */
export const firstVerifiers: readonly Verifier[] = [
  mandateVerifier,
  clearingVerifier,
  invoiceVerifier,
  sealedVerifier,
  absenceVerifier,
  receiptVerifier,
  inclusionVerifier,
  checkpointVerifier,
  tlogProofVerifier,
];

/**
 * All verifiers, with those of further plugins; one of the same kind as a built-in plugin's takes its place. Documents
 * that no `schema` names are recognised in this order.
 */
export function verifiersWith(more: readonly Verifier[]): readonly Verifier[] {
  const added = more.filter((one) => !pluginVerifiers.includes(one));
  const builtIn = pluginVerifiers.filter(({ kind }) => !added.some((one) => one.kind === kind));
  return [...builtIn, ...added, ...logVerifiers];
}

/** All verifiers of the package. */
export const verifiers = /* @__PURE__ */ verifiersWith([]);

/**
 * Reads bytes as the documents in them: one, or those of a witness about several surfaces.
 *
 * @throws LogError `json_invalid`, `encoding_invalid` for JSON that breaks the rules of receipts, or no UTF-8
 * @throws Unanswerable for what no verifier checks
 */
export const recogniseDocuments = (bytes: Uint8Array, by = verifiers): readonly Shown[] =>
  recognise(by, bytes);

/** The origin that a document claims; null when it claims none. */
export const originOfDocument = (shown: Shown, by = verifiers): string | null =>
  verifierOf(by, shown).originOf(shown.document);

/** What people call the document, such as `a receipt`. */
export const titleOfDocument = (shown: Shown, by = verifiers): string =>
  verifierOf(by, shown).title;

/** The log, of these origins of a kit, that a document is of; Unanswerable when the kit does not know it. */
export const logOfDocument = (shown: Shown, origins: readonly string[], by = verifiers): string =>
  logOf(by, shown, origins);

/** Checks a document against one log that is trusted; Unanswerable when the caller has to bring more. */
export const checkDocument = (
  shown: Shown,
  trust: Trust,
  asked?: Asked,
  by = verifiers,
): Promise<Finding> => check(by, shown, trust, asked);
