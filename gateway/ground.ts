// What the parts of the gateway stand on that the gateway itself is made of, such as webhooks: everything that is open
// before them.

import type { Logger } from 'pino';
import type { Disclosure, Erased, JsonObject, Kind, Log } from '../log/index.ts';
import type { Config } from './config.ts';
import type { OpenEgress } from './egress/egress.ts';
import type { Metrics } from './metrics.ts';
import type { Disclosures } from './tenants/disclosures.ts';

/** The part of a gateway that is there before its webhooks and routes. */
export interface Ground {
  /** Without a slash at the end. */
  readonly base_url: string;
  readonly config: Config;
  readonly disclosures: Disclosures;
  /** Every request to other machines goes through it. */
  readonly egress: OpenEgress;
  readonly logger: Logger;
  readonly metrics: Metrics;
  now(): number;
  /** The receipt of an entry with its derived members; null beyond the log. Disclosures only where given. */
  receipt(
    log: Log,
    index: number,
    disclosures?: Readonly<Record<string, Disclosure | Erased>>,
  ): JsonObject | null;
  /** Every log of a kind that is still served, oldest first, the newest among them. */
  readonly served: Readonly<Record<Kind, readonly Log[]>>;
}
