// One polite GET of a text: a time limit, a size limit, the status looked at.

import { CommandError, EXIT, isCommandError } from './command-line.ts';

const TIMEOUT_MS = 30_000;

/** Longest offline kit that is fetched or read, bytes: as much as the verifier takes. */
export const MAX_KIT_BYTES = 4 * 1024 * 1024;

/**
 * The body of a 200 answer, at most `maxBytes` of it.
 *
 * @throws CommandError (exit 2) for anything else: what was not fetched proves nothing
 */
export async function fetchText(url: URL, maxBytes: number): Promise<string> {
  const failed = (reason: string): CommandError =>
    new CommandError(`${url.href} cannot be read: ${reason}`, EXIT.unknown);
  let response: Response;
  try {
    response = await fetch(url, {
      headers: { accept: 'application/json, text/plain;q=0.9' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    throw failed(reasonOf(error));
  }
  if (response.status !== 200) throw failed(`HTTP ${String(response.status)}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > maxBytes) throw failed(`it is over ${String(maxBytes)} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw isCommandError(error) ? error : failed(reasonOf(error));
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** undici hides what happened in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return error.cause instanceof Error ? error.cause.message || codeOf(error.cause) : error.message;
}

const codeOf = (error: Error): string => (error as { code?: string }).code ?? error.name;
