// What one request carries from middleware to middleware: `ctx.state`.

import type { IncomingMessage } from 'node:http';
import type { ParameterizedContext } from 'koa';
import type { Draft } from '../../log/index.ts';
import type { Caller, GroupOptions, LogView, RouteState } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import type { AnsweredEntries, RequestSpan } from '../tracing.ts';
import { base62 } from '../tenants/base62.ts';
import type { CompiledRoute } from './dispatch.ts';
import type { IdempotencyClaim } from './idempotency-store.ts';

/** The Koa context of the gateway's own middleware. */
export type RequestContext = ParameterizedContext<RequestState>;

/** The next middleware. */
export type Next = () => Promise<unknown>;

/** One line of a batch as a request: its number, its text, and the Idempotency-Key that it names. */
export interface Line {
  /** From 1, counting empty lines. */
  readonly number: number;
  readonly bytes: Buffer;
  readonly first: boolean;
  idempotency_key: string | undefined;
}

const NOTHING = Object.freeze({});

/** The state of a request; each field is set by the middleware that its comment names. */
export abstract class RequestState implements RouteState {
  readonly request_id = `req_${base62(24)}`;
  readonly started = performance.now();
  readonly gateway: Gateway;
  /** match */
  matched: CompiledRoute | null = null;
  params: unknown = NOTHING;
  /** forward: the address of the client, as the node of the cluster that forwarded the request states it. */
  client_ip: string | null = null;
  /** forward: the span of a request that is passed on to the leader, if traces are on. */
  span: RequestSpan | null = null;
  /** authenticate */
  caller!: Caller;
  may_append = true;
  /** query, body */
  query: unknown = NOTHING;
  body: unknown = NOTHING;
  /** Length of the body in bytes. */
  body_bytes = 0;
  /** prefer: whether unknown members are ignored, and those that were. */
  lenient = false;
  ignored: string[] = [];
  /** prefer: how long an append waits for its checkpoint; 0 is not at all. */
  wait_ms = 0;
  /** batch: the line that is this request; null for a request of its own. */
  line: Line | null = null;
  /** idempotency */
  claim: IdempotencyClaim | null = null;
  /** answer: the entries that the request was answered with. */
  answered: AnsweredEntries | null = null;
  /** Set by the first append, to detect a second one. */
  appended = false;

  constructor(gateway: Gateway) {
    this.gateway = gateway;
  }

  abstract append(drafts: readonly Draft[], options?: GroupOptions): Promise<void>;
  abstract answerWith(indexes: readonly number[], log?: Pick<LogView, 'number'>): Promise<void>;
  abstract holds(bytes: () => number): void;
}

/**
 * The number of times that a request has a header, whose name is given in lower case. Node keeps the first of several
 * and drops the others without an error.
 */
export function headerCount({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i];
    if (given?.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count;
}
