// Counts of a plugin that are no entries. CONTRIBUTING.md: what the log cannot rebuild belongs to the gateway.

/**
 * Counts of what is no entry, such as visits: kept by the gateway, durable, never signed, and no function of
 * the log, so that `reindex` leaves them alone. Names are the plugin's own.
 */
export interface Counters {
  /** Adds one. Resolves when that is on disk; a disk that refuses is reported to the operator, never here. */
  add(name: string): Promise<void>;
  /** What was added so far; 0 for a name that nobody counted. */
  get(name: string): number;
}
