// Silence receipts: proof that a monitored session said nothing more, as far as the log saw. gateway/API.md §7.8.

import { definePlugin } from '../contract/index.ts';
import { silenceType } from './entries.ts';
import { silenceRoutes } from './routes.ts';

export { sessionState } from './rules.ts';

/** The plugin `silence`. */
export default definePlugin({
  contract: 2,
  name: 'silence',
  title: 'Silence receipts',
  types: [silenceType],
  setup: (host) => ({ routes: silenceRoutes(host) }),
});
