// action_ref: one name for one act, by each of the published profiles. gateway/API.md §7.1; RFC 8785.

import { hash } from 'node:crypto';
import { canonical } from '../contract/index.ts';
import type { JsonObject } from '../contract/index.ts';

/** The profiles, the default one first. */
export const PROFILES = [
  'action-ref-v1-ms',
  'action-ref-v1',
  'action-ref-v2',
  'x402-settlement-binding-v0',
] as const;

/** One of the profiles. */
export type Profile = (typeof PROFILES)[number];

/** The profile whose action_ref is on the chain: 64 hex. */
export const DEFAULT_PROFILE: Profile = 'action-ref-v1-ms';

/** What an act is, in all that any profile names of it. */
export interface ActionTuple {
  readonly agent_id: string;
  readonly action_type: string;
  readonly scope: string;
  /** Milliseconds of UTC. */
  readonly timestamp_ms: number;
  readonly seq: number;
  readonly terminal: boolean;
}

/** An action_ref by profile; null where the tuple lies outside the profile's domain. */
export type ActionRefs = Readonly<Record<Profile, string | null>>;

/** What a claim of some profile looks like. */
export const CLAIM = /^(sha256:|v2:)?[0-9a-f]{64}$/;

const DOMAIN_V2 = 'mycelium.action-ref:v2:';
const SHA256 = 'sha256:';
/** The last millisecond of year 9999: RFC 3339 has four digits for a year. */
const MAX_RFC3339_MS = 253_402_300_799_999;

/** The preimage of a tuple by a profile; null where the profile has none. */
export function preimageOf(profile: Profile, tuple: ActionTuple): JsonObject | null {
  const { agent_id, action_type, scope, timestamp_ms, seq, terminal } = tuple;
  switch (profile) {
    case 'action-ref-v1-ms':
      return { action_type, agent_id, scope, timestamp_ms };
    case 'action-ref-v1':
    case 'action-ref-v2': {
      if (timestamp_ms > MAX_RFC3339_MS || ![agent_id, action_type, scope].every(isAscii)) {
        return null;
      }
      const timestamp = new Date(timestamp_ms).toISOString();
      return { action_type, agent_id, scope, timestamp };
    }
    case 'x402-settlement-binding-v0':
      return {
        actionType: action_type,
        agentId: agent_id,
        scope,
        seq,
        terminal,
        timestampMs: timestamp_ms,
      };
  }
}

/** The action_ref of a tuple by a profile, as that profile spells it; null outside its domain. */
export function actionRef(profile: Profile, tuple: ActionTuple): string | null {
  const preimage = preimageOf(profile, tuple);
  if (preimage === null) return null;
  const text = canonical(preimage);
  switch (profile) {
    case 'action-ref-v1-ms':
    case 'action-ref-v1':
      return sha256(text);
    case 'action-ref-v2':
      return `v2:${sha256(DOMAIN_V2 + text)}`;
    case 'x402-settlement-binding-v0':
      return SHA256 + sha256(text);
  }
}

/** The action_ref of the default profile, which has no domain to lie outside of. */
export function defaultActionRef(tuple: ActionTuple): string {
  return sha256(canonical(preimageOf(DEFAULT_PROFILE, tuple)));
}

/** The action_ref of the six fields, with `sha256:`. */
export function settlementActionRef(tuple: ActionTuple): string {
  return SHA256 + sha256(canonical(preimageOf('x402-settlement-binding-v0', tuple)));
}

/** The action_ref of a tuple by every profile. */
export function actionRefs(tuple: ActionTuple): ActionRefs {
  const refs = PROFILES.map((profile) => [profile, actionRef(profile, tuple)]);
  return Object.fromEntries(refs) as ActionRefs;
}

/** The profile by which a claim is right; null when it is so by none. Six fields may go without `sha256:`. */
export function profileOf(claim: string, refs: ActionRefs): Profile | null {
  return (
    PROFILES.find((profile) => {
      const ref = refs[profile];
      return ref !== null && (claim === ref || SHA256 + claim === ref);
    }) ?? null
  );
}

const sha256 = (text: string): string => hash('sha256', text);

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);
