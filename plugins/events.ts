// How entries become events, which webhooks carry to whoever waits for them: gateway/API.md §11.

import type { JsonObject } from '../log/index.ts';

/**
 * What entries of one type are to the outside. The event of an entry goes to the subscriptions of its tenant that
 * name its type; when the entry has a `trigger_id`, also to those of that trigger, in the order of the entries;
 * and when it commits to a `webhook_url`, to that address. An event shows the receipt as the world sees it.
 */
export interface EventRule {
  /** One of the plugin's entry types. */
  readonly entry: string;
  /** All that `eventOf` may answer with: words of `a-z0-9_`, dots between them. */
  readonly events: readonly string[];
  /** The event that an entry is, by its statement alone; null when it is none. */
  eventOf(statement: JsonObject): string | null;
}
