// The proxy: relays messages between a client and a server of MCP as they are, and asks the gate about each
// `tools/call` before the server gets it. Read messages.ts for what a message is, gatekeeper.ts for what the service is
// told, surfaces.ts for declarations and heartbeats, and upstream.ts for the server's side.
//
// The proxy is no party of the protocol: it keeps no capabilities, sets no time-out, and passes on what it does not know.
// Beside the relayed messages it sends one request of its own, `tools/list`, whose answers the client does not see.

import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { isJsonObject, objectOf, objectsOf } from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';
import { messageOf } from '../clients/typescript/hooks/acts.ts';
import type { UsedPermit } from '../clients/typescript/hooks/acts.ts';
import type { Gatekeeper, Outcome } from './gatekeeper.ts';
import { META } from './gatekeeper.ts';
import {
  errorAnswer,
  idOf,
  isUnreadable,
  lineWriter,
  linesOf,
  readMessage,
  revisionOf,
  RPC,
  withMeta,
} from './messages.ts';
import type { RpcId } from './messages.ts';
import type { Surfaces } from './surfaces.ts';
import { isAnswer } from './upstream.ts';
import type { Upstream, UpstreamEvents } from './upstream.ts';

/** Calls that the gate is asked about at a time; the proxy reads no further message beyond it. */
const MAX_ASKED = 256;
/** Pages of the tool list that are read. */
const MAX_PAGES = 100;
/** How long the end of the proxy waits for entries. */
const FLUSH_MS = 5_000;
const OWN_IDS = 'actlog-proxy:';

/** A call on its way. */
interface Pending {
  readonly id: RpcId;
  readonly asking: AbortController;
  /** What the result is logged with; null for a call that was forwarded without a permit; undefined while it is asked. */
  sent?: { readonly permit: UsedPermit | null; readonly meta: JsonObject };
}

/** The two sides, and who decides. */
export interface ProxyOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly connect: (events: UpstreamEvents) => Upstream | Promise<Upstream>;
  readonly gatekeeper: Gatekeeper;
  readonly surfaces: (tools: () => Promise<readonly string[] | null>) => Surfaces;
  readonly log: (line: string) => void;
}

