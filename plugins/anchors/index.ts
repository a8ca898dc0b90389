// Anchors: receipts for documents of other systems, by their digests. gateway/API.md §12.5.

import { definePlugin } from '../contract/index.ts';
import { anchorType } from './entries.ts';
import { anchorRoutes } from './routes.ts';

/** The plugin `anchors`. */
export default definePlugin({
  contract: 2,
  name: 'anchors',
  title: 'Anchors',
  types: [anchorType],
  setup: (host) => ({ routes: anchorRoutes(host) }),
});
