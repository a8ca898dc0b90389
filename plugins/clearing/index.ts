// Clearing: every week's governed acts, netted by tenant under one root, and the credits of a window.
// gateway/API.md §10.3.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { carried, carry } from './ledger.ts';
import { ClearingSettings, closeJob, grantCommand, readiness, skuMembers } from './commands.ts';
import { grantType, slotType } from './entries.ts';
import { clearingRoutes } from './routes.ts';
import { Slots } from './slots.ts';
import { clearingVerifier } from './verify.ts';

/** The plugin `clearing`. */
export default definePlugin({
  contract: 2,
  name: 'clearing',
  title: 'Clearing',
  requires: ['clear'],
  settings: ClearingSettings,
  verifiers: [clearingVerifier],
  types: [slotType, grantType, carried],
  carry,
  setup(host) {
    const slots = new Slots(host);
    return {
      routes: [
        ...layerRoutes({
          host,
          file: 'clearing.json',
          base: '/api/v1/clearing',
          tag: 'clearing',
          current: () => readiness(host),
          currentMembers: skuMembers(host),
        }),
        ...clearingRoutes(host, slots),
      ],
      commands: [grantCommand(host)],
      jobs: [closeJob(host, slots)],
    };
  },
});