/** Relays until either side ends. Returns the exit code of the server. */
export class McpProxy {
  readonly #options: ProxyOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #own = new Map<string, (answer: JsonObject | null) => void>();
  readonly #asked = new Set<Promise<void>>();
  readonly #ending = new Set<Promise<void>>();
  readonly #write: (text: string) => Promise<void>;
  readonly #surfaces: Surfaces;
  #upstream: Upstream | undefined;
  /** Of a client of 2026-07-28: what each of its requests says of itself. */
  #envelope: JsonObject | undefined;
  #isClosed = false;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#write = lineWriter(options.output);
    this.#surfaces = options.surfaces(() => this.#listTools());
  }

  /** The surfaces of the server's tools. */
  get surfaces(): Surfaces {
    return this.#surfaces;
  }

  async run(): Promise<number> {
    const { input, connect, gatekeeper, log } = this.#options;
    let close: (exit: number) => void = () => undefined;
    const closed = new Promise<number>((resolve) => (close = resolve));
    const message = (text: string): void => {
      this.#fromServer(text);
    };
    const upstream = await connect({ message, closed: close, log });
    this.#upstream = upstream;
    const reading = (async () => {
      for await (const line of linesOf(input)) await this.#fromClient(line);
    })()
      .catch((error: unknown) => {
        const { code } = error as NodeJS.ErrnoException; // A signal destroys the input.
        if (!this.#isClosed && code !== 'ERR_STREAM_PREMATURE_CLOSE') {
          log(`the client: ${messageOf(error)}`);
        }
      })
      .then(async () => {
        await Promise.all(this.#asked);
        upstream.end();
      });
    const exit = await closed;
    this.#isClosed = true;
    this.#surfaces.close();
    for (const answered of this.#own.values()) answered(null);
    for (const pending of this.#pending.values()) {
      pending.asking.abort();
      this.#end(pending, { status: 'unknown' }, async () => {
        await this.#write(
          errorAnswer(pending.id, RPC.internal, 'the server ended; whether it acted is unknown'),
        );
      });
    }
    input.destroy();
    await reading;
    await Promise.all(this.#ending);
    await gatekeeper.close(FLUSH_MS);
    return exit;
  }

  async #fromClient(text: string): Promise<void> {
    const read = readMessage(text);
    if (isUnreadable(read)) {
      await this.#write(errorAnswer(null, read.code, `the proxy refuses a message: ${read.why}`));
      return;
    }
    if (Array.isArray(read)) {
      await this.#batch(text, read as readonly Json[]);
      return;
    }
    const message = read as JsonObject;
    const { method, params } = message;
    if (method === 'tools/call') {
      await this.#call(text, message);
      return;
    }
    if (revisionOf(message) !== undefined) this.#envelope ??= envelopeOf(message);
    if (method === 'notifications/cancelled') {
      const pending = this.#pending.get(JSON.stringify(objectOf(params)['requestId']));
      if (pending !== undefined && pending.sent === undefined) {
        pending.asking.abort();
        return;
      }
    }
    await this.#upstream?.send(text, message);
    if (method === 'notifications/initialized') this.#declareSoon();
  }

  /** A batch, which only the revision 2025-03-26 has, is relayed if no tool is called in it. */
  async #batch(text: string, batch: readonly Json[]): Promise<void> {
    const calls = batch.filter((one) => objectOf(one)['method'] === 'tools/call');
    if (calls.length === 0) {
      await this.#upstream?.send(text, null);
      return;
    }
    const why = 'the proxy takes no batch with a tools/call: send its messages one by one';
    for (const id of batch.map((one) => idOf(objectOf(one)))) {
      if (id !== null) await this.#write(errorAnswer(id, RPC.invalid, why));
    }
  }

  async #call(text: string, message: JsonObject): Promise<void> {
    const id = idOf(message);
    const params = objectOf(message['params']);
    const { name } = params;
    if (id === null) {
      this.#options.log('dropped a tools/call without an id');
      return;
    }
    const key = JSON.stringify(id);
    if (typeof name !== 'string' || name === '' || this.#pending.has(key)) {
      const why = typeof name === 'string' ? 'the id is in use' : 'a call names its tool';
      await this.#write(errorAnswer(id, RPC.invalid, `the proxy refuses a call: ${why}`));
      return;
    }
    if (revisionOf(message) !== undefined) this.#envelope ??= envelopeOf(message);
    const pending: Pending = { id, asking: new AbortController() };
    this.#pending.set(key, pending);
    const asked = this.#decide(text, message, name, pending)
      .catch(() => {
        this.#pending.delete(key); // cancelled
      })
      .finally(() => this.#asked.delete(asked));
    this.#asked.add(asked);
    if (this.#asked.size >= MAX_ASKED) await Promise.race(this.#asked);
  }

  async #decide(text: string, message: JsonObject, tool: string, pending: Pending): Promise<void> {
    const { gatekeeper } = this.#options;
    const { signal } = pending.asking;
    const params = objectOf(message['params']);
    const decision = await gatekeeper.ask({ tool, params }, signal);
    if (decision.kind === 'refused') {
      this.#pending.delete(JSON.stringify(pending.id));
      const result = {
        ...(revisionOf(message) === undefined ? {} : { resultType: 'complete' }),
        content: [{ type: 'text', text: decision.text }],
        isError: true,
        _meta: decision.meta,
      };
      await this.#write(JSON.stringify({ jsonrpc: '2.0', id: pending.id, result }));
      return;
    }
    const permit = decision.kind === 'permitted' ? decision.permit : null;
    if (signal.aborted) {
      // Cancelled, or the server ended, before it got the call: the permit is used, and the act was not done.
      if (permit !== null) await gatekeeper.ended(permit, { status: 'failed' });
      signal.throwIfAborted();
    }
    pending.sent = { permit, meta: decision.meta };
    await this.#upstream?.send(text, message);
  }

  #fromServer(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.#options.log('the server wrote a line that is no message');
    }
    if (isAnswer(message)) {
      const key = JSON.stringify(message['id']);
      const own = this.#own.get(key);
      if (own !== undefined) {
        this.#own.delete(key);
        own(message);
        return;
      }
      const pending = this.#pending.get(key);
      if (pending?.sent !== undefined) {
        this.#answered(text, message, pending, pending.sent.meta);
        return;
      }
    }
    const { method } = isJsonObject(message as Json) ? (message as JsonObject) : {};
    if (method === 'notifications/tools/list_changed') this.#surfaces.changed();
    void this.#write(text);
  }

  #answered(text: string, message: JsonObject, pending: Pending, meta: JsonObject): void {
    const { result, error } = message;
    const { isError, resultType } = objectOf(result);
    const status =
      result === undefined || isError === true
        ? 'failed'
        : resultType === 'input_required'
          ? 'continued'
          : 'completed';
    this.#end(pending, { status, result: result ?? error }, async (result_id) => {
      const { [META.call]: call, ...rest } = meta;
      const shown = { ...objectOf(call), result_entry_id: result_id };
      await this.#write(withMeta(text, { ...rest, [META.call]: shown }));
    });
  }

  /** Logs how a call ended, and then answers it. */
  #end(
    pending: Pending,
    outcome: Outcome,
    answer: (result_id: string | null) => Promise<void>,
  ): void {
    this.#pending.delete(JSON.stringify(pending.id));
    const { sent } = pending;
    if (sent === undefined) return;
    const { gatekeeper, log } = this.#options;
    const ending = (async () => {
      await answer(sent.permit === null ? null : await gatekeeper.ended(sent.permit, outcome));
    })()
      .catch((error: unknown) => {
        log(messageOf(error));
      })
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #declareSoon(): void {
    this.#surfaces.declare().catch((error: unknown) => {
      this.#options.log(`the tools are not declared yet: ${messageOf(error)}`);
    });
  }

  /** The names of the server's tools, of all pages; null if it does not say. */
  async #listTools(): Promise<readonly string[] | null> {
    const names: string[] = [];
    let cursor: Json | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = {
        ...(cursor === undefined ? {} : { cursor }),
        ...(this.#envelope === undefined ? {} : { _meta: this.#envelope }),
      };
      const answer = await this.#request('tools/list', params);
      const result = answer?.['result'];
      if (!isJsonObject(result)) return null;
      for (const { name } of objectsOf(result['tools']))
        if (typeof name === 'string') names.push(name);
      cursor = result['nextCursor'];
      if (typeof cursor !== 'string') break;
    }
    return names;
  }

  /** A request of the proxy itself; null if the server ends first. */
  #request(method: string, params: JsonObject): Promise<JsonObject | null> {
    if (this.#isClosed) return Promise.resolve(null);
    const id = `${OWN_IDS}${randomUUID()}`;
    const message = { jsonrpc: '2.0', id, method, params };
    return new Promise((resolve) => {
      this.#own.set(JSON.stringify(id), resolve);
      void this.#upstream?.send(JSON.stringify(message), message);
    });
  }
}

/** What a request of 2026-07-28 must say of itself, for requests of the proxy. */
function envelopeOf({ params }: JsonObject): JsonObject {
  const meta = objectOf(objectOf(params)['_meta']);
  const names = ['protocolVersion', 'clientCapabilities', 'clientInfo'];
  return Object.fromEntries(
    names.flatMap((name) => {
      const key = `io.modelcontextprotocol/${name}`;
      const value = meta[key];
      return value === undefined ? [] : [[key, value]];
    }),
  );
}
