// `actlog/require-receipt`: RR-1 in services of others. Mount it in front of an act that cannot be undone, and the
// act runs only with a fresh, unused PERMIT of a gate that you chose; the log's JWKS is all that is fetched.
// gateway/API.md §8.2.

import { adaptersOf } from './adapters.ts';
import type { Protected } from './adapters.ts';
import { guardOf } from './guard.ts';
import type { GuardOptions } from './options.ts';
import type { DeclaredAction } from './manifest.ts';
import type { JsonObject } from '../../log/verify.ts';

export { actionOf, actionRefOf } from './action.ts';
export type { Action, ActionRequest, Preimage } from './action.ts';
export type {
  ExpressRequestLike,
  ExpressResponseLike,
  Fields,
  KoaLike,
  Protected,
} from './adapters.ts';
export { gateRequestFor } from './agent.ts';
export type { GateRequestMembers, MadeRequest } from './agent.ts';
export type { GuardAnswer } from './answers.ts';
export {
  ASSURANCE,
  CHALLENGE_HEADER,
  MANIFEST_PATH,
  MAX_AGE_S,
  parseChallenge,
  PROFILE,
  PROOF_HEADER,
} from './challenge.ts';
export type { Issuer } from './challenge.ts';
export { guardOf } from './guard.ts';
export type { Admission, Guard, GuardedRequest } from './guard.ts';
export type { GuardOptions } from './options.ts';
export { readHeader, receiptHeader } from './header.ts';
export type { Presented } from './header.ts';
export { MANIFEST_VERSION } from './manifest.ts';
export type { DeclaredAction, ManifestService } from './manifest.ts';
export { verifyPermit } from './permit.ts';
export type { Permit, PermitResult, PermitTrust, Refusal, Refused } from './permit.ts';
export { memoryReplayStore } from './replay.ts';
export type { MemoryReplayStore, ReplayStore } from './replay.ts';
export { logReplayStore } from './replay.ts';
export type { LogReplayOptions } from './replay.ts';
export { keysFromJwks, keysOfLog, LogKeysMissing, trustedKeys } from './trusted-keys.ts';
export type { KeyOptions, KeySource, LogKeys, TrustedKeys } from './trusted-keys.ts';

/** Protects the acts of one service. */
export interface ReceiptRequirement {
  /** Declares an action; what comes back is its middleware. */
  protect(action: DeclaredAction): Protected;
  /** What to serve at `/.well-known/agent-actions.json`. */
  manifest(): JsonObject;
  /**
   * Fetches the keys, for a start that shall fail where acts would be refused for ever.
   *
   * @throws LogKeysMissing when the JWKS has no key of a pinned log; its message names the log and the keys there
   * @throws Error when the keys cannot be fetched
   */
  ready(): Promise<void>;
}

/**
 * Requires receipts in front of acts.
 *
 * @throws TypeError for options that could not hold: no log, no tenants, an address that is not https,
 * a JWKS document without a key of the log
 */
export function requireReceipt(options: GuardOptions): ReceiptRequirement {
  const guard = guardOf(options);
  return {
    protect: (action) => adaptersOf(guard.protect(action)),
    manifest: () => guard.manifest(),
    ready: () => guard.ready(),
  };
}
