// What every hook does: asks the gate before a tool runs, uses the permit, logs the result, and anchors what goes to a
// model and what comes back. It imports no framework. gateway/API.md §8.1, §12.5; tools/AGENTS.md.

import { canonical, portable, toHex } from '../../../../log/verify.ts';
import type { Json, JsonObject } from '../../../../log/verify.ts';
import { ApiError, Client, ConnectionFailed } from '../index.ts';
import type { AnswerOf, BodyOf } from '../index.ts';

/** Settings of a hook. */
export interface HookOptions {
  /** Address of the service; the environment variable ACTLOG_URL unless given. */
  readonly url?: string;
  /** API key of the agent, role `carrier`; the environment variable ACTLOG_KEY unless given. */
  readonly key?: string;
  /** `agent_id` of the acts; `agent` unless given. */
  readonly agentId?: string;
  /** Session of the entries, such as a trace id; a new random one unless given. */
  readonly sessionId?: string;
  /** Entity of the acts: the only one of the tenant unless given; null for none. */
  readonly entity?: string | null;
  /**
   * What happens when the service cannot be reached. `refuse`, unless given: the tool or model is not called.
   * `continue`: it is, and the entries follow when the service is back, as acts that nobody asked the gate about.
   */
  readonly unreachable?: 'refuse' | 'continue';
  /** Gets every receipt; what it throws is ignored. */
  readonly onReceipt?: (recorded: Recorded) => void;
  /** The client to use, for tests, proxies and `verify: 'always'`; made of `url` and `key` unless given. */
  readonly client?: Client;
}

/** A receipt, and what it is about. */
export interface Recorded {
  readonly about: 'decision' | 'use' | 'result' | 'unasked' | 'model.request' | 'model.response';
  /** Name of the tool, or a name of the model. */
  readonly name: string;
  readonly receipt: JsonObject;
  /** Of an anchor: the text whose SHA-256 is the `digest` of the receipt. It has the digest of the content, salted. */
  readonly document?: string;
}

/** What is known of a refusal. */
interface RefusedOptions extends ErrorOptions {
  readonly outcome?: string;
  readonly permalink?: string;
  readonly holdId?: string;
}

const REFUSED = Symbol.for('actlog.hooks.Refused');

/** A call was not made. Its message can be shown to a model. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly [REFUSED] = true;
  /** HOLD, DENY or SILENCE; null if the gate could not be asked. */
  readonly outcome: string | null;
  /** The receipt's page. */
  readonly permalink: string | undefined;
  /** The hold that a human decides about: `POST /api/v1/execute-gate/holds/{hold_id}`. */
  readonly holdId: string | undefined;

  constructor(message: string, { outcome, permalink, holdId, cause }: RefusedOptions = {}) {
    super(message, { cause });
    this.outcome = outcome ?? null;
    this.permalink = permalink;
    this.holdId = holdId;
  }

  static is(thrown: unknown): thrown is Refused {
    return thrown instanceof Error && REFUSED in thrown;
  }
}

/** A call that may be made. */
export interface Begun {
  readonly tool: string;
  /** The permit that was used; null if the gate was not asked. */
  readonly permit: { readonly permit_id: string; readonly use_secret: unknown } | null;
}

type Question = BodyOf<'POST', '/api/v1/execute-gate'>;
type GateAnswer = AnswerOf<'POST', '/api/v1/execute-gate'>;

/** An entry that the service has not taken yet. */
interface Waiting {
  readonly path: string;
  readonly body: object;
  readonly idempotencyKey: string;
  readonly recorded: Omit<Recorded, 'receipt'>;
}

const USE = '/api/v1/execute-gate/permits/use';
const RESULT = '/api/v1/execute-gate/permits/result';
const UNASKED = '/api/v1/execute-gate/unasked';
const ANCHORS = '/api/v1/anchors';
/** Entries that may wait for the service. When as many wait, calls are refused, also with `continue`. */
const MAX_WAITING = 1000;
/** Held acts that are remembered, so that the same call finds its release. */
const MAX_HELD = 1000;

/** Asks, uses and logs. One recorder is one session. */
export class Recorder {
  readonly #client: Client;
  readonly #options: HookOptions;
  readonly #session_id: string;
  readonly #held = new Map<string, Question>();
  readonly #waiting: Waiting[] = [];
  #flushing: Promise<void> | null = null;

  /** @throws TypeError without an address or a key */
  constructor(options: HookOptions = {}) {
    this.#options = options;
    this.#client = options.client ?? clientOf(options);
    this.#session_id = options.sessionId ?? crypto.randomUUID();
  }

  /** The session of its entries. */
  get sessionId(): string {
    return this.#session_id;
  }

