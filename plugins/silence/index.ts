// Silence receipts: proof that a session has had no further entry up to a time, and whether heartbeats show that it was
// monitored. gateway/API.md §7.8.

import { definePlugin } from '../contract/index.ts';
import { earlierSilenceType, silenceType } from './entries.ts';
import { silenceRoutes } from './routes.ts';

export { sessionState } from './rules.ts';

/** The plugin `silence`. */
export default definePlugin({
  contract: 2,
  name: 'silence',
  title: 'Silence receipts',
  types: [silenceType, earlierSilenceType],
  setup: (host) => ({ routes: silenceRoutes(host) }),
});
