// The client. Every operation of the service is `request`; the operations of most programs have a method of their own,
// which also checks that a verified answer is about its request.

import { isLogError, objectOf, objectsOf, parseTlogProof, toBase64 } from '../../../log/verify.ts';
import type { Json, JsonObject } from '../../../log/verify.ts';
import {
  aboutBind,
  aboutClassification,
  aboutDecision,
  aboutRestraint,
  aboutWitness,
  Verification,
} from './answers.ts';
import type { AboutRequest } from './answers.ts';
import { Batches } from './batches.ts';
import { Unverified } from './errors.ts';
import type {
  AnswerOf,
  BodyOf,
  Input,
  ListPath,
  Method,
  PathOf,
  QueryOf,
  RowOf,
} from './operations.ts';
import { objectIn, pause, send } from './requests.ts';
import type { CallOptions, Query, Sending, Sent } from './requests.ts';
import { openWebhook, webhookKeys } from './webhooks.ts';
import type { WebhookMessage } from './webhooks.ts';

/** The two kinds of logs. */
export type LogKind = 'live' | 'sandbox';

/** Settings of a client. */
export interface ClientOptions {
  /** The API key; without one the client is the anonymous caller. */
  readonly key?: string | undefined;
  /** The offline kit that the caller keeps. Its logs and keys are pinned. */
  readonly kit?: JsonObject;
  /**
   * `always`: the client throws Unverified for every answer that fails verification, or that has nothing to verify. It
   * needs a kit. `never` unless given.
   */
  readonly verify?: 'always' | 'never';
  /** How often a request is repeated after its first try; 4 unless given. */
  readonly retries?: number;
  /** Longest wait between two tries in milliseconds; 30,000 unless given. A longer `Retry-After` is an ApiError. */
  readonly maxWaitMs?: number;
  /** Longest time of one try in milliseconds; 40,000 unless given. */
  readonly timeoutMs?: number;
  /** Seconds, 30 at most, that a POST waits for the checkpoint that covers its entry; 0 unless given. */
  readonly waitS?: number;
  /**
   * `auto`: calls of one operation that are made before the program waits for the first of them share a request
   * (gateway/API.md §4.5). `never`: each call is a request. `auto` unless given.
   */
  readonly batches?: 'auto' | 'never';
  /** The `fetch` to use, for proxies and tests. */
  readonly fetch?: typeof fetch;
}

/** Options of a call whose answer may contain nothing to verify. */
export interface RequestOptions extends CallOptions {
  /** False for an answer that has no receipt and no absence document, such as `GET /api/v1/me`. */
  readonly verify?: boolean;
}

/** The log that a chain is read from. */
interface OfKind extends CallOptions {
  /** `live` unless given. */
  readonly kind?: LogKind;
}

/** How long webhook keys that were fetched are used. */
const KEYS_FRESH_MS = 60_000;
const POLL_MS = 500;

/** The answers of operations with a method of their own. */
type Posted<P extends PathOf<'POST'>> = AnswerOf<'POST', P>;
type Posts<P extends PathOf<'POST'>> = BodyOf<'POST', P>;

/** A client of one service. */
export class Client {
  readonly #sending: Sending;
  /** Null if each call is a request. */
  readonly #batches: Batches | null;
  readonly #kit: JsonObject | undefined;
  readonly #verification: Verification | null;
  #webhookKeys: { readonly keys: readonly Uint8Array[]; readonly untilMs: number } | undefined;

