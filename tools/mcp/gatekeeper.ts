// What the proxy says to the service about calls of tools, and to the model about refusals. Nothing here knows how MCP is
// transported. The acts themselves are those of the hooks: tools/clients/typescript/hooks/acts.ts.

import { LRUCache } from 'lru-cache';
import { isJsonObject, memberOf, objectOf } from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';
import { ApiError, ConnectionFailed, Unverified } from '../clients/typescript/index.ts';
import type { Client } from '../clients/typescript/index.ts';
import { Acts, messageOf, sha256Of, withoutSecret } from '../clients/typescript/hooks/acts.ts';
import type { GateAnswer, Outcome, Place, UsedPermit } from '../clients/typescript/hooks/acts.ts';

export type { Outcome } from '../clients/typescript/hooks/acts.ts';

/** Keys of `_meta`. */
export const META = {
  receipt: 'dev.actlog/receipt',
  call: 'dev.actlog/call',
  refusal: 'dev.actlog/refusal',
} as const;

/** A call of a tool. */
export interface ToolCall {
  readonly tool: string;
  /** The parameters as the client sent them. */
  readonly params: JsonObject;
}

/** What the gate says of a call, with members for `_meta` of its result. */
export type Decision =
  | { readonly kind: 'permitted'; readonly permit: UsedPermit; readonly meta: JsonObject }
  | { readonly kind: 'refused'; readonly text: string; readonly meta: JsonObject }
  | { readonly kind: 'unasked'; readonly meta: JsonObject };

/** Settings. */
export interface GatekeeperOptions {
  /** Asks with repetitions. */
  readonly client: Client;
  /** Asks once, for what is repeated in the background. */
  readonly once: Client;
  readonly url: string;
  readonly agent_id: string;
  readonly session_id: string;
  readonly failOpen: boolean;
  /** The entity and the surface of a tool. */
  readonly placeOf: (tool: string) => Promise<Place>;
  /** Told of each attempt that the log has, or will have. */
  readonly attempted: (place: Place) => void;
  readonly log: (line: string) => void;
}

/** Sessions of calls that were continued, which are remembered. */
const REMEMBERED = 10_000;
/** Longest wait of an answer for the entry of its result; the entry then follows when the service takes it. */
const RESULT_WAIT_MS = 5_000;
const RETRY_MS = 1_000;

/** Asks, uses and logs. */
export class Gatekeeper {
  readonly #options: GatekeeperOptions;
  readonly #acts: Acts;
  readonly #continued = new LRUCache<string, string>({ max: REMEMBERED });

