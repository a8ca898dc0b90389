// Acts of an agent, for the hooks and for the MCP proxy: asks the gate about a call of a tool, uses the permit, logs how
// the call ended, and keeps the entries that the service has not taken. It imports no framework and nothing of Node.js.
// gateway/API.md §8.1.

import canonicalize from 'canonicalize';
import { LRUCache } from 'lru-cache';
import { objectOf, portable, toHex } from '../../../../log/verify.ts';
import type { Json, JsonObject } from '../../../../log/verify.ts';
import { ApiError, ConnectionFailed } from '../index.ts';
import type { AnswerOf, BodyOf, Client } from '../index.ts';

/** A call of a tool that is asked about. */
export interface Call {
  readonly tool: string;
  /** A value of JSON; any other is not committed to. */
  readonly args: unknown;
  /** What else makes two calls the same call. */
  readonly rest?: unknown;
  readonly session_id: string;
}

/** Where a call is an attempt. The service chooses the entity unless it is given. */
export interface Place {
  readonly entity?: string | null | undefined;
  readonly surface?: string | undefined;
}

/** A permit that was used for a call that is about to be made. */
export interface UsedPermit {
  readonly tool: string;
  readonly permit_id: string;
  readonly permit_use_id: string | null;
  readonly use_secret: JsonObject;
  readonly session_id: string;
  /** What the scope of the act commits to the arguments with. */
  readonly salt: string;
  readonly arguments_sha256: string;
}

/** How a call ended. */
export interface Outcome {
  readonly status: 'completed' | 'failed' | 'continued' | 'unknown';
  /** The result, or the error; undefined if no answer came. */
  readonly result?: unknown;
}

/** What an entry is about. */
export interface About {
  readonly about: 'decision' | 'use' | 'result' | 'unasked' | 'model.request' | 'model.response';
  /** Name of the tool, or a name of the model. */
  readonly name: string;
  /** Of an anchor: the text whose SHA-256 is the `digest` of the receipt. It has the digest of the content, salted. */
  readonly document?: string;
}

/** An entry to log. */
export interface Entry {
  readonly path: string;
  readonly body: object | (() => Promise<object>);
  readonly about: About;
  readonly idempotencyKey: string;
  /** A refusal with this code says that there is nothing to log. */
  readonly moot?: string;
}

/** Settings. */
export interface ActsOptions {
  /** Asks with repetitions. */
  readonly client: Client;
  /** Sends once, for what is sent again later; `client` unless given. */
  readonly once?: Client;
  readonly agent_id: string;
  /** The `action_type` of a call is `<kind>.<tool>`, and its scope begins with the kind. */
  readonly kind: 'tool' | 'mcp';
  /** Where a call of this tool is an attempt. What it throws counts as what the gate answers. */
  readonly placeOf: (tool: string) => Promise<Place>;
  /** Told of each attempt that the log has. */
  readonly attempted?: (place: Place) => void;
  /** Told of each answer that logged something. */
  readonly told: (about: About, answer: JsonObject) => void;
  /** Entries that wait are sent again after so many milliseconds; unless given, when something else was sent. */
  readonly retryMs?: number;
  /** Told when the service refuses an entry that waited. */
  readonly lost: (error: unknown) => void;
  /** Told how many entries that waited were sent. */
  readonly sent?: (entries: number) => void;
}

export type GateAnswer = AnswerOf<'POST', '/api/v1/execute-gate'>;
type Question = BodyOf<'POST', '/api/v1/execute-gate'> & { readonly scope: string };

/** An act: what the gate is asked, word for word again while it is held. */
interface Act {
  readonly question: Question;
  readonly salt: string;
  readonly arguments_sha256: string;
}

const USE = '/api/v1/execute-gate/permits/use';
const RESULT = '/api/v1/execute-gate/permits/result';
const UNASKED = '/api/v1/execute-gate/unasked';
/** Held acts that are remembered, so that the same call finds its release. */
const MAX_HELD = 10_000;
/** Entries that may wait for the service. When as many wait, no call is made that the gate was not asked about. */
const MAX_WAITING = 10_000;

