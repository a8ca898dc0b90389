// Bounds what answers hold in memory while their clients do not read (SEND_BUFFER_BYTES).
//
// A client that stops reading occupies the memory of its answers: bytes that Node could not hand to the socket, answers
// of requests that it pipelined, and what a handler keeps for an answer that streams. SEND_TIMEOUT_MS ends one such
// client. If many of them together exceed the limit before that time, they are closed here, those that hold most first.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that are unanswered at a time. Clients that pipeline send a few. */
const MAX_PIPELINED = 32;

/** Bytes that a handler keeps for a streamed answer, in addition to those of its socket. */
const held = new WeakMap<ServerResponse, () => number>();

/** Counts what a handler keeps for an answer. */
export function holdFor(res: ServerResponse, bytes: () => number): void {
  held.set(res, bytes);
}

interface Connection {
  readonly answers: Set<ServerResponse>;
  /** Bytes that the system had taken at the last sweep. */
  taken: number;
}

/** The answers of a server that are not sent yet. */
export class SendBuffers {
  readonly #limit: number;
  readonly #open = new Map<Socket, Connection>();

  /** `limit`: bytes of all connections together. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts an answer until it is sent, or its connection is gone. */
  add({ socket }: IncomingMessage, res: ServerResponse): void {
    const connection = this.#open.get(socket) ?? this.#opened(socket);
    connection.answers.add(res);
    res.once('close', () => connection.answers.delete(res));
    if (connection.answers.size > MAX_PIPELINED) socket.destroy();
  }

  /** A pipelined answer may get no event when its connection ends. */
  #opened(socket: Socket): Connection {
    const connection = { answers: new Set<ServerResponse>(), taken: -1 };
    this.#open.set(socket, connection);
    socket.once('close', () => this.#open.delete(socket));
    return connection;
  }

  /** Bytes that wait for clients to read. */
  bytes(): number {
    return [...this.#open.values()].reduce((sum, { answers }) => sum + bytesOf(answers), 0);
  }

  /** Ends connections that took nothing since the last sweep, the fullest first, while all are over the limit. */
  sweep(): void {
    let total = 0;
    const stalled: { readonly socket: Socket; readonly bytes: number }[] = [];
    for (const [socket, connection] of this.#open) {
      const bytes = bytesOf(connection.answers);
      total += bytes;
      const taken = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength > 0 && taken === connection.taken) stalled.push({ socket, bytes });
      connection.taken = taken;
    }
    stalled.sort((a, b) => b.bytes - a.bytes);
    for (const { socket, bytes } of stalled) {
      if (total <= this.#limit) return;
      socket.destroy();
      total -= bytes;
    }
  }
}

/** Of the answers of one connection, the first of which counts what is in the socket. */
function bytesOf(answers: ReadonlySet<ServerResponse>): number {
  let bytes = 0;
  for (const res of answers) bytes += res.writableLength + (held.get(res)?.() ?? 0);
  return bytes;
}
