// What the proxy says to the service about calls of tools: it asks the gate before a call, uses the permit, and logs the
// result after it. Nothing here knows how MCP is transported. gateway/API.md §8.1.

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import { LRUCache } from 'lru-cache';
import { isJsonObject, memberOf, objectOf } from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';
import { ApiError, ConnectionFailed, Unverified } from '../clients/typescript/index.ts';
import type { BodyOf, Client } from '../clients/typescript/index.ts';

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

/** What the gate says of a call. */
export type Decision =
  | { readonly kind: 'permitted'; readonly permit: UsedPermit }
  | { readonly kind: 'refused'; readonly text: string; readonly meta: JsonObject }
  | { readonly kind: 'unasked'; readonly meta: JsonObject };

/** A permit that was used for a call that is about to be made. */
export interface UsedPermit {
  readonly permit_id: string;
  readonly use_secret: JsonObject;
  readonly session_id: string;
  /** For `_meta` of the result: the receipt without the secret. */
  readonly receipt: JsonObject;
  readonly call: JsonObject;
}

/** How a call ended. */
export interface Outcome {
  readonly status: 'completed' | 'failed' | 'continued' | 'unknown';
  /** The result, or the error; undefined if no answer came. */
  readonly result?: Json | undefined;
}

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
  /** The entity and the surface of a tool; undefined members belong to no surface. */
  readonly surfaceOf: (tool: string) => Promise<Surface>;
  /** Told of each attempt that the log has, or will have. */
  readonly attempted: (surface: Surface) => void;
  readonly log: (line: string) => void;
}

/** Where a call is an attempt. */
export interface Surface {
  readonly entity?: string | undefined;
  readonly surface?: string | undefined;
}

/** The question about an act, repeated word for word while the act is held. */
type Question = BodyOf<'POST', '/api/v1/execute-gate'> & {
  readonly scope: string;
  readonly session_id: string;
};

/** What of a held act has to be known to ask about it again. */
interface HeldAct {
  readonly question: Question;
  readonly salt: string;
}

/** Requests that the service has not taken yet. */
interface Waiting {
  readonly path: '/api/v1/execute-gate/permits/result' | '/api/v1/execute-gate/unasked';
  readonly body: () => Promise<object>;
  readonly idempotencyKey: string;
}

/** Held acts, and sessions of calls that were continued, which are remembered. */
const REMEMBERED = 10_000;
/** Entries that wait for the service. Beyond it calls are refused, with `--fail-open` too. */
const MAX_WAITING = 10_000;
/** Longest wait of an answer for the entry of its result; the entry then follows when the service takes it. */
const RESULT_WAIT_MS = 5_000;
const RETRY_MS = 1_000;

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
const digestOf = (value: Json): string => sha256(canonicalize(value) ?? 'null');

/** Asks, uses and logs. */
export class Gatekeeper {
  readonly #options: GatekeeperOptions;
  readonly #held = new LRUCache<string, HeldAct>({ max: REMEMBERED });
  readonly #continued = new LRUCache<string, string>({ max: REMEMBERED });
  readonly #waiting: Waiting[] = [];
  #sending: Promise<void> | null = null;
  #stopped = false;

  constructor(options: GatekeeperOptions) {
    this.#options = options;
  }

