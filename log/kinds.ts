// The two kinds of log. log/FORMAT.md §1.

/** Nothing crosses between them; where something is looked for in both, the live log comes first. */
export const LOG_KINDS = ['live', 'sandbox'] as const;

/** One of the two kinds of log. */
export type Kind = (typeof LOG_KINDS)[number];
