// What every hook does: asks the gate before a tool runs, uses the permit, logs the result, and anchors what goes to a
// model and what comes back. It imports no framework. gateway/API.md §8.1, §12.5; tools/AGENTS.md.

import { canonical, toHex } from '../../../../log/verify.ts';
import type { JsonObject } from '../../../../log/verify.ts';
import { Client } from '../index.ts';
import { Acts, digestOf, messageOf, randomBytes, sha256Of, withoutSecret } from './acts.ts';
import type { About, Call, Entry, GateAnswer, UsedPermit } from './acts.ts';

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
export interface Recorded extends About {
  readonly receipt: JsonObject;
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
  /** The permit that was used; null if the gate was not asked. */
  readonly permit: UsedPermit | null;
}

const ANCHORS = '/api/v1/anchors';

/** Asks, uses and logs. One recorder is one session. */
export class Recorder {
  readonly #client: Client;
  readonly #options: HookOptions;
  readonly #acts: Acts;
  /** The session of its entries. */
  readonly sessionId: string;
  #lost: unknown[] = [];

  /** @throws TypeError without an address or a key */
  constructor(options: HookOptions = {}) {
    this.#options = options;
    this.#client = options.client ?? clientOf(options);
    this.sessionId = options.sessionId ?? crypto.randomUUID();
    this.#acts = new Acts({
      ...{ client: this.#client, agent_id: options.agentId ?? 'agent', kind: 'tool' },
      placeOf: () => Promise.resolve(this.#entity()),
      told: (about, answer) => {
        this.#told(about, answer);
      },
      lost: (error) => this.#lost.push(error),
    });
  }

  /** How many entries wait for the service. */
  get waiting(): number {
    return this.#acts.outbox.waiting;
  }

  /**
   * Asks the gate about a call of a tool and uses the permit. Both entries are durable when this resolves.
   *
   * @throws Refused if the call must not be made
   */
  async begin(tool: string, args: unknown): Promise<Begun> {
    const call: Call = { tool, args, session_id: this.sessionId };
    try {
      const { answer, permit } = await this.#acts.ask(call);
      if (permit === null) throw refusal(tool, answer);
      return { permit };
    } catch (error) {
      if (Refused.is(error)) throw error;
      if (!this.#mayContinue(error)) throw unanswered(tool, error);
      this.#acts.unasked(call);
      return { permit: null };
    }
  }

  /** Logs how a call ended. An entry that the service does not take now follows later. */
  async end({ permit }: Begun, status: 'completed' | 'failed', result?: unknown): Promise<void> {
    if (permit !== null) await this.#acts.ended(permit, { status, result });
  }

  /** Runs a tool between `begin` and `end`. */
  async call<T>(tool: string, args: unknown, run: () => T | PromiseLike<T>): Promise<T> {
    const begun = await this.begin(tool, args);
    let result: T;
    try {
      result = await run();
    } catch (error) {
      await this.end(begun, 'failed', String(error));
      throw error;
    }
    await this.end(begun, 'completed', result);
    return result;
  }

  /**
   * Anchors what goes to a model, before it goes.
   *
   * @returns the id that ties the request to its response
   * @throws Refused if the service cannot be reached, unless `continue` is set
   */
  async request(model: string, content: unknown): Promise<string> {
    const call_id = crypto.randomUUID();
    const about = { call_id, part: 'request', ...contentOf(content) };
    const entry = this.#anchorOf({ about: 'model.request', name: model }, about);
    const { outbox } = this.#acts;
    try {
      await outbox.post(this.#client, entry);
      if (outbox.waiting > 0) void outbox.flush();
    } catch (error) {
      if (!this.#mayContinue(error)) throw unanswered(model, error);
      outbox.later(entry);
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
    const entry = this.#anchorOf({ about: 'model.response', name: model }, about);
    await this.#acts.outbox.send(entry);
  }

  /**
   * Sends the entries that wait. Resolves when all are sent, or the service still cannot be reached.
   *
   * @throws ApiError for an entry that the service refuses; the others are sent
   */
  async flush(): Promise<void> {
    await this.#acts.outbox.flush();
    const [error] = this.#lost;
    this.#lost = [];
    if (error !== undefined) throw error as Error;
  }

  #entity(): { entity?: string | null } {
    const { entity } = this.#options;
    return entity === undefined ? {} : { entity };
  }

  #anchorOf(about: About, content: object): Entry {
    const document = canonical({ ...content, salt: toHex(randomBytes()) });
    const session_id = this.sessionId;
    const body = { sha256: sha256Of(document), media_type: 'application/json', session_id };
    return {
      ...{ path: ANCHORS, about: { ...about, document }, idempotencyKey: crypto.randomUUID() },
      body: { ...body, ...this.#entity() },
    };
  }

  #mayContinue(error: unknown): boolean {
    return this.#options.unreachable === 'continue' && this.#acts.mayGoOn(error);
  }

  #told(about: About, { receipt }: JsonObject): void {
    if (receipt === undefined) return;
    try {
      this.#options.onReceipt?.({ ...about, receipt: withoutSecret(receipt as JsonObject) });
    } catch {
      // A caller that cannot keep a receipt does not stop the agent.
    }
  }
}

function refusal(tool: string, { outcome, reasons, hold_id, receipt }: GateAnswer): Refused {
  const { permalink } = receipt;
  const why = `${tool} was not called: ${outcome} (${reasons.join(', ')}). Receipt: ${permalink}`;
  if (hold_id === undefined) return new Refused(why, { outcome, permalink });
  const message = `${why}. It is held for a human; after the release, make the same call again.`;
  return new Refused(message, { outcome, permalink, holdId: hold_id });
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

/** The digest of a value; text stands for itself, and is hashed as its UTF-8. */
const contentOf = (content: unknown): { readonly content_sha256?: string } => {
  const content_sha256 = typeof content === 'string' ? sha256Of(content) : digestOf(content);
  return content_sha256 === undefined ? {} : { content_sha256 };
};

const unanswered = (name: string, cause: unknown): Refused =>
  new Refused(`${name} was not called: actlog did not answer (${messageOf(cause)})`, { cause });