  /** How many entries wait for the service. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Asks the gate about a call of a tool and uses the permit. Both entries are durable when this resolves.
   *
   * @throws Refused if the call must not be made
   */
  async begin(tool: string, args: unknown): Promise<Begun> {
    const key = `${tool} ${digestOf(args) ?? ''}`;
    const question = this.#held.get(key) ?? this.#questionOf(tool, args);
    this.#held.delete(key);
    try {
      const answer = await this.#client.gate(question);
      this.#told({ about: 'decision', name: tool }, answer);
      this.#flushSoon();
      if (answer.outcome !== 'PERMIT') {
        if (answer.outcome === 'HOLD') this.#remember(key, question, answer);
        throw this.#refusal(tool, answer);
      }
      return { tool, permit: await this.#use(tool, answer) };
    } catch (error) {
      if (Refused.is(error)) throw error;
      if (!this.#mayContinue(error)) throw unanswered(tool, error);
      const { action_type, agent_id, scope, session_id, entity } = question;
      const act = { action_type, agent_id, scope, session_id, entity, timestamp_ms: Date.now() };
      const body = { ...act, reason: 'gate_unreachable' };
      this.#later(UNASKED, body, { about: 'unasked', name: tool });
      return { tool, permit: null };
    }
  }

  /** Logs how a call ended. An entry that the service does not take now follows later. */
  async end({ tool, permit }: Begun, status: 'completed' | 'failed', result?: unknown) {
    if (permit === null) return;
    const result_sha256 = digestOf(result);
    const body = {
      ...{ receipt: permit.permit_id, use_secret: permit.use_secret, status },
      ...(result_sha256 === undefined ? {} : { result_sha256 }),
    };
    await this.#send(RESULT, body, { about: 'result', name: tool });
  }

  /** Runs a tool between `begin` and `end`. */
  async call<T>(tool: string, args: unknown, run: () => T | PromiseLike<T>): Promise<T> {
    const begun = await this.begin(tool, args);
    try {
      const result = await run();
      await this.end(begun, 'completed', result);
      return result;
    } catch (error) {
      await this.end(begun, 'failed', String(error));
      throw error;
    }
  }

  /**
   * Anchors what goes to a model, before it goes.
   *
   * @returns the id that ties the request to its response
   * @throws Refused if the service cannot be reached, unless `continue` is set
   */
  async request(model: string, content: unknown): Promise<string> {
    const call_id = crypto.randomUUID();
    const recorded = { about: 'model.request' as const, name: model };
    const { body, document } = this.#anchorOf({ call_id, part: 'request', ...contentOf(content) });
    try {
      await this.#post(ANCHORS, body, { ...recorded, document });
      this.#flushSoon();
    } catch (error) {
      if (!this.#mayContinue(error)) throw unanswered(model, error);
      this.#later(ANCHORS, body, { ...recorded, document });
    }
    return call_id;
  }

  /** Anchors what came back: `content` is a value, or the SHA-256 of bytes that are gone, in hex. */
  async response(
    model: string,
    call_id: string,
    status: 'completed' | 'failed' | 'aborted',
    content: unknown,
  ): Promise<void> {
    const about = { call_id, part: 'response', status, ...contentOf(content) };
    const { body, document } = this.#anchorOf(about);
    await this.#send(ANCHORS, body, { about: 'model.response', name: model, document });
  }

  /** Sends the entries that wait. Resolves when all are sent, or the service still cannot be reached. */
  async flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => (this.#flushing = null));
    await this.#flushing;
  }

  #questionOf(tool: string, args: unknown): Question {
    const salt = randomHex(16);
    const committed = digestOf([salt, jsonOf(args)]) ?? salt;
    return {
      ...{ action_type: `tool.${tool}`, agent_id: this.#options.agentId ?? 'agent' },
      ...{ scope: `tool:${salt}:${committed}`, session_id: this.#session_id },
      ...this.#entity(),
    };
  }

  #entity(): { entity?: string | null } {
    const { entity } = this.#options;
    return entity === undefined ? {} : { entity };
  }

  #remember(key: string, question: Question, { preimage }: GateAnswer): void {
    const [oldest] = this.#held.keys();
    if (this.#held.size >= MAX_HELD && oldest !== undefined) this.#held.delete(oldest);
    this.#held.set(key, { ...question, timestamp_ms: preimage.timestamp_ms });
  }

  async #use(tool: string, answer: GateAnswer): Promise<NonNullable<Begun['permit']>> {
    const { preimage, permit } = answer;
    if (permit?.use_secret === undefined) throw new Refused('the permit has no use secret');
    const { permit_id, use_secret } = permit;
    const body = { ...preimage, receipt: permit_id, use_secret };
    await this.#post(USE, body, { about: 'use', name: tool });
    return { permit_id, use_secret };
  }

  #anchorOf(about: object): { readonly body: object; readonly document: string } {
    const document = canonical({ ...about, salt: randomHex(16) });
    const sha256 = sha256Of(document);
    const session_id = this.#session_id;
    const body = { sha256, media_type: 'application/json', session_id, ...this.#entity() };
    return { body, document };
  }

  #mayContinue(error: unknown): boolean {
    const { unreachable } = this.#options;
    return unreachable === 'continue' && isUnreachable(error) && this.#waiting.length < MAX_WAITING;
  }

  async #post(
    path: string,
    body: object,
    recorded: Omit<Recorded, 'receipt'>,
    idempotencyKey: string = crypto.randomUUID(),
  ): Promise<void> {
    const answer = await this.#client.requestAny('POST', path, { body, idempotencyKey });
    this.#told(recorded, answer);
  }

