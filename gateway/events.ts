// Server-sent events: what is logged for a tenant, as it is published. One reader for each log serves all streams, and
// none runs without a stream. gateway/API.md §11.1; WHATWG HTML §9.2.

import { Readable } from 'node:stream';
import type { Kind, Log } from '../log/index.ts';
import { ApiError } from '../plugins/contract/index.ts';
import type { Caller, Sentence } from '../plugins/contract/index.ts';
import { outcomeOf, statementAt } from './search.ts';

/** Streams of one tenant in one kind of log, and of the service. */
const MAX_OF_TENANT = 8;
const MAX_STREAMS = 500;
/** A comment at this interval keeps proxies from closing an idle stream. */
const ALIVE_MS = 15_000;
/** Entries of a publication that are looked at; a client that must not miss one reads /api/v1/receipts. */
const MAX_ENTRIES = 1000;
/** A client that lets so many bytes wait is not reading, and its stream ends. */
const MAX_WAITING = 256 * 1024;

interface Stream {
  readonly tenant: string;
  readonly tenant_ref: string;
  readonly kind: Kind;
  readonly body: Readable;
}

/** The streams of a gateway. */
export class EventFeed {
  readonly #sentence: Sentence;
  readonly #streams = new Set<Stream>();
  readonly #seen = new Map<Log, number>();
  readonly #listeners: readonly (() => void)[];
  readonly #alive: NodeJS.Timeout;
  #closed = false;

  constructor(logs: readonly Log[], sentence: Sentence) {
    this.#sentence = sentence;
    for (const log of logs) this.#seen.set(log, log.published().size);
    this.#listeners = logs.map((log) => log.onPublished(() => this.#published(log)));
    this.#alive = setInterval(() => {
      for (const stream of this.#streams) this.#send(stream, ': alive\n\n');
    }, ALIVE_MS);
    this.#alive.unref();
  }

  /** The number of open streams. */
  get open(): number {
    return this.#streams.size;
  }

  /**
   * A stream of the caller's entries from now on.
   *
   * @throws ApiError `rate_limited` beyond the limits, `not_ready` while the service stops
   */
  stream({ tenant, tenant_ref, kind }: Caller): Readable {
    if (this.#closed) throw new ApiError('not_ready', 'the service is stopping');
    const own = [...this.#streams].filter((one) => one.tenant === tenant && one.kind === kind);
    if (own.length >= MAX_OF_TENANT || this.#streams.size >= MAX_STREAMS) {
      const message = `this tenant has ${String(own.length)} streams of events already`;
      throw new ApiError('rate_limited', message, { headers: { 'Retry-After': '15' } });
    }
    const body = new Readable({ read: () => undefined });
    const stream: Stream = { tenant, tenant_ref, kind, body };
    body.once('close', () => this.#streams.delete(stream));
    this.#streams.add(stream);
    body.push('retry: 3000\n\n: open\n\n');
    return body;
  }

  /** Ends every stream. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#alive);
    for (const stop of this.#listeners) stop();
    for (const { body } of this.#streams) body.push(null);
  }

  #published(log: Log): void {
    const { size, published_at_ms } = log.published();
    const begin = Math.max(this.#seen.get(log) ?? 0, size - MAX_ENTRIES);
    this.#seen.set(log, size);
    const streams = [...this.#streams].filter(({ kind }) => kind === log.kind);
    if (streams.length === 0) return;
    for (let index = begin; index < size; index += 1) this.#entry(log, index, streams);
    const checkpoint = JSON.stringify({ origin: log.origin, size, published_at_ms });
    for (const stream of streams) this.#send(stream, `event: checkpoint\ndata: ${checkpoint}\n\n`);
  }

  #entry(log: Log, index: number, streams: readonly Stream[]): void {
    const statement = statementAt(log, index);
    const to = streams.filter(({ tenant_ref }) => tenant_ref === statement['tenant_ref']);
    if (to.length === 0) return;
    const { type, entry_id, issued_at_ms } = statement;
    const data = JSON.stringify({
      ...{ index, entry_id, type, issued_at_ms },
      ...{ outcome: outcomeOf(statement), sentence: this.#sentence(statement) },
    });
    for (const stream of to)
      this.#send(stream, `event: entry\nid: ${String(index)}\ndata: ${data}\n\n`);
  }

  #send({ body }: Stream, text: string): void {
    body.push(text);
    if (body.readableLength > MAX_WAITING) body.destroy();
  }
}
