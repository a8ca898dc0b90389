// OpenTelemetry in: an OTLP/HTTP receiver that logs the GenAI spans of a tenant. gateway/API.md §12.6.

import { definePlugin } from '../contract/index.ts';
import { spanType } from './entries.ts';
import { OtlpSettings, tracesRoute } from './routes.ts';

/** The plugin `otlp`. */
export default definePlugin({
  contract: 2,
  name: 'otlp',
  title: 'OpenTelemetry spans',
  settings: OtlpSettings,
  types: [spanType],
  setup: (host) => ({ routes: [tracesRoute(host)] }),
});