  /**
   * @param url the address of the service, such as `https://log.example`
   * @throws TypeError for an address that is none, and for `verify: 'always'` without a kit
   * @throws LogError for a kit that is not well formed
   */
  constructor(url: string, options: ClientOptions = {}) {
    if (options.verify === 'always' && options.kit === undefined) {
      throw new TypeError("verify: 'always' needs a kit, which pins the keys of the logs");
    }
    this.#kit = options.kit;
    this.#verification =
      options.verify === 'always' && options.kit !== undefined
        ? new Verification(options.kit)
        : null;
    this.#sending = {
      base: new URL(url).href.replace(/\/+$/, ''),
      key: options.key,
      // Browsers refuse a fetch that is called as a method of another object.
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      retries: options.retries ?? 4,
      maxWaitMs: options.maxWaitMs ?? 30_000,
      timeoutMs: options.timeoutMs ?? 40_000,
      waitS: options.waitS ?? 0,
    };
    this.#batches = options.batches === 'never' ? null : new Batches(this.#sending);
  }

  /**
   * Any operation of the OpenAPI document.
   *
   * @throws ApiError, ConnectionFailed, Unverified
   */
  async request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    input: Input<M, P> & RequestOptions,
  ): Promise<AnswerOf<M, P>> {
    const { path: parameters, ...rest } = input as InputParts & RequestOptions;
    const sent = { ...rest, method, path: filled(path, parameters) };
    return (await this.#answer(sent, input.verify ?? true)) as AnswerOf<M, P>;
  }

  /**
   * An operation that the OpenAPI document of this package does not have, such as one of a plugin of the operator.
   *
   * @throws ApiError, ConnectionFailed, Unverified
   */
  requestAny(
    method: Method,
    path: string,
    input: { readonly body?: unknown; readonly query?: Query } & RequestOptions = {},
  ): Promise<JsonObject> {
    return this.#answer({ ...input, method, path }, input.verify ?? true);
  }

  /** Classifies a message. The answer is the receipt. */
  classify(
    body: Posts<'/api/v1/classify'>,
    options: CallOptions = {},
  ): Promise<Posted<'/api/v1/classify'>> {
    return this.#post('/api/v1/classify', body, options, aboutClassification);
  }

  /** Asks whether an act may be done. Do it only if `outcome` is PERMIT. */
  gate(
    body: Posts<'/api/v1/execute-gate'>,
    options: CallOptions = {},
  ): Promise<Posted<'/api/v1/execute-gate'>> {
    return this.#post('/api/v1/execute-gate', body, options, aboutDecision);
  }

  /** Binds a payment to an act. */
  bind(
    body: Posts<'/api/v1/bind-payment'>,
    options: CallOptions = {},
  ): Promise<Posted<'/api/v1/bind-payment'>> {
    return this.#post('/api/v1/bind-payment', body, options, aboutBind);
  }

  /** Logs an act that was not done. */
  restraint(
    body: Posts<'/api/v1/restraint'>,
    options: CallOptions = {},
  ): Promise<Posted<'/api/v1/restraint'>> {
    return this.#post('/api/v1/restraint', body, options, aboutRestraint);
  }

  /** Absence documents about surfaces of an entity. The client waits for the end of a window that is not over. */
  witness(
    body: Posts<'/api/v1/absence/witness'>,
    options: CallOptions = {},
  ): Promise<Posted<'/api/v1/absence/witness'>> {
    return this.#post('/api/v1/absence/witness', body, options, aboutWitness);
  }

  /** The answer of `GET /receipt/lookup`; null if the service has no such entry. */
  async lookup(
    entryId: string,
    { log, ...options }: CallOptions & { readonly log?: LogKind } = {},
  ): Promise<AnswerOf<'GET', '/receipt/lookup'> | null> {
    const answer = await this.#lookup(entryId, log, options);
    return answer as AnswerOf<'GET', '/receipt/lookup'> | null;
  }

  /**
   * The receipt with the inclusion proof of its entry, as soon as a published checkpoint covers it.
   *
   * @throws TypeError for a receipt without `entry_id`
   * @throws DOMException `TimeoutError` if no checkpoint covers the entry in `timeoutMs`, 30,000 unless given
   */
  async waitForProof<R extends { readonly entry_id: string }>(
    receipt: R,
    { timeoutMs = 30_000, ...options }: CallOptions & { readonly timeoutMs?: number } = {},
  ): Promise<R & { readonly log: JsonObject }> {
    const given = receipt as unknown as JsonObject; // A receipt is JSON, whatever type the caller gives it.
    const log = given.sandbox === true ? 'sandbox' : undefined;
    const until = Date.now() + timeoutMs;
    for (;;) {
      const answer = objectOf((await this.#lookup(receipt.entry_id, log, options)) ?? {});
      const found = objectOf(answer.receipt);
      const place = placeOf(found, objectOf(answer.proof).tlog_proof);
      if (place !== null) {
        const proven = { ...given, ...found, log: place };
        if (found.entry_hash !== given.entry_hash) {
          throw new Unverified('the service has another entry under this id');
        }
        if (this.#verification?.receipt(proven) === false) {
          throw new Unverified('the proof does not show where the entry is');
        }
        return proven as unknown as R & { readonly log: JsonObject };
      }
      const leftMs = until - Date.now();
      if (leftMs <= 0) {
        const message = `no checkpoint covers the entry ${receipt.entry_id} yet`;
        throw new DOMException(message, 'TimeoutError');
      }
      await pause(Math.min(POLL_MS, leftMs), options.signal);
    }
  }

  /** The newest checkpoint of the newest log of a kind, `live` unless given: a C2SP signed note. */
  async checkpoint({ kind = 'live', ...options }: OfKind = {}): Promise<string> {
    const note = await send(this.#sending, {
      ...options,
      method: 'GET',
      path: `/log/${kind}/checkpoint`,
    });
    await this.#verification?.document({ kind: 'checkpoint', document: note });
    return note;
  }

  /** An entry of the newest log of a kind, with its inclusion proof. */
  async inclusion(
    index: number,
    { kind = 'live', ...options }: OfKind = {},
  ): Promise<AnswerOf<'GET', '/log/{kind}/proof/inclusion'>> {
    const path = `/log/${kind}/proof/inclusion`;
    const document = await this.#object({ ...options, method: 'GET', path, query: { index } });
    if (this.#verification !== null) {
      if (document.index !== index) throw new Unverified('the proof is of another entry');
      await this.#verification.document({ kind: 'inclusion', document });
    }
    return document as AnswerOf<'GET', '/log/{kind}/proof/inclusion'>;
  }

  /**
   * The entries of a chain in a window of log time, page by page. Each page is an absence document: together they prove
   * that no entry is left out.
   */
  async *chain(
    key: readonly [string, ...string[]],
    window: { readonly from_ms: number; readonly to_ms: number },
    { kind = 'live', ...options }: OfKind = {},
  ): AsyncGenerator<AnswerOf<'GET', '/log/{kind}/proof/lookup'>, void, undefined> {
    let after: number | undefined;
    do {
      const query = { key: JSON.stringify(key), ...window, after };
      const path = `/log/${kind}/proof/lookup`;
      const document = await this.#object({ ...options, method: 'GET', path, query });
      const question = { key, ...window, ...(after === undefined ? {} : { after }) };
      await this.#verification?.document({ kind: 'absence', document }, question);
      yield document as AnswerOf<'GET', '/log/{kind}/proof/lookup'>;
      const last = objectsOf(document.entries).at(-1)?.index;
      after = document.more === true && typeof last === 'number' ? last : undefined;
    } while (after !== undefined);
  }

  /**
   * The pages of a list. A page is not signed: if the client verifies, it verifies the receipts in each page, and cannot
   * tell whether the service left out a row.
   */
  async *pages<P extends ListPath>(
    path: P,
    query?: QueryOf<'GET', P>,
    options: CallOptions = {},
  ): AsyncGenerator<AnswerOf<'GET', P>, void, undefined> {
    let cursor: string | undefined;
    do {
      const asked = {
        ...(query as Query | undefined),
        ...(cursor === undefined ? {} : { cursor }),
      };
      const sent = { ...options, method: 'GET' as const, path: path as string, query: asked };
      const page = await this.#answer(sent, true, false);
      yield page as AnswerOf<'GET', P>;
      const { has_more, next_cursor } = page;
      cursor = has_more === true && typeof next_cursor === 'string' ? next_cursor : undefined;
    } while (cursor !== undefined);
  }

  /** The rows of all pages of a list. */
  async *rows<P extends ListPath>(
    path: P,
    query?: QueryOf<'GET', P>,
    options: CallOptions = {},
  ): AsyncGenerator<RowOf<P>, void, undefined> {
    for await (const page of this.pages<P>(path, query, options)) {
      const { data } = page as { readonly data: readonly RowOf<P>[] };
      yield* data;
    }
  }

  /** Webhook messages of the service. */
  readonly webhooks = {
    /**
     * The event in a message that the service signed with its webhook key, or with the `whsec_` secret of the
     * subscription. The keys are those of the pinned kit; without a kit they are fetched from the service.
     *
     * @throws Unverified for any other message, and for one that is older or newer than five minutes
     */
    open: async (
      headers: WebhookMessage['headers'],
      body: WebhookMessage['body'],
      { secret }: { readonly secret?: string } = {},
    ): Promise<JsonObject> => {
      const keys = secret === undefined ? await this.#keysOfWebhooks() : [];
      return openWebhook({ headers, body }, { keys, secret });
    },
  };

  async #keysOfWebhooks(): Promise<readonly Uint8Array[]> {
    if (this.#kit !== undefined) return webhookKeys(this.#kit);
    if (this.#webhookKeys === undefined || Date.now() > this.#webhookKeys.untilMs) {
      const keys = webhookKeys(await this.#object({ method: 'GET', path: '/crypto/jwks.json' }));
      this.#webhookKeys = { keys, untilMs: Date.now() + KEYS_FRESH_MS };
    }
    return this.#webhookKeys.keys;
  }

  async #object(sent: Sent): Promise<JsonObject> {
    return this.#batches?.answer(sent) ?? objectIn(await send(this.#sending, sent));
  }

  /** An answer, verified if the client verifies. `needed`: an answer with nothing to verify is refused. */
  async #answer(sent: Sent, verify: boolean, needed = true): Promise<JsonObject> {
    const answer = await this.#object(sent);
    if (!verify || this.#verification === null) return answer;
    const count = await this.#verification.answer(answer);
    if (count === 0 && needed) {
      throw new Unverified(`the answer of ${sent.path} contains nothing that can be verified`);
    }
    return answer;
  }

  async #post<P extends PathOf<'POST'>>(
    path: P,
    body: Posts<P>,
    options: CallOptions,
    about: AboutRequest,
  ): Promise<Posted<P>> {
    const answer = await this.#answer({ ...options, method: 'POST', path, body }, true);
    if (this.#verification !== null) about(answer, body); // A request body is JSON.
    return answer as Posted<P>;
  }

  async #lookup(
    entry_id: string,
    log: LogKind | undefined,
    options: CallOptions,
  ): Promise<JsonObject | null> {
    const query = { entry_id, log };
    const answer = await this.#object({
      ...options,
      method: 'GET',
      path: '/receipt/lookup',
      query,
    });
    if (answer.found !== true) return null;
    if (this.#verification !== null) {
      await this.#verification.answer(answer);
      const isAsked = objectOf(answer.receipt).entry_id === entry_id;
      if (!isAsked) throw new Unverified('the receipt is of another entry');
    }
    return answer;
  }
}

interface InputParts {
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Query;
  readonly body?: unknown;
}

/** A path of the OpenAPI document with its parameters filled in. */
function filled(path: string, parameters: InputParts['path'] = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = parameters[name];
    if (value === undefined) throw new TypeError(`the path parameter ${name} is missing`);
    return encodeURIComponent(value);
  });
}

/** The member `log` of a receipt with its inclusion proof, its own or that of the accompanying tlog-proof; null without one. */
function placeOf(found: JsonObject, tlogProof: Json | undefined): JsonObject | null {
  const own = objectOf(found.log);
  if (own.inclusion_proof !== undefined) return own;
  if (typeof tlogProof !== 'string') return null;
  try {
    const { index, path, checkpoint } = parseTlogProof(tlogProof);
    const inclusion_proof = path.map((node) => toBase64(node));
    return { origin: found.origin ?? null, index, checkpoint, inclusion_proof };
  } catch (error) {
    if (isLogError(error)) throw new Unverified(error.message);
    throw error;
  }
}
