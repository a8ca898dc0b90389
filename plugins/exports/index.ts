// Exports: entries as AgentInteractionRecords (air/), registration of signed statements and COSE receipts (scitt/,
// receipts.ts), and the verifier of the exports (verify.ts). gateway/API.md §12.3, §12.4.

import { Type } from 'typebox';
import { definePlugin } from '../contract/index.ts';
import type { PluginHost } from '../contract/index.ts';
import { airRoutes } from './air/routes.ts';
import { AirChains } from './air/chains.ts';
import type { AirMapping } from './air/mapping.ts';
import type { AirService } from './air/session.ts';
import { carried, carry, issuerType, statementType } from './entries.ts';
import { exportVectors } from './kit-vectors.ts';
import { Receipts } from './receipts.ts';
import { entriesRoutes, keyRoutes } from './scitt/routes.ts';
import { issuerRoute } from './scitt/issuers.ts';
import { airSessionVerifier, airVerifier } from './verify.ts';

export { chainHash } from './air/record.ts';
export { airRecord } from './air/mapping.ts';
export type { AirMapping } from './air/mapping.ts';
export { sessionBatch, sessionChain } from './air/session.ts';

/** The dependencies of exports; benchmarks make their own. */
export function airService(host: PluginHost): AirService {
  const mapping = host.catalog('air.json') as unknown as AirMapping;
  const jurisdiction = (host.settings['AIR_JURISDICTION'] ??
    mapping.jurisdiction_unknown) as string;
  const chains = new AirChains(mapping, ({ kind }) => {
    const [{ kid }] = host.signers(kind, 'air');
    return { operator_pubkey_id: kid, jurisdiction };
  });
  return { host, chains, receipts: new Receipts(host) };
}

/** The plugin `exports`. */
export default definePlugin({
  contract: 2,
  name: 'exports',
  title: 'Exports',
  settings: Type.Object({
    AIR_JURISDICTION: Type.Optional(
      Type.String({
        title: 'country code',
        pattern: '^[A-Z]{2}$',
        description:
          'Jurisdiction in AIR exports, ISO 3166-1 alpha-2. The default is `ZZ` (unknown).',
      }),
    ),
    COSE_RECEIPT_ALG: Type.Union([Type.Literal('ES256'), Type.Literal('Ed25519')], {
      default: 'ES256',
      description:
        'Algorithm of new COSE receipts: `ES256` (−7), which every COSE library reads, or `Ed25519` (−19, RFC 9864). ' +
        'After a change the start makes a new key.',
    }),
  }),
  keys: [
    { name: 'air', algorithm: 'ES256', jwks: true, cose: true },
    { name: 'cose', algorithm: 'ES256', algorithm_setting: 'COSE_RECEIPT_ALG', jwks: false },
  ],
  verifiers: [airVerifier, airSessionVerifier],
  types: [issuerType, statementType, carried],
  carry,
  setup(host) {
    const service = airService(host);
    return {
      routes: [
        ...airRoutes(service),
        issuerRoute(),
        ...entriesRoutes(host, service.receipts),
        ...keyRoutes(host, service.receipts),
      ],
      kitVectors: (kind, index) => exportVectors(service, host.log(kind), index),
    };
  },
});
