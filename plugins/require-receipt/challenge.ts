// The challenge: 428 with `Receipt-Required`, and `required` in the body, which says how to go on. Portable;
// our own routes, the gate and the middleware answer with the same. gateway/API.md §8.2; RFC 6585 §3.

import type { JsonObject } from '../../log/verify.ts';
import type { Action } from './action.ts';

/** Status of a challenge. */
export const STATUS = 428;
/** Header of a challenge. */
export const CHALLENGE_HEADER = 'Receipt-Required';
/** Header that carries the permit. */
export const PROOF_HEADER = 'X-Receipt';
/** What the proof is: a PERMIT of the gate, with its inclusion proof, by these rules. */
export const PROFILE = 'actlog-permit-v1';
/** Where a service says which of its actions need a receipt. */
export const MANIFEST_PATH = '/.well-known/agent-actions.json';
/** Where the standard can be read on a service of actlog. */
export const STANDARD_PATH = '/standards/receipt-required';
/** How old a permit may be, in seconds. */
export const MAX_AGE_S = 900;

/**
 * How sure a permit makes one that somebody wanted the act. A PERMIT shows that a policy covered it, no more:
 * so only `software` is offered, and nothing critical should rest on it alone.
 */
export const ASSURANCE = 'software';

/** What a challenge is made of. */
export interface Challenge {
  readonly action: Action;
  /** Logs whose permits are taken, and of which tenants. */
  readonly issuers: readonly Issuer[];
  /** Absolute address of the gate's endpoint, where the service knows it. */
  readonly gate?: string;
  /** Path or address of the standard text. */
  readonly learn_more?: string;
  /** Why the receipt that came was not taken. */
  readonly refused?: string;
}

/** A log and the tenants of it whose gate is believed. */
export interface Issuer {
  readonly origin: string;
  /** tenant_refs; `any` takes the permit of every tenant of the log. */
  readonly tenants: 'any' | readonly string[];
}

/** The headers of a challenge. */
export function challengeHeaders({ action }: Challenge): Readonly<Record<string, string>> {
  const parameters = {
    action: action.action_type,
    action_hash: action.action_hash,
    manifest: MANIFEST_PATH,
    proof: PROOF_HEADER,
    profile: PROFILE,
    assurance: ASSURANCE,
    max_age: String(MAX_AGE_S),
  };
  const value = Object.entries(parameters).map(([name, text]) => `${name}="${text}"`);
  return { [CHALLENGE_HEADER]: value.join(', '), 'Cache-Control': 'no-store' };
}

/** `required` of a challenge's body. */
export function requiredOf({ action, issuers, gate, learn_more, refused }: Challenge): JsonObject {
  const { action_type, action_hash, canonical_action } = action;
  return {
    action: action_type,
    action_hash,
    canonical_action,
    manifest: MANIFEST_PATH,
    challenge_header: CHALLENGE_HEADER,
    proof_header: PROOF_HEADER,
    header: `${PROOF_HEADER}: base64url({"receipt": …, "preimage": …, "use_secret": …})`,
    profile: PROFILE,
    assurance_class: ASSURANCE,
    acceptable_issuers: issuers.map(({ origin, tenants }) => ({
      origin,
      ...(tenants === 'any' ? {} : { tenant_refs: [...tenants] }),
    })),
    max_age_sec: MAX_AGE_S,
    single_use: true,
    gate_request: { action_type, scope: action_hash },
    ...(gate === undefined ? {} : { gate }),
    how:
      'Ask the gate with gate_request, your agent_id and "Prefer: wait=10"; send its PERMIT receipt, with the ' +
      `checkpoint, inclusion proof and use_secret that came in it, in ${PROOF_HEADER}, with this same request.`,
    learn_more: learn_more ?? STANDARD_PATH,
    ...(refused === undefined ? {} : { refused }),
  };
}

/** The parameters of a `Receipt-Required` header; null when it is malformed. */
export function parseChallenge(value: string): Readonly<Record<string, string>> | null {
  const parameters: Record<string, string> = {};
  for (const part of value.split(/,\s*/u)) {
    const [, name, text] = /^([a-z_]+)="([^"\\]*)"$/u.exec(part) ?? [];
    if (name === undefined || text === undefined || Object.hasOwn(parameters, name)) return null;
    parameters[name] = text;
  }
  return parameters;
}
