// Clearing: every week's governed acts, netted by tenant under one root, and the credits of a window.
// gateway/API.md §10.3.

import { definePlugin } from '../contract.ts';
import type { PluginHost } from '../contract.ts';
import { layerRoutes } from '../layer-routes.ts';
import { carried, carry } from './carry.ts';
import { ClearingSettings, readiness, skuMembers } from './catalog.ts';
import { clearingCommands } from './commands.ts';
import { grantType, slotType } from './entries.ts';
import { clearingRoutes } from './routes.ts';
import { Slots } from './slots.ts';

export { verifySlotProof } from './proof.ts';

/** The slots of each gateway's host: routes and commands see the same ones. */
const SLOTS = new WeakMap<PluginHost, Slots>();

function slotsOf(host: PluginHost): Slots {
  const slots = SLOTS.get(host) ?? new Slots(host);
  SLOTS.set(host, slots);
  return slots;
}

/** The plugin `clearing`. */
export default definePlugin({
  contract: 1,
  name: 'clearing',
  title: 'Clearing',
  requires: ['clear'],
  settings: ClearingSettings,
  types: [slotType, grantType, carried],
  carry,
  routes: (host) => [
    ...layerRoutes({
      host,
      file: 'clearing.json',
      base: '/api/v1/clearing',
      tag: 'clearing',
      current: () => readiness(host),
      currentMembers: skuMembers(host),
    }),
    ...clearingRoutes(host, slotsOf(host)),
  ],
  commands: (host) => clearingCommands(host, slotsOf(host)),
});
