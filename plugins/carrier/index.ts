// The carrier gate: mandates of insured parties, and ALLOW or BLOCK before a policy is bound or renewed, each answer
// signed and logged with what it rests on. gateway/API.md §8.3.

import { definePlugin } from '../contract/index.ts';
import { carried, carry } from './carry.ts';
import { enrollRoute } from './enroll.ts';
import { carrierErrors, decisionType, earlierDecisionType, mandateType } from './entries.ts';
import { checkRoutes } from './routes.ts';
import { mandateVerifier } from './verify.ts';

/** The plugin `carrier`. */
export default definePlugin({
  contract: 2,
  name: 'carrier',
  title: 'Carrier gate',
  requires: ['classify', 'gate'],
  errors: carrierErrors,
  verifiers: [mandateVerifier],
  types: [mandateType, decisionType, earlierDecisionType, carried],
  carry,
  setup: (host) => ({ routes: [enrollRoute(host), ...checkRoutes(host)] }),
});
