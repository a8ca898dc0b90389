// One POST whose answer nobody reads but for its status: without the streams and signals of a request for everyone,
// which would cost more than the request. undici, Dispatcher.dispatch; gateway/API.md §11.

import type { Dispatcher } from 'undici';

/** An answer as far as anybody here reads one. */
export interface Posted {
  readonly status: number;
  /** The header Retry-After, as it came. */
  readonly retry_after: string | undefined;
}

/** What is posted. */
export interface Posting {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Covers the name, the connection and the answer: who trickles is cut off. */
  readonly timeout_ms: number;
}

/** Resolves at the end of the answer; rejects with a TimeoutError, or with what the connection met. */
export function posted(
  dispatcher: Dispatcher,
  url: string,
  { headers, body, timeout_ms }: Posting,
): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const { origin, pathname, search } = new URL(url);
    let answer: Posted | null = null;
    let controller: Dispatcher.DispatchController | null = null;
    let late: Error | null = null;
    const timer = setTimeout(() => {
      late = new DOMException('the receiver did not answer in time', 'TimeoutError');
      controller?.abort(late);
      reject(late);
    }, timeout_ms);
    dispatcher.dispatch(
      { origin, path: pathname + search, method: 'POST', headers, body },
      {
        onRequestStart(started) {
          controller = started;
          if (late !== null) started.abort(late);
        },
        onResponseStart(_, status, { 'retry-after': retry }) {
          answer = { status, retry_after: typeof retry === 'string' ? retry : undefined };
        },
        onResponseData() {
          // Thrown away.
        },
        onResponseEnd() {
          clearTimeout(timer);
          if (answer !== null) resolve(answer);
        },
        onResponseError(_, error) {
          clearTimeout(timer);
          // The status is the answer; a body beyond the limit costs the connection and nothing else.
          const { code } = error as { code?: string };
          if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' && answer !== null) resolve(answer);
          else reject(error);
        },
      },
    );
  });
}
