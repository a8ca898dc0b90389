// What the product gets in place of undici: requests to receivers on a simulated network, which delays and loses requests
// and answers.

import { world } from './world.ts';
import type { Latency } from './world.ts';

const NETWORK: Latency = { from_us: 500, to_us: 20_000, slow: 0.03 };

/** A request that reached a receiver. */
export interface Received {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The receivers of a world, and the network to them. */
export class Receivers {
  /** Share of the requests that get lost, and of the answers. */
  loss = 0.15;
  readonly received: Received[] = [];

  /** What becomes of a request: its answer, or null for an error of the connection. */
  take(request: Received): number | null {
    const random = world().random('network');
    if (random.chance(this.loss)) return null;
    if (random.chance(this.loss)) return 503;
    this.received.push(request);
    return random.chance(this.loss) ? null : 200;
  }
}

let receivers = new Receivers();

/** Puts the receivers of another world in their place. */
export function useReceivers(other: Receivers): void {
  receivers = other;
}

interface Dispatched {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Controller {
  abort(reason: Error): void;
}

interface Handler {
  onRequestStart(controller: Controller): void;
  onResponseStart(controller: Controller, status: number, headers: object): void;
  onResponseEnd(controller: Controller, trailers: object): void;
  onResponseError(controller: Controller, error: Error): void;
}

export class Agent {
  dispatch({ origin, path, headers, body }: Dispatched, handler: Handler): boolean {
    let ended = false;
    const controller: Controller = {
      abort(reason) {
        if (ended) return;
        ended = true;
        handler.onResponseError(controller, reason);
      },
    };
    handler.onRequestStart(controller);
    world().after(world().duration(NETWORK), () => {
      if (ended) return;
      ended = true;
      const status = receivers.take({ address: origin + path, headers, body });
      world().trace(() => `${origin}${path} is ${status === null ? 'not reached' : 'answered'}`);
      if (status === null) {
        handler.onResponseError(controller, new Error('the connection was lost'));
        return;
      }
      handler.onResponseStart(controller, status, {});
      handler.onResponseEnd(controller, {});
    });
    return true;
  }

  destroy(): Promise<void> {
    return Promise.resolve();
  }
}

export const buildConnector = () => (): never => {
  throw new Error('the simulated network has no sockets');
};

export const fetch = (): Promise<never> =>
  Promise.reject(new Error('the simulated network has no fetch'));
