// Clearing: nets the governed acts of each week by tenant under one Merkle root, keeps prepaid credits, and makes
// monthly invoices. gateway/API.md §10.3, §10.10.
//
// ledger.ts has the rows that each act changes; slots.ts and proof.ts net and prove a week; invoice.ts makes an
// invoice; commands.ts closes weeks and grants credits; verify.ts checks proofs and invoices offline.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { carried, carry } from './ledger.ts';
import { ClearingSettings, closeJob, grantCommand, readiness, skuMembers } from './commands.ts';
import { grantType, invoiceType, slotType } from './entries.ts';
import { Invoices } from './invoice.ts';
import { invoiceRoutes } from './invoice-routes.ts';
import { clearingRoutes } from './routes.ts';
import { Slots } from './slots.ts';
import { clearingVerifier, invoiceVerifier } from './verify.ts';

/** The plugin `clearing`. */
export default definePlugin({
  contract: 2,
  name: 'clearing',
  title: 'Clearing',
  requires: ['clear'],
  settings: ClearingSettings,
  verifiers: [clearingVerifier, invoiceVerifier],
  types: [slotType, grantType, invoiceType, carried],
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
        ...invoiceRoutes(host, new Invoices(host, slots)),
      ],
      pageFolder: new URL('./pages/', import.meta.url),
      commands: [grantCommand(host)],
      jobs: [closeJob(host, slots)],
    };
  },
});