  /**
   * Asks about a call and uses the permit. When this is `permitted`, both entries are durable.
   *
   * @param signal ends the question; what was logged by then stays logged
   * @throws the reason of the signal
   */
  async ask(call: ToolCall, signal: AbortSignal): Promise<Decision> {
    const { surfaceOf, attempted, client, failOpen } = this.#options;
    let act: HeldAct | undefined;
    try {
      const surface = await surfaceOf(call.tool);
      act = this.#actOf(call, surface);
      const answer = await client.gate(act.question, { signal });
      attempted(surface);
      if (answer.outcome === 'PERMIT') {
        return { kind: 'permitted', permit: await this.#use(answer, act, signal) };
      }
      if (answer.outcome === 'HOLD' || answer.reasons.includes('hold_refused'))
        this.#remember(call, act, answer);
      return this.#refusal(answer);
    } catch (error) {
      signal.throwIfAborted();
      if (failOpen && isUnreachable(error) && this.#waiting.length < MAX_WAITING) {
        return this.#unasked(call.tool, act ?? this.#actOf(call, {}));
      }
      return failure(error);
    }
  }

  /**
   * Logs how a permitted call ended.
   *
   * @returns the id of its entry; null if the service did not take it yet, and is asked again in the background
   */
  async ended(
    { permit_id, use_secret, session_id }: UsedPermit,
    { status, result }: Outcome,
  ): Promise<string | null> {
    const state = isJsonObject(result) ? result['requestState'] : undefined;
    if (status === 'continued' && typeof state === 'string')
      this.#continued.set(sha256(state), session_id);
    const body = {
      ...{ receipt: permit_id, use_secret, status },
      ...(result === undefined ? {} : { result_sha256: digestOf(result) }),
    };
    const waiting: Waiting = {
      path: '/api/v1/execute-gate/permits/result',
      body: () => Promise.resolve(body),
      idempotencyKey: randomUUID(),
    };
    try {
      const { path, idempotencyKey } = waiting;
      const signal = AbortSignal.timeout(RESULT_WAIT_MS);
      const answer = await this.#options.once.requestAny('POST', path, {
        body,
        idempotencyKey,
        signal,
      });
      return memberOf(answer, 'permit_result_id');
    } catch (error) {
      this.#later(waiting, error);
      return null;
    }
  }

  /** How many entries wait for the service. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Waits until the service has taken what waits, at most so long. What is left is lost, and the log says so. */
  async close(timeoutMs: number): Promise<void> {
    const late = new Promise((resolve) => setTimeout(resolve, timeoutMs).unref());
    if (this.#sending !== null) await Promise.race([this.#sending, late]);
    this.#stopped = true;
    if (this.#waiting.length > 0) {
      this.#options.log(`${String(this.#waiting.length)} entries were not taken by the service`);
    }
  }

  /** The act of a call: that of the same call that is held, else a new one. */
  #actOf({ tool, params }: ToolCall, { entity, surface }: Surface): HeldAct {
    const key = callKey({ tool, params });
    const held = this.#held.get(key);
    // Of two such calls at a time one is the held act.
    this.#held.delete(key);
    if (held !== undefined) return held;
    const salt = randomBytes(16);
    const { arguments: args = {} } = params;
    const scope = `mcp:${salt.toString('hex')}:${sha256(Buffer.concat([salt, Buffer.from(canonicalize(args) ?? '')]))}`;
    const question: Question = {
      ...{ action_type: `mcp.${tool}`, agent_id: this.#options.agent_id, scope },
      session_id: this.#sessionOf(params),
      ...(entity === undefined || surface === undefined ? {} : { entity, surface }),
    };
    return { question, salt: salt.toString('hex') };
  }

  #remember(call: ToolCall, { question, salt }: HeldAct, answer: GateAnswer): void {
    const { timestamp_ms } = answer.preimage;
    this.#held.set(callKey(call), { question: { ...question, timestamp_ms }, salt });
  }

  /** The session of a call: that of the round before, the trace that it is part of, or that of the proxy. */
  #sessionOf(params: JsonObject): string {
    const { requestState } = params;
    const before =
      typeof requestState === 'string' ? this.#continued.get(sha256(requestState)) : undefined;
    const { traceparent } = objectOf(params['_meta']);
    const trace =
      typeof traceparent === 'string'
        ? /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent)?.[1]
        : undefined;
    return before ?? trace ?? this.#options.session_id;
  }

  async #use(
    answer: GateAnswer,
    { question, salt }: HeldAct,
    signal: AbortSignal,
  ): Promise<UsedPermit> {
    const { preimage, permit, receipt } = answer;
    if (permit?.use_secret === undefined) throw new Error('the permit has no use secret');
    const { permit_id } = permit;
    const use_secret = permit.use_secret as unknown as JsonObject; // {salt, value}, as the answer has it
    const used = await this.#options.client.requestAny('POST', '/api/v1/execute-gate/permits/use', {
      body: { ...preimage, receipt: permit_id, use_secret },
      signal,
    });
    const shown = withoutSecret(receipt as unknown as JsonObject);
    const [, , arguments_sha256 = ''] = question.scope.split(':');
    return {
      ...{ permit_id, use_secret, receipt: shown, session_id: question.session_id },
      call: {
        ...{ outcome: 'PERMIT', permit_id, permit_use_id: used.permit_use_id ?? null },
        ...{
          permalink: shown['permalink'] ?? null,
          arguments_commitment: { salt, sha256: arguments_sha256 },
        },
      },
    };
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

  #unasked(tool: string, { question }: HeldAct): Decision {
    const { surfaceOf, attempted, log } = this.#options;
    const { action_type, agent_id, scope, session_id } = question;
    const act = { action_type, agent_id, scope, session_id, timestamp_ms: Date.now() };
    log(`forwards ${action_type} without a permit: the service cannot be reached`);
    this.#later(
      {
        path: '/api/v1/execute-gate/unasked',
        idempotencyKey: randomUUID(),
        // The tools may not be declared before the service is back.
        body: async () => {
          const surface = await surfaceOf(tool);
          attempted(surface);
          return { ...act, ...surface, reason: 'gate_unreachable' };
        },
      },
      null,
    );
    return {
      kind: 'unasked',
      meta: { [META.call]: { outcome: null, reason: 'gate_unreachable' } },
    };
  }

  /** Keeps a request that the service may take later, and sends what waits in order. */
  #later(waiting: Waiting, error: unknown): void {
    const { log } = this.#options;
    if (error !== null && !isUnreachable(error) && !isAborted(error)) {
      log(`the service refuses an entry: ${messageOf(error)}`);
      return;
    }
    if (this.#waiting.length >= MAX_WAITING) {
      log('an entry is lost: too many wait for the service');
      return;
    }
    this.#waiting.push(waiting);
    this.#sending ??= this.#send().finally(() => (this.#sending = null));
  }

  async #send(): Promise<void> {
    const { once, log } = this.#options;
    let taken = 0;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || this.#stopped) break;
      const { path, idempotencyKey } = next;
      try {
        await once.requestAny('POST', path, { body: await next.body(), idempotencyKey });
        taken += 1;
      } catch (error) {
        if (isUnreachable(error)) {
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
          continue;
        }
        log(`the service refuses an entry: ${messageOf(error)}`);
      }
      this.#waiting.shift();
    }
    log(`the service took ${String(taken)} entries that waited`);
  }
}

type GateAnswer = Awaited<ReturnType<Client['gate']>>;

const callKey = ({ tool, params }: ToolCall): string => {
  const { arguments: args = {}, inputResponses = null, requestState = null } = params;
  return digestOf([tool, args, inputResponses, requestState]);
};

/** A receipt for other eyes: with the openings of the act, without that of the permit's secret. */
export function withoutSecret(receipt: JsonObject): JsonObject {
  const { use_secret: _, ...disclosures } = objectOf(receipt['disclosures']);
  return { ...receipt, disclosures };
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

/** Whether nothing was decided because the service did not answer. */
const isUnreachable = (error: unknown): boolean =>
  ConnectionFailed.is(error) || (ApiError.is(error) && [502, 503, 504].includes(error.status));

const isAborted = (error: unknown): boolean =>
  error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name);

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

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
