// The actuation foundry: readings of the world become an aggregate, an aggregate fires an obligation, and each
// step leaves a receipt. gateway/API.md §10.5 to §10.9.

import { definePlugin } from '../contract/index.ts';
import gate from '../gate/index.ts';
import restraint from '../restraint/index.ts';
import { carried, carry, earlierCarried } from './carry.ts';
import { conformityRoutes, conformityType, earlierConformityType } from './conformity.ts';
import { custodyRoute, custodyType } from './custody.ts';
import { sealType } from './inference/entries.ts';
import { inferenceRoute } from './inference/routes.ts';
import { InferenceSettings } from './inference/upstream.ts';
import { aggregateType, earlierAggregateType, resolutionType } from './oracle/entries.ts';
import { oracleRoutes } from './oracle/routes.ts';
import { earlierPipelineType, pipelineRoute, pipelineType } from './pipeline.ts';
import { catalogRoutes, installedBaseRoute } from './routes.ts';
import {
  earlierTriggerTypes,
  evaluationType,
  isBindHeld,
  noticeType,
  releaseType,
  settlementType,
  triggerEvents,
  triggerType,
} from './trigger/entries.ts';
import { triggerRoutes } from './trigger/routes.ts';
import { foundryErrors } from './entries.ts';

/** The plugin `foundry`. */
export default definePlugin({
  contract: 2,
  name: 'foundry',
  title: 'Actuation foundry',
  requires: ['clear', 'classify', 'compliance', 'restraint', 'gate'],
  settings: InferenceSettings,
  errors: foundryErrors,
  types: [
    aggregateType,
    earlierAggregateType,
    resolutionType,
    triggerType,
    evaluationType,
    settlementType,
    noticeType,
    releaseType,
    ...earlierTriggerTypes,
    custodyType,
    conformityType,
    earlierConformityType,
    sealType,
    pipelineType,
    earlierPipelineType,
    carried,
    earlierCarried,
  ],
  carry,
  events: triggerEvents,
  setup(host) {
    const gateApi = host.use(gate);
    gateApi.holdsBinds(isBindHeld);
    const { givePermit } = gateApi;
    const { seal } = host.use(restraint);
    return {
      routes: [
        ...catalogRoutes(host),
        ...oracleRoutes(host),
        ...triggerRoutes(host, { seal, givePermit }),
        custodyRoute(host),
        ...conformityRoutes(host),
        inferenceRoute(host),
        pipelineRoute(host),
        installedBaseRoute(host),
      ],
    };
  },
});
