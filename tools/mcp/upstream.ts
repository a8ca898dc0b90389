// The server behind the proxy: a child process that speaks over its standard streams, or an address of streamable HTTP.
// Either takes and gives messages as text and has no time-out of its own.

import { spawn } from 'node:child_process';
import type { JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { isJsonObject, objectOf } from '../../log/verify.ts';
import type { JsonObject } from '../../log/verify.ts';
import { CommandError } from '../command-line.ts';
import { messageOf } from '../clients/typescript/hooks/acts.ts';
import { errorAnswer, idOf, lineWriter, linesOf, revisionOf, RPC } from './messages.ts';

/** What a server tells the proxy. */
export interface UpstreamEvents {
  /** A message of the server. */
  readonly message: (text: string) => void;
  /** The server takes and gives no more messages. Comes once, after the last message. */
  readonly closed: (exit: number) => void;
  readonly log: (line: string) => void;
}

/** A server that is connected. */
export interface Upstream {
  /** Hands a message over; settled when the server, or the system, has it. It never rejects. */
  send(text: string, message: JsonObject | null): Promise<void>;
  /** The client has no more messages: the server is told to end, and is ended if it does not. */
  end(): void;
}

/** How long a child may take to end after its input has, and again after SIGTERM. */
const GRACE_MS = 2_000;

/** Starts a command. It gets the whole environment but the API key, and its standard error is that of the proxy. */
export function commandUpstream(
  [command = '', ...args]: readonly string[],
  { message, closed, log }: UpstreamEvents,
): Upstream {
  const { ACTLOG_KEY: _, ...env } = process.env;
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const write = lineWriter(child.stdin);
  child.stdin.on('error', () => undefined); // the child has ended: `closed` says so
  const read = (async () => {
    for await (const line of linesOf(child.stdout)) message(line);
  })().catch((error: unknown) => {
    log(`the server: ${messageOf(error)}`);
    child.kill();
  });
  child.on('error', (error) => {
    log(`${command} cannot be started: ${error.message}`);
    closed(1);
  });
  child.on('exit', (code, signal) => {
    void read.then(() => {
      if (signal !== null) log(`the server was ended by ${signal}`);
      closed(code ?? 1);
    });
  });
  return {
    send: write,
    end() {
      child.stdin.end();
      const kill = (signal: NodeJS.Signals, next?: () => void): void => {
        setTimeout(() => {
          if (child.exitCode === null && child.signalCode === null) child.kill(signal);
          next?.();
        }, GRACE_MS).unref();
      };
      kill('SIGTERM', () => {
        kill('SIGKILL');
      });
    },
  };
}

/** Connects to an address by streamable HTTP, with the transport of the official SDK. */
export async function httpUpstream(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { message, closed, log }: UpstreamEvents,
): Promise<Upstream> {
  const { StreamableHTTPClientTransport: Transport } = await loadSdk(
    () => import('@modelcontextprotocol/client'),
  );
  const transport: StreamableHTTPClientTransport = new Transport(url, { requestInit: { headers } });
  /** Requests without an answer; those of 2026-07-28 are cancelled by closing their stream. */
  const open = new Map<string, AbortController | null>();
  let handshake: string | undefined;
  const ended = { is: false };
  transport.onmessage = (received) => {
    const answer = received as unknown as JsonObject; // a message of JSON-RPC is JSON
    const id = idOf(answer);
    if (id !== null && answer['method'] === undefined) {
      const key = JSON.stringify(id);
      open.delete(key);
      const { protocolVersion } = objectOf(answer['result']);
      if (key === handshake && typeof protocolVersion === 'string') {
        transport.setProtocolVersion(protocolVersion);
      }
    }
    message(JSON.stringify(answer));
  };
  transport.onerror = (error) => {
    if (!ended.is) log(`the server: ${error.message}`);
  };
  await transport.start();
  return {
    async send(_text, sent) {
      if (sent === null) return;
      const id = idOf(sent);
      const { method, params } = sent;
      const cancelled = objectOf(params)['requestId'];
      if (method === 'notifications/cancelled') {
        const stream = open.get(JSON.stringify(cancelled));
        if (stream !== undefined && stream !== null) {
          stream.abort();
          open.delete(JSON.stringify(cancelled));
          return;
        }
      }
      const isRequest = id !== null && typeof method === 'string';
      const key = JSON.stringify(id);
      if (method === 'initialize') handshake = key;
      const controller = new AbortController();
      if (isRequest) open.set(key, revisionOf(sent) === undefined ? null : controller);
      const fail = (why: string): void => {
        if (!isRequest || !open.delete(key)) return;
        message(errorAnswer(id, RPC.internal, `the server behind the proxy: ${why}`));
      };
      try {
        await transport.send(sent as unknown as JSONRPCMessage, {
          requestSignal: controller.signal,
          onRequestStreamEnd: () => {
            fail('the stream ended before the answer');
          },
        });
      } catch (error) {
        fail(messageOf(error));
      }
    },
    end() {
      ended.is = true;
      const session = transport.sessionId === undefined ? undefined : transport.terminateSession();
      const late = new Promise((resolve) => setTimeout(resolve, GRACE_MS));
      void Promise.race([session, late])
        .catch(() => undefined)
        .then(() => transport.close())
        .then(() => {
          closed(0);
        });
    },
  };
}

/** Loads the SDK of MCP, an optional dependency. */
export async function loadSdk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new CommandError(
      'this needs the SDK of MCP, an optional dependency: npm install actlog without --omit=optional',
    );
  }
}

/** Whether a message of the server is an answer. */
export const isAnswer = (message: unknown): message is JsonObject =>
  isJsonObject(message as JsonObject) &&
  (message as JsonObject)['method'] === undefined &&
  idOf(message as JsonObject) !== null;
