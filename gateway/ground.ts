// The parts of a gateway that are open before its webhooks and routes, which are built on them.

import type { Logger } from 'pino';
import type { Disclosure, Erased, JsonObject, Kind, Log } from '../log/index.ts';
import type { Config } from './config.ts';
import type { OpenEgress } from './egress/egress.ts';
import type { Metrics } from './metrics.ts';
import type { Disclosures } from './tenants/disclosures.ts';

/** The parts of a gateway that exist before its webhooks and routes. */
export interface Ground {
  /** Without a slash at the end. */
  readonly base_url: string;
  readonly config: Config;
  readonly disclosures: Disclosures;
  /** The guard for every outgoing request. */
  readonly egress: OpenEgress;
  readonly logger: Logger;
  readonly metrics: Metrics;
  now(): number;
  /**
   * The receipt of an entry with its derived members; null beyond the log. It has disclosures only if the caller passes
   * them.
   */
  receipt(
    log: Log,
    index: number,
    disclosures?: Readonly<Record<string, Disclosure | Erased>>,
  ): JsonObject | null;
  /** Every log of a kind that is still served, oldest first, the newest among them. */
  readonly served: Readonly<Record<Kind, readonly Log[]>>;
}