  constructor(options: GatekeeperOptions) {
    this.#options = options;
    const { client, once, agent_id, placeOf, attempted, log } = options;
    this.#acts = new Acts({
      ...{ client, once, agent_id, kind: 'mcp', placeOf, attempted, retryMs: RETRY_MS },
      told: () => undefined,
      lost: (error) => {
        log(`the service refuses an entry: ${messageOf(error)}`);
      },
      sent: (entries) => {
        log(`the service took ${String(entries)} entries that waited`);
      },
    });
  }

  /**
   * Asks about a call and uses the permit. When this is `permitted`, both entries are durable.
   *
   * @param signal ends the question; what was logged by then stays logged
   * @throws the reason of the signal
   */
  async ask({ tool, params }: ToolCall, signal: AbortSignal): Promise<Decision> {
    const { failOpen, log } = this.#options;
    const { arguments: args = {}, inputResponses = null, requestState = null } = params;
    const rest = { inputResponses, requestState };
    const call = { tool, args, rest, session_id: this.#sessionOf(params) };
    try {
      const { answer, permit } = await this.#acts.ask(call, signal);
      return permit === null ? this.#refusal(answer) : permitted(answer, permit);
    } catch (error) {
      signal.throwIfAborted();
      if (!failOpen || !this.#acts.mayGoOn(error)) return failure(error);
      log(`forwards mcp.${tool} without a permit: the service cannot be reached`);
      this.#acts.unasked(call);
      const meta = { [META.call]: { outcome: null, reason: 'gate_unreachable' } };
      return { kind: 'unasked', meta };
    }
  }

  /**
   * Logs how a permitted call ended.
   *
   * @returns the id of its entry; null if the service did not take it yet, and is asked again in the background
   */
  async ended(permit: UsedPermit, outcome: Outcome): Promise<string | null> {
    const { status, result } = outcome;
    const state = isJsonObject(result as Json) ? (result as JsonObject)['requestState'] : undefined;
    if (status === 'continued' && typeof state === 'string') {
      this.#continued.set(sha256Of(state), permit.session_id);
    }
    try {
      return await this.#acts.ended(permit, outcome, AbortSignal.timeout(RESULT_WAIT_MS));
    } catch (error) {
      this.#options.log(`the service refuses an entry: ${messageOf(error)}`);
      return null;
    }
  }

  /** Waits until the service has taken what waits, at most so long. What is left is lost, and a line says so. */
  async close(timeoutMs: number): Promise<void> {
    const { outbox } = this.#acts;
    await outbox.close(timeoutMs);
    if (outbox.waiting > 0) {
      this.#options.log(`${String(outbox.waiting)} entries were not taken by the service`);
    }
  }

  /** The session of a call: that of the round before, the trace that it is part of, or that of the proxy. */
  #sessionOf(params: JsonObject): string {
    const { requestState } = params;
    const before =
      typeof requestState === 'string' ? this.#continued.get(sha256Of(requestState)) : undefined;
    const { traceparent } = objectOf(params['_meta']);
    const trace =
      typeof traceparent === 'string'
        ? /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent)?.[1]
        : undefined;
    return before ?? trace ?? this.#options.session_id;
  }

  #refusal({
    outcome,
    reasons,
    hold_id,
    expires_at,
    decision_entry_id,
    policy_version,
    receipt,
  }: GateAnswer): Decision {
    const shown = withoutSecret(receipt as unknown as JsonObject);
    const permalink = memberOf(shown, 'permalink') ?? '';
    const hold =
      hold_id === undefined
        ? {}
        : {
            hold_id,
            hold_url: `${this.#options.url}/api/v1/execute-gate/holds/${hold_id}`,
            expires_at: expires_at ?? null,
          };
    const refusal = { outcome, reasons, decision_entry_id, policy_version, permalink, ...hold };
    return {
      kind: 'refused',
      text: sentence(outcome, reasons, permalink, hold_id),
      meta: { [META.refusal]: refusal, [META.receipt]: shown },
    };
  }
}

function permitted({ receipt }: GateAnswer, permit: UsedPermit): Decision {
  const shown = withoutSecret(receipt as unknown as JsonObject); // an answer is JSON
  const { permit_id, permit_use_id, salt, arguments_sha256: sha256 } = permit;
  const call = {
    ...{ outcome: 'PERMIT', permit_id, permit_use_id },
    ...{ permalink: shown['permalink'] ?? null, arguments_commitment: { salt, sha256 } },
  };
  return { kind: 'permitted', permit, meta: { [META.receipt]: shown, [META.call]: call } };
}

function sentence(
  outcome: string,
  reasons: readonly string[],
  permalink: string,
  hold_id: string | undefined,
): string {
  const why = reasons.join(', ');
  if (outcome === 'HOLD') {
    return (
      `This call was not made. It is held for a human (${why}): hold ${hold_id ?? ''}, ${permalink}. ` +
      'After the release, make the same call with the same arguments again.'
    );
  }
  if (outcome === 'SILENCE') {
    return `This call was not made: no rule of the policy covers it (SILENCE, ${why}). ${permalink}`;
  }
  return `This call was not made: the policy denies it (${outcome}, ${why}). Do not try it again. ${permalink}`;
}

function failure(error: unknown): Decision {
  const code = ApiError.is(error)
    ? error.code
    : ConnectionFailed.is(error)
      ? 'gate_unreachable'
      : Unverified.is(error)
        ? 'unverified'
        : 'proxy_failed';
  const text = `This call was not made: the gate could not be asked (${code}: ${messageOf(error)}).`;
  return {
    kind: 'refused',
    text,
    meta: { [META.refusal]: { outcome: null, code, message: messageOf(error) } },
  };
}
