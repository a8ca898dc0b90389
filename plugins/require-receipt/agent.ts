// The other side: what an agent asks its gate when it was challenged. A service may ask for anything, so the agent
// checks that it is asked to permit what it is doing, there, and nothing else. Portable. gateway/API.md §8.2.

import { canonical, isJsonObject, portable, toHex, utf8 } from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';

/** The request that was challenged, as the agent made it. */
export interface MadeRequest {
  /** What the service goes by, from where the agent knows it: not from the challenge. */
  readonly audience: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** What the agent means to do; whatever the service calls it unless given. */
  readonly action_type?: string;
  /** What is bound of the body, where the agent knows that; compared by hash. */
  readonly fields?: Json;
}

/** What to ask the gate, beside `agent_id`. */
export interface GateRequestMembers {
  readonly action_type: string;
  readonly scope: string;
}

/**
 * What to ask the gate for the body of a 428.
 *
 * @throws Error when the challenge is of another act than the one that was tried
 */
export function gateRequestFor(body: Json, made: MadeRequest): GateRequestMembers {
  const { required } = isJsonObject(body) ? body : {};
  if (!isJsonObject(required)) throw new Error('the answer does not say what is required');
  const { action, action_hash, canonical_action } = required;
  if (!isJsonObject(canonical_action) || typeof action !== 'string') {
    throw new Error('the challenge does not show its action');
  }
  const hash = `sha256:${hex(canonical_action)}`;
  if (action_hash !== hash) throw new Error('the challenge is not of the action that it shows');
  const expected: Readonly<Record<string, Json | undefined>> = {
    audience: made.audience,
    method: made.method.toUpperCase(),
    target: made.target,
    action_type: made.action_type ?? action,
    fields_sha256: made.fields === undefined ? canonical_action['fields_sha256'] : hex(made.fields),
  };
  for (const [name, value] of Object.entries(expected)) {
    if (canonical_action[name] === value) continue;
    throw new Error(`the challenge is of another act: its ${name} is not the request's`);
  }
  return { action_type: action, scope: hash };
}

const hex = (value: JsonObject | Json): string => toHex(portable.sha256(utf8(canonical(value))));
