// How the scripts of pages ask the service: JSON, and an error with the service's own words.

/** JSON of the service; pages read it by name and show it as text. */
export type Body = Readonly<Record<string, unknown>>;

/** A refusal, in the words of the error envelope. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** What a request may have beside its path. */
export interface Asking {
  readonly body?: Body;
  readonly key?: string;
  /** Seconds to wait for the checkpoint over what is appended. */
  readonly wait?: number;
}

/**
 * Asks; a body makes it a POST.
 *
 * @throws Refused with the message of the service, or with why there was no answer
 */
export async function ask<T = Body>(path: string, asking: Asking = {}): Promise<T> {
  const response = await respond(path, asking);
  const answered = (await response.json().catch(() => null)) as T | null;
  if (answered === null) throw new Refused(response.status, 'The answer is no JSON.');
  return answered;
}

/** The same, for an answer that is text. */
export async function askText(path: string, asking: Asking = {}): Promise<string> {
  return (await respond(path, asking)).text();
}

async function respond(path: string, { body, key, wait }: Asking): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (key !== undefined) headers['x-api-key'] = key;
  if (wait !== undefined) headers['prefer'] = `wait=${String(wait)}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(path, { ...request, headers, cache: 'no-store' }).catch(() => null);
  if (response === null) throw new Refused(0, 'The service cannot be reached.');
  if (!response.ok) throw new Refused(response.status, await reasonOf(response));
  return response;
}

async function reasonOf(response: Response): Promise<string> {
  const answered = (await response.json().catch(() => null)) as {
    readonly error?: { readonly message?: unknown };
  } | null;
  const message = answered?.error?.message;
  return typeof message === 'string' ? message : `The service answered ${String(response.status)}.`;
}

/** A name that no other visit has: 16 characters of a to z and 0 to 9. */
export function freshName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => (byte % 36).toString(36)).join('');
}
