// GET /signal/patterns.json: how often each rule of the classifier matched, over all tenants.

import { Identifier, kindOf, listRoute, LogName, WEEK } from 'actlog/plugin';
import type { Kind, PluginHost, Route } from 'actlog/plugin';
import { Type } from 'typebox';

/** What this layer uses of the plugin `classify`. */
export interface Patterns {
  patterns(
    kind: Kind,
    query: { readonly week?: string | undefined; readonly after?: string | undefined },
  ): AsyncIterable<Pattern>;
}

interface Pattern {
  readonly week: string;
  readonly domain: string;
  readonly rule_id: string;
  readonly acts: number;
}

/** A smaller count could disclose the acts of one tenant or one person. */
const MINIMUM_ACTS = 10;

const SCHEMA = 'svc-signal-patterns-v1';

const Week = Type.String({ pattern: WEEK, description: 'An ISO 8601 week of UTC, `YYYY-Www`.' });
const Domain = Type.String({ ...Identifier, description: 'A domain of the classifier.' });
const Rule = Type.String({ ...Identifier, description: 'A rule of the classifier.' });
const Acts = Type.Integer({ minimum: MINIMUM_ACTS, description: 'Classifications it matched in.' });

/** The route of the feed. */
export function patternsRoute(host: PluginHost, classify: Patterns): Route {
  const query = {
    log: LogName,
    week: Type.Optional(Week),
    domain: Type.Optional(Domain),
    rule: Type.Optional(Rule),
  };
  return listRoute<Pattern, typeof query>(host, {
    ...{ path: '/signal/patterns.json', tag: 'signal', access: 'read', query },
    summary: 'Rules that matched in classifications, by week and domain, over all tenants',
    description: 'Sums of closed weeks, oldest first; a sum below 10 is not shown.',
    row: Type.Object({ week: Week, domain: Domain, rule_id: Rule, acts: Acts }),
    members: { schema: Type.Literal(SCHEMA), minimum_acts: Type.Literal(MINIMUM_ACTS) },
    $id: 'PatternFeed',
    grows: true,
    places: '^[0-9]{4}-W[0-9]{2}/[^/]+/[^/]+$',
    placeOf: ({ week, domain, rule_id }) => `${week}/${domain}/${rule_id}`,
    async find({ query: { log, week, domain, rule }, caller }, { after, limit }) {
      const found: Pattern[] = [];
      for await (const one of classify.patterns(kindOf(log, caller), { week, after })) {
        const asked =
          (domain ?? one.domain) === one.domain && (rule ?? one.rule_id) === one.rule_id;
        if (asked && one.acts >= MINIMUM_ACTS) found.push(one);
        if (found.length === limit) break;
      }
      return found;
    },
    shown: (one) => ({ ...one }),
    beside: () => ({ schema: SCHEMA, minimum_acts: MINIMUM_ACTS }),
  });
}