/** Sends entries; keeps those that the service does not take, and sends them later in order. */
export class Outbox {
  readonly #options: ActsOptions;
  readonly #waiting: Entry[] = [];
  #flushing: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(options: ActsOptions) {
    this.#options = options;
  }

  /** How many entries wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** @throws what the client throws */
  async post(client: Client, entry: Entry, signal?: AbortSignal): Promise<JsonObject> {
    const { path, idempotencyKey, body } = entry;
    const answer = await client.requestAny('POST', path, {
      body: typeof body === 'function' ? await body() : body,
      idempotencyKey,
      ...(signal === undefined ? {} : { signal }),
    });
    this.#options.told(entry.about, answer);
    return answer;
  }

  /**
   * Logs what is done, and can therefore wait.
   *
   * @param signal ends the waiting for the answer, but not the sending
   * @returns null if the service did not take it yet
   * @throws ApiError if the service refuses it
   */
  async send(entry: Entry, signal?: AbortSignal): Promise<JsonObject | null> {
    const { client, once = client } = this.#options;
    try {
      return await this.post(once, entry, signal);
    } catch (error) {
      if (!mayBeTakenLater(error) && signal?.aborted !== true) throw error;
      this.later(entry);
      return null;
    }
  }

  /** Keeps an entry until the next flush. */
  later(entry: Entry): void {
    this.#waiting.push(entry);
    this.#again(0);
  }

  /** Sends what waits, in order. Resolves when all is sent, or the service cannot be reached. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null;
      this.#again(this.#options.retryMs ?? 0);
    });
    return this.#flushing;
  }

  /** Sends what waits for so long. */
  async close(timeoutMs: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    const sent = async (): Promise<void> => {
      while (this.#waiting.length > 0 && !this.#isClosed) {
        await this.flush();
        if (this.#waiting.length > 0) await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    await Promise.race([sent(), late]);
    this.#isClosed = true;
    clearTimeout(timer);
    clearTimeout(this.#timer);
  }

  #again(afterMs: number): void {
    if (this.#options.retryMs === undefined || this.#isClosed || this.#waiting.length === 0) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.flush();
    }, afterMs);
  }

  async #flush(): Promise<void> {
    const { client, once = client, lost, sent } = this.#options;
    let taken = 0;
    for (let entry = this.#waiting[0]; entry !== undefined; entry = this.#waiting[0]) {
      try {
        await this.post(once, entry);
        taken += 1;
      } catch (error) {
        if (mayBeTakenLater(error)) break;
        const isMoot = ApiError.is(error) && error.code === entry.moot;
        if (!isMoot) lost(error);
      }
      this.#waiting.shift();
    }
    if (taken > 0) sent?.(taken);
  }
}

/** Asks, uses and logs. */
export class Acts {
  readonly outbox: Outbox;
  readonly #options: ActsOptions;
  readonly #held = new LRUCache<string, Act>({ max: MAX_HELD });

  constructor(options: ActsOptions) {
    this.#options = options;
    this.outbox = new Outbox(options);
  }

