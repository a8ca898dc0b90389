// The parts of a running gateway, as its routes and middlewares use them. server.ts builds this value and passes it
// down.

import type { Json, Kind, Log, Register } from '../log/index.ts';
import type { AnyEntryType, Reasons, Route, Sentence } from '../plugins/contract/index.ts';
import type { Uploads } from './tiles/uploads.ts';
import type { ClusterView } from './cluster/cluster.ts';
import type { EventFeed } from './events.ts';
import type { Ground } from './ground.ts';
import type { Problems } from './http/problems.ts';
import type { LoopWatch } from './host/loop-watch.ts';
import type { PluginKeys } from './host/plugin-keys.ts';
import type { CheckedElsewhere } from './host/external-plugins.ts';
import type { Plugged } from './host/plugged.ts';
import type { Counters } from './tenants/counters.ts';
import type { Webhooks } from './webhooks/webhooks.ts';
import type { StaticFiles } from './pages/statics.ts';
import type { Scrub } from './scrub.ts';
import type { SearchIndex } from './search.ts';
import type { Tracing } from './tracing.ts';
import type { Tenants } from './tenants/tenants.ts';
import type { RenderPage } from './pages/views.ts';
import type { WitnessNetwork } from './witnesses/witness-network.ts';

/** One open gateway. */
export interface Gateway extends Ground {
  /** Where the last checkpoints are kept outside the databases. */
  readonly register: Register;
  /** The newest log of each kind: the one that takes entries. */
  readonly logs: Readonly<Record<Kind, Log>>;
  readonly tenants: Tenants;
  /** Keys that plugins sign with. */
  readonly keys: PluginKeys;
  readonly counters: Counters;
  /** The cluster that this node is part of; null for a service of one process. */
  readonly cluster: ClusterView | null;
  /** Null without a witness policy. */
  readonly witnesses: WitnessNetwork | null;
  readonly webhooks: Webhooks;
  /** Where spans of requests go; null without OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly tracing: Tracing | null;
  /** The uploads to an object store; null without TILES_URL. */
  readonly uploads: Uploads | null;
  /** The newest offline verification kit; makes one if there is none. */
  kit(): Promise<{ readonly bytes: Buffer; readonly etag: string }>;
  /** The streams of /api/v1/events. */
  readonly events: EventFeed;
  /** Finds entries by type, entity, outcome and rule. */
  readonly search: SearchIndex;
  /** The results of the scrub. */
  readonly scrub: Scrub;
  /** The files under `/static/`. */
  readonly statics: StaticFiles;
  /** Renders a view of pages/views/ to a whole HTML document. */
  readonly page: RenderPage;
  /** Opens the views of another folder, a plugin's. */
  viewsOf(folder: URL): RenderPage;
  /** The document types that the page /verify does not check. */
  readonly checkedElsewhere: readonly CheckedElsewhere[];
  /** The parts that plugins add. Set before the first request is served. */
  plugged(): Plugged;
  /** Whether a stop has begun. Requests in flight are still answered. */
  stopping(): boolean;
  /** Reports what blocks the event loop. */
  readonly loop: LoopWatch;
  /** Milliseconds since it was opened, on the monotonic clock. */
  uptimeMs(): number;
  /** A document of catalogs/, read once. */
  catalog(path: string): Json;
  /** All declared routes, the gateway's own and the plugins', as the OpenAPI document shows them. */
  routes(): readonly Route[];
  /** The error codes of the gateway and its plugins. */
  readonly problems: Problems;
  /** The entry types that the gateway and its plugins declare in every log. */
  readonly types: readonly AnyEntryType[];
  /** What an entry says, by its statement without disclosures. */
  readonly sentence: Sentence;
  /** Why the outcome of an entry is what it is, in words. */
  readonly reasons: Reasons;
}
