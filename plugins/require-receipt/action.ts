// What a permit is asked for: one request, made canonical and hashed, and the action_ref that ties a gate's
// decision to it. Portable. gateway/API.md §7.1, §8.2; RFC 8785.

import { canonical, portable, toHex, utf8 } from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';

/** The name of an action, in a form that a header, a policy and the log can hold. */
export const ACTION_TYPE = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,127}$/;

/** A request as far as a permit binds it. */
export interface ActionRequest {
  /** The service that is asked, by the address or name it goes by; a permit for one is none for another. */
  readonly audience: string;
  readonly action_type: string;
  readonly method: string;
  /** Path and query, as they were asked. */
  readonly target: string;
  /** The parts of the body that matter, or the whole of it; undefined where there is none. */
  readonly fields?: Json;
}

/** An action with its name by hash: what a challenge shows, and what the gate is asked about. */
export interface Action {
  readonly action_type: string;
  /** `sha256:` and hex over JCS of `canonical_action`; the `scope` to ask the gate for. */
  readonly action_hash: string;
  /** Fields are replaced by their hash, so that a challenge is short and repeats no personal data. */
  readonly canonical_action: JsonObject;
}

/** The members of `action-ref-v1-ms`, whose hash is an action_ref. */
export interface Preimage {
  readonly action_type: string;
  readonly agent_id: string;
  readonly scope: string;
  readonly timestamp_ms: number;
}

const sha256Hex = (text: string): string => toHex(portable.sha256(utf8(text)));

/** The action that a request is. Two requests are one action exactly when all that is bound is the same. */
export function actionOf(request: ActionRequest): Action {
  const { audience, action_type, method, target, fields } = request;
  const canonical_action = {
    audience,
    action_type,
    method: method.toUpperCase(),
    target,
    ...(fields === undefined ? {} : { fields_sha256: sha256Hex(canonical(fields)) }),
  };
  const action_hash = `sha256:${sha256Hex(canonical(canonical_action))}`;
  return { action_type, action_hash, canonical_action };
}

/** The action_ref of a preimage by the default profile: 64 hex. */
export function actionRefOf({ action_type, agent_id, scope, timestamp_ms }: Preimage): string {
  return sha256Hex(canonical({ action_type, agent_id, scope, timestamp_ms }));
}

/** The value as a preimage; null when it is none. Members that the profile does not have are refused. */
export function preimageFrom(value: Json | undefined): Preimage | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const { action_type, agent_id, scope, timestamp_ms, ...more } = value as JsonObject;
  if (typeof action_type !== 'string' || typeof agent_id !== 'string') return null;
  if (typeof scope !== 'string' || !Number.isSafeInteger(timestamp_ms)) return null;
  if (Object.keys(more).length > 0) return null;
  return { action_type, agent_id, scope, timestamp_ms: timestamp_ms as number };
}