  /**
   * Asks the gate about a call, and uses the permit if it answers with one. Then both entries are durable.
   *
   * @param signal ends the question; what was logged by then stays logged
   * @throws what the client throws, and the reason of the signal: the call must not be made
   */
  async ask(
    call: Call,
    signal?: AbortSignal,
  ): Promise<{ readonly answer: GateAnswer; readonly permit: UsedPermit | null }> {
    const { client, placeOf, attempted, told } = this.#options;
    const place = await placeOf(call.tool);
    const key = digestOf([call.tool, call.args, call.rest]) ?? toHex(randomBytes());
    const held = this.#held.get(key);
    // Of two such calls at a time one is the held act.
    this.#held.delete(key);
    const act = held ?? this.#actOf(call, place);
    let answer: GateAnswer;
    try {
      answer = await client.gate(act.question, signal === undefined ? {} : { signal });
    } catch (error) {
      if (held !== undefined) this.#held.set(key, held);
      throw error;
    }
    attempted?.(place);
    told({ about: 'decision', name: call.tool }, answer as unknown as JsonObject); // an answer is JSON
    if (this.#options.retryMs === undefined && this.outbox.waiting > 0) void this.outbox.flush();
    if (answer.outcome === 'PERMIT') {
      return { answer, permit: await this.#use(call, act, answer, signal) };
    }
    if (answer.outcome === 'HOLD' || answer.reasons.includes('hold_refused')) {
      const { timestamp_ms } = answer.preimage;
      this.#held.set(key, { ...act, question: { ...act.question, timestamp_ms } });
    }
    return { answer, permit: null };
  }

  /** Logs later that a call is made which the gate could not be asked about. */
  unasked(call: Call): void {
    const { action_type, agent_id, scope, session_id } = this.#actOf(call, {}).question;
    const act = { action_type, agent_id, scope, session_id, timestamp_ms: Date.now() };
    this.outbox.later({
      ...{ path: UNASKED, about: { about: 'unasked', name: call.tool } },
      idempotencyKey: crypto.randomUUID(),
      // The place may not be known before the service is back.
      body: async () => {
        const place = await this.#options.placeOf(call.tool);
        this.#options.attempted?.(place);
        return { ...act, ...place, reason: 'gate_unreachable' };
      },
    });
  }

  /**
   * Logs how a permitted call ended.
   *
   * @param signal ends the waiting for the answer; the entry then follows later
   * @returns the id of its entry; null if the service did not take it yet
   * @throws ApiError if the service refuses it
   */
  async ended(permit: UsedPermit, outcome: Outcome, signal?: AbortSignal): Promise<string | null> {
    const answer = await this.outbox.send(resultOf(permit, outcome), signal);
    return (answer?.['permit_result_id'] ?? null) as string | null;
  }

  /** Whether a call may be made although this error came in place of a decision, by a caller that allows it. */
  mayGoOn(error: unknown): boolean {
    return isUnreachable(error) && !this.outbox.isFull;
  }

  #actOf({ tool, args, session_id }: Call, { entity, surface }: Place): Act {
    const { kind, agent_id } = this.#options;
    const salt = randomBytes();
    const text = textOf(args);
    const arguments_sha256 = text === undefined ? '' : sha256Of(concat(salt, utf8(text)));
    const question: Question = {
      ...{ action_type: `${kind}.${tool}`, agent_id, session_id },
      scope: `${kind}:${toHex(salt)}:${arguments_sha256}`,
      ...(entity === undefined ? {} : { entity }),
      ...(surface === undefined ? {} : { surface }),
    };
    return { question, salt: toHex(salt), arguments_sha256 };
  }

  async #use(
    { tool, session_id }: Call,
    { salt, arguments_sha256 }: Act,
    { preimage, permit }: GateAnswer,
    signal: AbortSignal | undefined,
  ): Promise<UsedPermit> {
    if (permit?.use_secret === undefined) throw new Error('the permit has no use secret');
    const { permit_id } = permit;
    const use_secret = permit.use_secret as unknown as JsonObject; // {salt, value}, as the answer has it
    const known = { tool, permit_id, use_secret, session_id, salt, arguments_sha256 };
    const entry: Entry = {
      ...{ path: USE, about: { about: 'use', name: tool }, idempotencyKey: crypto.randomUUID() },
      body: { ...preimage, receipt: permit_id, use_secret },
    };
    try {
      const used = await this.outbox.post(this.#options.client, entry, signal);
      return { ...known, permit_use_id: (used['permit_use_id'] ?? null) as string | null };
    } catch (error) {
      // Whether the permit was used is unknown here. If it was, the log shall say that the call was not made with it.
      if (isUnreachable(error) || signal?.aborted === true) {
        const unmade = resultOf({ ...known, permit_use_id: null }, { status: 'failed' });
        this.outbox.later({ ...unmade, moot: 'permit_not_used' });
      }
      throw error;
    }
  }
}

function resultOf({ tool, permit_id, use_secret }: UsedPermit, outcome: Outcome): Entry {
  const { status, result } = outcome;
  const text = result === undefined ? undefined : textOf(result);
  return {
    ...{
      path: RESULT,
      about: { about: 'result', name: tool },
      idempotencyKey: crypto.randomUUID(),
    },
    body: {
      ...{ receipt: permit_id, use_secret, status },
      ...(text === undefined ? {} : { result_sha256: sha256Of(text) }),
    },
  };
}

/** A receipt for other eyes: with the openings of the act, without that of the permit's secret. */
export function withoutSecret(receipt: JsonObject): JsonObject {
  const { use_secret: _, ...disclosures } = objectOf(receipt['disclosures']);
  return { ...receipt, disclosures };
}

/** Whether the service did not answer, so that nothing is decided. */
export const isUnreachable = (error: unknown): boolean =>
  ConnectionFailed.is(error) || (ApiError.is(error) && [502, 503, 504].includes(error.status));

const mayBeTakenLater = (error: unknown): boolean =>
  isUnreachable(error) || (ApiError.is(error) && error.status === 429);

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** SHA-256 of a text in UTF-8, or of bytes, in hex. */
export const sha256Of = (content: string | Uint8Array): string =>
  toHex(portable.sha256(typeof content === 'string' ? utf8(content) : content));

/** SHA-256 of the canonical JSON of a value; undefined for a value that JSON does not have. */
export function digestOf(value: unknown): string | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : sha256Of(text);
}

/** The canonical JSON (RFC 8785) of what JSON.stringify makes of a value. */
function textOf(value: unknown): string | undefined {
  try {
    return canonicalize(JSON.parse(JSON.stringify(value ?? null)) as Json);
  } catch {
    return undefined;
  }
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

const concat = (one: Uint8Array, other: Uint8Array): Uint8Array => {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
};

/** Sixteen random bytes. */
export const randomBytes = (): Uint8Array => crypto.getRandomValues(new Uint8Array(16));
