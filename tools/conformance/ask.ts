// The service under test, over HTTP: one polite request at a time, everything it says bounded and hostile.

import { CommandError, EXIT } from '../command-line.ts';
import { isJsonObject, parseJson } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';

/** An answer, read whole. */
export interface Told {
  readonly status: number;
  readonly headers: Headers;
  /** The body; undefined where it is not JSON. */
  readonly json: Json | undefined;
}

const TIMEOUT_MS = 60_000;
const MAX_BYTES = 1024 * 1024;

/** What is asked. */
export interface Asking {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

/**
 * One request, no redirects.
 *
 * @throws CommandError (exit 2) if there is no answer, since then nothing can be checked
 */
export async function ask(url: URL, { method, headers = {}, body }: Asking): Promise<Told> {
  const failed = (reason: string): CommandError =>
    new CommandError(`${url.href} cannot be asked: ${reason}`, EXIT.unknown);
  const chunks: Uint8Array[] = [];
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > MAX_BYTES) throw new Error(`the answer is over ${String(MAX_BYTES)} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw failed(reasonOf(error));
  }
  const { status, headers: told } = response;
  return { status, headers: told, json: jsonOf(Buffer.concat(chunks)) };
}

/** The value as an object; an empty one where it is none. */
export const objectOr = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

function jsonOf(bytes: Uint8Array): Json | undefined {
  try {
    return parseJson(bytes, { fractions: true, maxDepth: 32 });
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  // undici hides what happened in the cause.
  return error.cause instanceof Error && error.cause.message !== ''
    ? error.cause.message
    : error.message;
}
