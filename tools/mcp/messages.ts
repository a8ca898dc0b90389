// Messages of MCP as text: JSON-RPC 2.0, one message on a line. What the proxy relays stays the text that it received;
// only `_meta` of a result is added to, and that in place, so that all else arrives byte for byte.

import type { Readable, Writable } from 'node:stream';
import { parseJson, isJsonObject, isLogError } from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';

/** Longest message, bytes. A side that sends more is disconnected. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Nesting of a message from the client, which the proxy has to read as the server will. */
const MAX_DEPTH = 256;
const NEWLINE = 0x0a;

/** Codes of JSON-RPC. */
export const RPC = { parse: -32700, invalid: -32600, internal: -32603 } as const;

/** The id of a request. */
export type RpcId = string | number;

/**
 * The lines of a stream, without their ends. A last line without an end is a message too.
 *
 * @throws Error for a line over 64 MiB, and what the stream fails with
 */
export async function* linesOf(stream: Readable): AsyncGenerator<string, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, from);
      const part = chunk.subarray(from, end === -1 ? chunk.length : end);
      size += part.length;
      if (size > MAX_BYTES) throw new Error(`a message is over ${String(MAX_BYTES)} bytes`);
      parts.push(part);
      if (end === -1) break;
      const line = Buffer.concat(parts).toString('utf8');
      if (line.trim() !== '') yield line;
      [parts, size, from] = [[], 0, end + 1];
    }
  }
  const rest = Buffer.concat(parts).toString('utf8');
  if (rest.trim() !== '') yield rest;
}

/** Writes lines. The promise is settled when the stream takes more, or is closed: then the line is lost. */
export function lineWriter(stream: Writable): (line: string) => Promise<void> {
  return (line) =>
    new Promise((resolve) => {
      if (!stream.writable) {
        resolve();
        return;
      }
      stream.write(`${line}\n`, () => {
        resolve();
      });
    });
}

/** Why a message of the client is refused. */
export interface Unreadable {
  readonly code: number;
  readonly why: string;
}

/** Members that the proxy decides by. Some servers match names without regard to case. */
const DECIDING = new Set(['jsonrpc', 'id', 'method', 'params', 'name', 'arguments', '_meta']);

/**
 * A message of the client. It must have one reading: I-JSON (RFC 7493), and no member that differs from one of JSON-RPC in
 * case alone. Otherwise the server might read another call than the one that the gate was asked about.
 */
export function readMessage(text: string): JsonObject | readonly Json[] | Unreadable {
  let value: Json;
  try {
    value = parseJson(text, { fractions: true, maxDepth: MAX_DEPTH, maxBytes: MAX_BYTES });
  } catch (error) {
    if (!isLogError(error)) throw error;
    return { code: RPC.parse, why: error.message };
  }
  if (Array.isArray(value)) return value as readonly Json[];
  if (!isJsonObject(value)) return { code: RPC.invalid, why: 'a message is an object' };
  const { params } = value;
  for (const part of [value, ...(isJsonObject(params) ? [params] : [])]) {
    const other = Object.keys(part).find(
      (name) => !DECIDING.has(name) && DECIDING.has(name.toLowerCase()),
    );
    if (other !== undefined) {
      return { code: RPC.invalid, why: `the member ${JSON.stringify(other)} has another case` };
    }
  }
  return value;
}

/** Whether `readMessage` refused. */
export const isUnreadable = (read: JsonObject | readonly Json[] | Unreadable): read is Unreadable =>
  'why' in read && 'code' in read && !('jsonrpc' in read);

/** The id of a request or an answer; null if it has none. */
export const idOf = ({ id }: JsonObject): RpcId | null =>
  typeof id === 'string' || typeof id === 'number' ? id : null;

/** The answer that is an error. */
export const errorAnswer = (id: RpcId | null, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });

/** The protocol revision that a request claims (2026-07-28 and later); undefined for one of the 2025 era. */
export function revisionOf({ params }: JsonObject): string | undefined {
  const meta = isJsonObject(params) ? params['_meta'] : undefined;
  const version = isJsonObject(meta) ? meta['io.modelcontextprotocol/protocolVersion'] : undefined;
  return typeof version === 'string' ? version : undefined;
}

/** The text of an answer with more members in `_meta` of its result; unchanged if it has no result object. */
export function withMeta(text: string, added: JsonObject): string {
  const result = memberAt(text, text.indexOf('{'), 'result');
  if (result === null || text[result] !== '{') return text;
  const members = JSON.stringify(added).slice(1, -1);
  const meta = memberAt(text, result, '_meta');
  if (meta === null) return spliced(text, result, `"_meta":{${members}}`);
  return text[meta] === '{' ? spliced(text, meta, members) : text;
}

/** Puts members first into the object that begins at `at`. */
function spliced(text: string, at: number, members: string): string {
  const isEmpty = /^\{\s*\}/.test(text.slice(at, at + 1024));
  return `${text.slice(0, at + 1)}${members}${isEmpty ? '' : ','}${text.slice(at + 1)}`;
}

/** Where the value of a member of the object at `at` begins, in a text that is JSON; the last of several. Null without. */
function memberAt(text: string, at: number, name: string): number | null {
  let depth = 0;
  let found: number | null = null;
  for (let i = at; i < text.length; i += 1) {
    const char = text[i];
    if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth === 0) break;
    } else if (char === '"') {
      const from = i;
      for (i += 1; text[i] !== '"' && i < text.length; i += 1) if (text[i] === '\\') i += 1;
      if (depth !== 1 || JSON.parse(text.slice(from, i + 1)) !== name) continue;
      const value = /^\s*:\s*/.exec(text.slice(i + 1, i + 1024));
      if (value !== null) found = i + 1 + value[0].length;
    }
  }
  return found;
}
