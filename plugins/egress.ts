// What a plugin may ask of other machines: gateway/API.md §11, Egress. The gateway builds it (gateway/egress),
// so that there is one guard for everything that leaves the server.

/** Requests that leave this machine. Neither way follows a redirect. */
export interface Egress {
  /**
   * Why an address that came with a request would never be asked, by what stands in it alone: its scheme,
   * credentials, port, or a literal address that is not public. Null when it may be; what its name resolves
   * to is judged each time that something connects.
   */
  refusal(url: string): string | null;
  /**
   * `fetch` to an address of the operator's configuration, which may be http and private. A redirect is an
   * error, and so is a connection that takes longer than 10 s; the caller sets the time for the rest by
   * `signal`. The answer streams and has no limit of its own. Never for an address that came with a request.
   */
  readonly configured: typeof fetch;
}
