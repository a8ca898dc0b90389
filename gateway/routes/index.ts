// The gateway's own routes. The router matches in this order, so the frequent reads of the log come first. Start with
// log.ts (tiles and checkpoints), proofs.ts and receipts.ts.

import type { EntryType, Route } from '../../plugins/contract/index.ts';
import { SUCCESSION_TYPES } from '../carry.ts';
import type { Gateway } from '../gateway.ts';
import { erasureType } from '../tenants/erasure.ts';
import { consoleRoutes } from './console.ts';
import { cryptoRoutes } from './crypto.ts';
import { KIT_TYPES } from './kit-document.ts';
import { kitRoutes } from './kit.ts';
import { logRoutes } from './log.ts';
import { pageRoutes, rootFileRoutes, staticRoutes } from './pages.ts';
import { platformRoutes } from './platform.ts';
import { proofRoutes } from './proofs.ts';
import { badgeRoute, proofDownloadRoute, receiptRoutes } from './receipts.ts';
import { subscriptionRoutes } from './subscriptions.ts';

/** The entry types that the gateway itself appends. Every log declares them in addition to those of the plugins. */
export const GATEWAY_TYPES: readonly EntryType[] = [...KIT_TYPES, erasureType, ...SUCCESSION_TYPES];

/** Every route that does not belong to a plugin. */
export function gatewayRoutes(gateway: Gateway): readonly Route[] {
  return [
    ...logRoutes(gateway),
    ...proofRoutes(gateway),
    ...receiptRoutes(gateway),
    proofDownloadRoute(gateway),
    badgeRoute(gateway),
    ...cryptoRoutes(gateway),
    ...kitRoutes(gateway),
    ...platformRoutes(gateway),
    ...subscriptionRoutes(gateway),
    ...consoleRoutes(gateway),
    ...pageRoutes(gateway),
    ...rootFileRoutes(gateway),
    ...staticRoutes(gateway),
  ];
}
