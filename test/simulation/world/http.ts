// What the nodes of a cluster get in place of node:http, and the network between them and to clients. A message has its
// whole body. A request to a process that ends is reset, and one over a cut network hangs until its timeout.

import { EventEmitter } from 'node:events';
import { simulatedClear, simulatedTimeout } from './timers.ts';
import { world } from './world.ts';
import type { Latency, Machine, Process } from './world.ts';

const NETWORK: Latency = { from_us: 150, to_us: 900, slow: 0.01 };

type Headers = Readonly<Record<string, string | undefined>>;

/** A request as the server gets it, or an answer as the client does. */
export class Message extends EventEmitter {
  readonly method: string;
  readonly url: string;
  readonly statusCode: number;
  readonly headers: Headers;
  readonly body: string;
  readonly complete = true;

  constructor(
    head: Partial<Pick<Message, 'method' | 'url' | 'statusCode' | 'headers'>>,
    body: string,
  ) {
    super();
    this.method = head.method ?? 'GET';
    this.url = head.url ?? '/';
    this.statusCode = head.statusCode ?? 0;
    this.headers = head.headers ?? {};
    this.body = body;
  }

  pipe(to: { end(body: string): void }): void {
    to.end(this.body);
  }
}

/** The answer that a server writes. */
export class Response extends EventEmitter {
  writableFinished = false;
  #status = 200;
  readonly #headers: Record<string, string> = {};
  readonly #send: (answer: Message) => void;

  constructor(send: (answer: Message) => void) {
    super();
    this.#send = send;
  }

  setHeader(name: string, value: string): void {
    this.#headers[name.toLowerCase()] = value;
  }

  writeHead(status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.#status = status;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
  }

  writeContinue(): void {
    // The body is there already.
  }

  end(body: string): void {
    if (this.writableFinished) return;
    this.writableFinished = true;
    this.#send(new Message({ statusCode: this.#status, headers: this.#headers }, body));
    this.emit('close');
  }

  /** The client is gone. */
  gone(): void {
    if (!this.writableFinished) this.emit('close');
  }
}

export type Handler = (req: Message, res: Response) => void;

interface Exchange {
  readonly from: Process;
  readonly to: Process;
  readonly res: Response | null;
  reset(): void;
}

/** The network between the nodes. */
export class Network {
  slowness = 1;
  readonly #servers = new Map<string, { readonly process: Process; readonly handler: Handler }>();
  readonly #cut = new Set<Machine>();
  readonly #open = new Set<Exchange>();

  listen(address: string, handler: Handler): void {
    this.#servers.set(address, { process: world().current, handler });
  }

  close(address: string): void {
    if (this.#servers.get(address)?.process === world().current) this.#servers.delete(address);
  }

  /** Cuts a machine off from the other nodes, not from clients. */
  cut(machine: Machine): void {
    this.#cut.add(machine);
  }

  heal(): void {
    this.#cut.clear();
    this.slowness = 1;
  }

  /** Resets what a process that has ended had open. */
  ended(process: Process): void {
    for (const exchange of [...this.#open]) {
      if (exchange.to === process) exchange.reset();
      if (exchange.from === process) {
        this.#open.delete(exchange);
        this.#after(exchange.to, () => exchange.res?.gone());
      }
    }
  }

  /** Sends a request; exactly one of the functions is called, or none while the network is cut. */
  send(
    address: string,
    request: Message,
    answered: (answer: Message) => void,
    failed: (error: Error) => void,
  ): () => void {
    const from = world().current;
    let exchange: Exchange | null = null;
    const done = (): void => {
      if (exchange !== null) this.#open.delete(exchange);
    };
    const refuse = (code: string): void => {
      done();
      this.#after(from, () => failed(Object.assign(new Error(code), { code })));
    };
    const { process, handler } = this.#servers.get(address) ?? {};
    if (process === undefined || handler === undefined || !process.alive) {
      refuse('ECONNREFUSED');
      return done;
    }
    if (this.#parted(from, process)) return done;
    const res = new Response((answer) => {
      if (exchange === null || !this.#open.has(exchange)) return;
      done();
      if (!this.#parted(from, process)) this.#after(from, () => answered(answer));
    });
    exchange = { from, to: process, res, reset: () => refuse('ECONNRESET') };
    this.#open.add(exchange);
    this.#after(process, () => handler(request, res));
    return () => {
      done();
      this.#after(process, () => res.gone());
    };
  }

  #after(process: Process, run: () => void): void {
    const room = world();
    room.after((room.duration(NETWORK) / room.slowness) * this.slowness, run, process);
  }

  /** Clients reach every node. */
  #parted({ machine: a }: Process, { machine: b }: Process): boolean {
    return a !== null && b !== null && (this.#cut.has(a) || this.#cut.has(b));
  }
}

let network = new Network();

export const theNetwork = (): Network => network;

export function useNetwork(other: Network): void {
  network = other;
}

/** The part of http.Agent that the product uses. */
export class Agent {
  readonly keepAlive = true;
}

interface RequestOptions {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly timeout: number;
}

/** The part of http.ClientRequest that the product uses. */
class ClientRequest extends EventEmitter {
  readonly #address: string;
  readonly #options: RequestOptions;
  #abandon: () => void = () => undefined;
  #timer: ReturnType<typeof simulatedTimeout> | null = null;
  #ended = false;

  constructor(address: string, options: RequestOptions) {
    super();
    this.#address = address;
    this.#options = options;
  }

  end(body: string): void {
    const { method, path, headers, timeout } = this.#options;
    this.#timer = simulatedTimeout(() => this.emit('timeout'), timeout);
    this.#abandon = network.send(
      this.#address,
      new Message({ method, url: path, headers }, body),
      (answer) => this.#end(() => this.emit('response', answer)),
      (error) => this.#end(() => this.emit('error', error)),
    );
  }

  /** The headers go with the body, which is there at once. */
  flushHeaders(): void {
    this.emit('flushed');
  }

  destroy(error?: Error): void {
    this.#end(() => {
      this.#abandon();
      if (error !== undefined) this.emit('error', error);
    });
  }

  #end(tell: () => void): void {
    if (this.#ended) return;
    this.#ended = true;
    simulatedClear(this.#timer);
    tell();
    this.emit('close');
  }
}

export const request = (url: URL, options: RequestOptions): ClientRequest =>
  new ClientRequest(url.origin, options);
