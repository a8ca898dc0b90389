// /consent: how many consents are in force, and a script that looks one up.

import { pageRoute } from 'actlog/plugin';
import type { PluginHost, Route } from 'actlog/plugin';

export const consentPage = (host: PluginHost): Route =>
  pageRoute({ path: '/consent', summary: 'Consents' }, () =>
    host.page('consents', {
      title: 'Consent',
      here: '/consent',
      scripts: ['consents.js'],
      in_force: Number(host.log('live').row('in-force') ?? 0),
    }),
  );
