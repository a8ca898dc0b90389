// The hook for the client `openai` (6 and 7), and for any other client that takes a `fetch`: each HTTP request to the
// model is anchored before it is sent, and its response at its end. tools/AGENTS.md, OpenAI.

import { sha256 } from '@noble/hashes/sha2.js';
import { toHex } from '../../../../log/verify.ts';
import { Recorder, watched } from './recorder.ts';
import type { HookOptions } from './recorder.ts';

export { Refused } from './recorder.ts';
export type { HookOptions, Recorded } from './recorder.ts';

/** What a client must offer: a copy of itself with other options. */
interface WithOptions {
  withOptions(options: { fetch: typeof fetch }): unknown;
}

/** Settings beside those of all hooks. */
export interface OpenAIOptions extends HookOptions {
  /** The `fetch` that sends to the model; the global one unless given. */
  readonly fetch?: typeof fetch;
}

/** The hook: `openai` wraps a client, `fetch` is what it makes the client use. */
export function actlog(options: OpenAIOptions = {}) {
  const recorder = new Recorder(options);
  const send = options.fetch ?? globalThis.fetch;

  /** A retry of the client is a request of its own. Requests without a body, such as of lists, are not recorded. */
  const recordingFetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.method !== 'POST') return send(input, init);
    const { pathname } = new URL(request.url);
    const id = await recorder.request(pathname, await request.clone().text());
    let response: Response;
    try {
      response = await send(request);
    } catch (error) {
      await recorder.response(pathname, id, 'failed', String(error));
      throw error;
    }
    const digest = sha256.create();
    const ended = (status: 'completed' | 'failed' | 'aborted') =>
      recorder.response(pathname, id, status, { bytes_sha256: toHex(digest.digest()) });
    if (response.body === null) {
      await ended('completed');
      return response;
    }
    const body = watched(response.body, (chunk) => digest.update(chunk), ended);
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };

  return {
    recorder,
    fetch: recordingFetch,
    /** A copy of the client that records. The client itself is unchanged. */
    openai: <C extends WithOptions>(client: C): C =>
      client.withOptions({ fetch: recordingFetch }) as C,
  };
}
