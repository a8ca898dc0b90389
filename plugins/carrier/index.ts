// The carrier gate: mandates of insured parties, and checks that answer ALLOW or BLOCK before a policy is bound or
// renewed. Each decision is logged together with the entries that it depends on. gateway/API.md §8.3.
//
// entries.ts, mandates.ts and findings.ts have the entry types and their rows; rules.ts and deciding.ts make a
// decision; enroll.ts, mandate-routes.ts, routes.ts and resolve.ts have the routes; verify.ts checks a bundle offline.

import { definePlugin } from '../contract/index.ts';
import type { ConsolePanel } from '../contract/index.ts';
import { carried, carry, earlierCarried } from './carry.ts';
import { enrollRoute } from './enroll.ts';
import {
  acceptanceType,
  carrierErrors,
  decisionType,
  earlierTypes,
  endType,
  mandateType,
  renewalType,
  resolutionType,
} from './entries.ts';
import { mandateRoutes } from './mandate-routes.ts';
import { MandateSettings } from './overage.ts';
import { resolveRoute } from './resolve.ts';
import { checkRoutes } from './routes.ts';
import { mandateVerifier } from './verify.ts';

/** The mandates of a carrier, or of an insured. */
const MANDATES: ConsolePanel = {
  id: 'mandates',
  title: 'Mandates',
  list: '/carrier/v1/insured',
  empty: 'No mandate is known to this key.',
  heading: 'slug',
  receipt: 'mandate_id',
  facts: [
    { name: 'State', member: 'state' },
    { name: 'Accepted', member: 'accepted' },
    { name: 'Actions', member: 'actions' },
    { name: 'Limit, USD', member: 'limit_usd' },
    { name: 'Valid until', member: 'valid_until_ms' },
  ],
};

/** The plugin `carrier`. */
export default definePlugin({
  contract: 2,
  name: 'carrier',
  title: 'Carrier gate',
  requires: ['classify', 'gate'],
  errors: carrierErrors,
  verifiers: [mandateVerifier],
  types: [
    ...[mandateType, renewalType, acceptanceType, endType],
    ...[decisionType, resolutionType, carried, earlierCarried, ...earlierTypes],
  ],
  settings: MandateSettings,
  carry,
  setup: (host) => ({
    routes: [enrollRoute(host), ...mandateRoutes(host), ...checkRoutes(host), resolveRoute(host)],
    console: [MANDATES],
  }),
});