  /** Sends an entry about something that is done: it can wait, but not be refused. */
  async #send(path: string, body: object, recorded: Omit<Recorded, 'receipt'>): Promise<void> {
    const idempotencyKey = crypto.randomUUID();
    try {
      await this.#post(path, body, recorded, idempotencyKey);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      this.#later(path, body, recorded, idempotencyKey);
    }
  }

  #later(
    path: string,
    body: object,
    recorded: Omit<Recorded, 'receipt'>,
    idempotencyKey: string = crypto.randomUUID(),
  ): void {
    this.#waiting.push({ path, body, recorded, idempotencyKey });
  }

  /** Sends what waits without making the caller wait; what fails stays in line. */
  #flushSoon(): void {
    if (this.#waiting.length > 0) void this.flush().catch(() => undefined);
  }

  async #flush(): Promise<void> {
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      try {
        await this.#post(next.path, next.body, next.recorded, next.idempotencyKey);
      } catch (error) {
        if (isUnreachable(error)) return;
        this.#waiting.shift();
        throw error;
      }
      this.#waiting.shift();
    }
  }

  #told(recorded: Omit<Recorded, 'receipt'>, answer: object): void {
    const { receipt } = answer as { readonly receipt?: JsonObject };
    if (receipt === undefined) return;
    // The secret of a permit is for the recorder alone.
    const { use_secret: _, ...disclosures } = (receipt['disclosures'] ?? {}) as JsonObject;
    try {
      this.#options.onReceipt?.({ ...recorded, receipt: { ...receipt, disclosures } });
    } catch {
      // A caller that cannot keep a receipt does not stop the agent.
    }
  }

  #refusal(tool: string, { outcome, reasons, hold_id, receipt }: GateAnswer): Refused {
    const { permalink } = receipt;
    const why = `${tool} was not called: ${outcome} (${reasons.join(', ')}). Receipt: ${permalink}`;
    if (hold_id === undefined) return new Refused(why, { outcome, permalink });
    const message = `${why}. It is held for a human; after the release, make the same call again.`;
    return new Refused(message, { outcome, permalink, holdId: hold_id });
  }
}

function clientOf({ url, key }: HookOptions): Client {
  const env = (globalThis as { process?: { env: Record<string, string | undefined> } }).process
    ?.env;
  const address = url ?? env?.['ACTLOG_URL'];
  const secret = key ?? env?.['ACTLOG_KEY'];
  if (address === undefined || secret === undefined) {
    throw new TypeError(
      'a hook needs url and key, or ACTLOG_URL and ACTLOG_KEY in the environment',
    );
  }
  return new Client(address, { key: secret, retries: 2, timeoutMs: 10_000 });
}

/** A stream that passes on what it reads; `ended` resolves before the reader sees the end. */
export function watched<T>(
  source: ReadableStream<T>,
  seen: (chunk: T) => void,
  ended: (status: 'completed' | 'failed' | 'aborted') => Promise<void>,
): ReadableStream<T> {
  const reader = source.getReader();
  return new ReadableStream<T>({
    async pull(controller) {
      let read;
      try {
        read = await reader.read();
      } catch (error) {
        await ended('failed');
        throw error;
      }
      if (read.done) {
        await ended('completed');
        controller.close();
        return;
      }
      seen(read.value);
      controller.enqueue(read.value);
    },
    async cancel(reason) {
      await reader.cancel(reason);
      await ended('aborted');
    },
  });
}

/** SHA-256 of a text in UTF-8, or of bytes, in hex. */
export const sha256Of = (content: string | Uint8Array): string =>
  toHex(portable.sha256(typeof content === 'string' ? new TextEncoder().encode(content) : content));

/** SHA-256 of the canonical JSON of a value; undefined for a value that JSON does not have. */
export function digestOf(value: unknown): string | undefined {
  try {
    return sha256Of(canonical(jsonOf(value)));
  } catch {
    return undefined;
  }
}

/** The digest of a value; text stands for itself, and is hashed as its UTF-8. */
const contentOf = (content: unknown): { readonly content_sha256?: string } => {
  const content_sha256 = typeof content === 'string' ? sha256Of(content) : digestOf(content);
  return content_sha256 === undefined ? {} : { content_sha256 };
};

const jsonOf = (value: unknown): Json => JSON.parse(JSON.stringify(value ?? null)) as Json;

const randomHex = (bytes: number): string => toHex(crypto.getRandomValues(new Uint8Array(bytes)));

/** Whether the service did not answer, so that nothing is decided. */
const isUnreachable = (error: unknown): boolean =>
  ConnectionFailed.is(error) || (ApiError.is(error) && error.status >= 500);

const unanswered = (name: string, cause: unknown): Refused =>
  new Refused(`${name} was not called: actlog did not answer (${messageOf(cause)})`, { cause });

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
