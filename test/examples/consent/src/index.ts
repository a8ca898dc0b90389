// A consent layer as a separate package: grants, withdrawals, and the proof that a grant was not withdrawn. It has
// what a built-in layer can have: a catalog, a toll, a place in the stack, an error code, a verifier, metrics, a page
// with a script, a command and a job.

import { definePlugin, layerRoutes } from 'actlog/plugin';
import { Type } from 'typebox';
import { consentErrors, grantType, withdrawalType } from './entries.ts';
import { countCommand, reviewJob } from './operate.ts';
import { consentPage } from './page.ts';
import { grantRoute, statusRoute, withdrawalRoute } from './routes.ts';
import { statusVerifier } from './verify.ts';

const CATALOG = {
  schema: 'consent-catalog-v1',
  layer: { id: 'consent', order: 12, role: 'Consent' },
  apis: {
    grant: { method: 'POST', path: '/consent/grants' },
    withdraw: { method: 'POST', path: '/consent/withdrawals' },
    status: { method: 'GET', path: '/consent/grants/{entry_id}/status' },
  },
};

export default definePlugin({
  contract: 2,
  name: 'consent',
  title: 'Consent',
  types: [grantType, withdrawalType],
  errors: consentErrors,
  verifiers: [statusVerifier],
  catalogs: { 'consent.json': CATALOG },
  tolls: { consent_grant: { usd: 0.02, acts: ['POST /consent/grants'] } },
  layer: {
    name: 'Consent',
    role: 'Consent',
    unit: 'toll per grant',
    path: '/consent',
    api: '/consent/catalog',
  },
  setup(host) {
    const review = { at_ms: host.now() };
    return {
      routes: [
        ...layerRoutes({ host, file: 'consent.json', base: '/consent', tag: 'consent' }),
        grantRoute(host),
        withdrawalRoute(host),
        statusRoute(host),
      ],
      pages: [consentPage(host)],
      pageFolder: new URL('../pages/', import.meta.url),
      menu: [{ path: '/consent', name: 'Consent' }],
      commands: [countCommand(host)],
      jobs: [reviewJob(host, review)],
      metrics: {
        members: { consents_in_force: Type.Integer({ description: 'Grants not withdrawn.' }) },
        read: () => ({ consents_in_force: Number(host.log('live').row('in-force') ?? 0) }),
      },
      status: () => [
        {
          id: 'consent_review',
          name: 'Review of consents',
          fault: host.now() - review.at_ms > 2 * 86_400_000 ? 'the review is late' : null,
          vital: false,
        },
      ],
    };
  },
});
