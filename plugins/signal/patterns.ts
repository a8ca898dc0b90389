// GET /signal/patterns.json: which rules of the classifier matched how often, over all tenants. gateway/API.md §6.6.

import { Type } from 'typebox';
import { Identifier, kindOf, listRoute, LogName, WEEK } from '../contract/index.ts';
import type { PluginHost, Route } from '../contract/index.ts';
import { patternPlace } from '../classify/index.ts';
import type { ClassifyApi, Pattern } from '../classify/index.ts';

/** A smaller count could tell what one tenant or one person did. */
const MINIMUM_ACTS = 10;

const SCHEMA = 'svc-signal-patterns-v1';

const Week = Type.String({ pattern: WEEK, description: 'An ISO 8601 week of UTC, `YYYY-Www`.' });
const Domain = Type.String({ ...Identifier, description: 'A domain of the classifier.' });
const Rule = Type.String({ ...Identifier, description: 'A rule of the classifier.' });

const Row = Type.Object({
  week: Week,
  domain: Domain,
  rule_id: Rule,
  acts: Type.Integer({
    minimum: MINIMUM_ACTS,
    description: 'Classifications in which the rule matched, each counted once.',
  }),
});

/** The route of the feed. */
export function patternsRoute(host: PluginHost, classify: Pick<ClassifyApi, 'patterns'>): Route {
  const query = {
    log: LogName,
    week: Type.Optional(Week),
    domain: Type.Optional(Domain),
    rule: Type.Optional(Rule),
  };
  return listRoute<Pattern, typeof query>(host, {
    ...{ path: '/signal/patterns.json', tag: 'signal', access: 'read', query, $id: 'PatternFeed' },
    summary: 'Rules that matched in classifications, by week and domain, over all tenants',
    description:
      'Sums over all tenants and all logs of the kind, oldest week first. A week appears when it is over, and its ' +
      `sums are final. A sum below ${String(MINIMUM_ACTS)} is not shown.`,
    row: Row,
    members: { schema: Type.Literal(SCHEMA), minimum_acts: Type.Literal(MINIMUM_ACTS) },
    grows: true,
    places: '^[0-9]{4}-W[0-9]{2}/[^/]+/[^/]+$',
    placeOf: patternPlace,
    async find({ query: { log, week, domain, rule }, caller }, { after, limit }) {
      const found: Pattern[] = [];
      for await (const one of classify.patterns(kindOf(log, caller), { week, after })) {
        if (one.acts < MINIMUM_ACTS) continue;
        if (domain !== undefined && one.domain !== domain) continue;
        if (rule !== undefined && one.rule_id !== rule) continue;
        found.push(one);
        if (found.length === limit) break;
      }
      return found;
    },
    shown: (one) => ({ ...one }),
    beside: () => ({ schema: SCHEMA, minimum_acts: MINIMUM_ACTS }),
  });
}
