// RR-1: an act that cannot be undone needs a receipt. The standard, this service's manifest, an act of its own
// that keeps it, and what its conformance checks have shown. What services of others mount is middleware.ts.
// gateway/API.md §8.2.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import type { PluginHost } from '../contract/index.ts';
import gate from '../gate/index.ts';
import type { Challenger } from '../gate/index.ts';
import { actRoute } from './act.ts';
import { challengeHeaders, requiredOf, STANDARD_PATH } from './challenge.ts';
import { conformanceRoutes } from './conformance.ts';
import { documentRoutes } from './documents.ts';
import { actType, runType } from './entries.ts';

/** Acts that a tenant's policy wants a receipt for are challenged in the same words. */
function gateChallenger(host: PluginHost): Challenger {
  return ({ action_type, action_hash, preimage, origin, issuers, refused }) => {
    const challenge = {
      action: { action_type, action_hash, canonical_action: preimage },
      issuers: [{ origin, tenants: issuers }],
      gate: host.url('/api/v1/execute-gate'),
      learn_more: host.url(STANDARD_PATH),
      ...(refused === undefined ? {} : { refused }),
    };
    return { headers: challengeHeaders(challenge), required: requiredOf(challenge) };
  };
}

/** The plugin `require-receipt`. */
export default definePlugin({
  contract: 2,
  name: 'require-receipt',
  title: 'Receipt required (RR-1)',
  requires: ['gate'],
  types: [actType, runType],
  setup(host) {
    host.use(gate).challenges(gateChallenger(host));
    return {
      pageFolder: new URL('./pages/', import.meta.url),
      routes: [
        ...layerRoutes({
          host,
          file: 'require-receipt.json',
          base: '/api/v1/require-receipt',
          tag: 'require-receipt',
        }),
        ...documentRoutes(host),
        actRoute(host),
        ...conformanceRoutes(host),
      ],
    };
  },
});
