// The routes of obligations, and the feed of what was armed and what fired. gateway/API.md §10.6, §16.

import { Type } from 'typebox';
import { monthOf, monthRow, tierOf, usageOf } from '../../clear/index.ts';
import {
  answeredEntry,
  decimalText,
  EntryId,
  exact,
  feedRoute,
  Identifier,
  Millis,
} from '../../contract/index.ts';
import type { JsonObject, LogView, PluginHost, Route } from '../../contract/index.ts';
import { foundryCatalog } from '../catalog.ts';
import { ConditionMembers, EVENTS } from './entries.ts';
import { fireRoute, settlementShown, SettlementShown } from './fire.ts';
import type { ClearRate } from './fire.ts';
import { releaseRoute } from './effects.ts';
import type { EffectApis } from './effects.ts';
import { ObligationSurface, publishRoute, surfaceOf } from './publish.ts';

const Event = Type.Object(
  {
    event: Type.Enum(['trigger.armed', 'trigger.fired']),
    origin: Type.String(),
    index: Type.Integer({ minimum: 0 }),
    entry_id: EntryId,
    issued_at_ms: Millis,
    trigger_id: EntryId,
    template_id: Identifier,
    state: Type.Enum(['ARMED', 'FIRED']),
    condition: ConditionMembers,
    obligation_surface: Type.Optional(ObligationSurface),
    settlement: Type.Optional(SettlementShown),
    permalink: Type.String({ format: 'uri' }),
  },
  { $id: 'TriggerEvent' },
);

/** The route of the feed. */
function triggerFeedRoute(host: PluginHost): Route {
  return feedRoute(host, {
    ...{ path: '/signal/trigger/feed.json', tag: 'foundry' },
    summary: 'Triggers that were armed and that fired, oldest first',
    description: 'Append-only: a page that was full stays as it is.',
    ...{ schema: foundryCatalog(host).schema, $id: 'TriggerFeed', row: Event },
    former: { data: 'events' },
    async indexes(log, limit, after) {
      const start = after === undefined ? {} : { after: EVENTS + String(after).padStart(16, '0') };
      const rows = await log.rows(EVENTS, { ...start, limit });
      return rows.map(([key]) => Number(key.slice(EVENTS.length)));
    },
    shown: eventOf,
  });
}

function eventOf(log: LogView, index: number): JsonObject {
  const entry = answeredEntry(log, index);
  const { statement, entry_id, issued_at_ms, receipt } = entry;
  const { trigger_id = '', template_id = '', state = '', condition = {} } = statement;
  const armed = state === 'ARMED';
  return {
    event: armed ? 'trigger.armed' : 'trigger.fired',
    ...{ origin: log.origin, index, entry_id, issued_at_ms },
    ...{ trigger_id, template_id, state, condition },
    ...(armed
      ? { obligation_surface: surfaceOf(statement) }
      : { settlement: settlementShown(entry) }),
    permalink: receipt.permalink,
  };
}

/** Publish, fire, release, feed. */
export function triggerRoutes(host: PluginHost, apis: EffectApis): readonly Route[] {
  return [
    publishRoute(host),
    fireRoute(host, clearRate, apis),
    releaseRoute(host),
    triggerFeedRoute(host),
  ];
}

/** The rate of the tier that the tenant's month falls in with this exposure, at the settlement's own place. */
export const clearRate: ClearRate = (rows, tenant_ref, at_ms, exposure) => {
  const month = usageOf(rows.get(monthRow(monthOf(at_ms), tenant_ref)));
  const { milli_bps } = tierOf(BigInt(month.cleared_micro_usd) + exposure);
  return decimalText((exact('1') * BigInt(milli_bps)) / 1000n);
};
