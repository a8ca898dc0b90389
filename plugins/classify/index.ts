// Classification: the main job. A message in, a signed SAFE, VIOLATION, CRISIS or ERROR out. behaviour.md §6.

import { definePlugin } from '../contract.ts';
import type { Kind, PluginHost } from '../contract.ts';
import { classifierOf, ClassifierSettings } from './classifier.ts';
import type { Classifier, Judged } from './classifier.ts';
import { createEngine } from './engine/index.ts';
import { HOURS, hourRow, NO_COUNTS, resultEvents, resultType, TOTALS } from './entries.ts';
import type { Counts } from './entries.ts';
import { classifyRoutes } from './routes.ts';
import { judge } from './rules.ts';

export { RESULT, RESULTS } from './entries.ts';
export type { Counts } from './entries.ts';
export type { Judged } from './classifier.ts';
export { resultDraft } from './rules.ts';

/** What other plugins get from the classifier. */
export interface ClassifyApi {
  /** Counts of a log since its first entry. */
  totals(kind: Kind): Counts;
  /** Counts of the last 24 hours, in whole hours. */
  lastDay(kind: Kind): Promise<Counts>;
  /** Classifies a message by the rules of a domain and logs nothing; what cannot be judged is ERROR. */
  judge(message: string, domain: string): Judged | Promise<Judged>;
}

/** The classifier of each gateway's host: `api` and `routes` get the same one. */
const CLASSIFIERS = new WeakMap<PluginHost, Classifier>();

function classifierFor(host: PluginHost): Classifier {
  // Rules and weights are read when a gateway opens, not when the list of plugins is.
  const known =
    CLASSIFIERS.get(host) ?? classifierOf(host.settings, createEngine(), host.egress.configured);
  CLASSIFIERS.set(host, known);
  return known;
}

/** The plugin `classify`. */
export default definePlugin<ClassifyApi>({
  contract: 1,
  name: 'classify',
  title: 'Classification',
  settings: ClassifierSettings,
  types: [resultType],
  events: [resultEvents],
  routes: (host) => classifyRoutes(host, classifierFor(host)),
  api: (host) => ({
    totals: (kind) => (host.log(kind).row(TOTALS) ?? NO_COUNTS) as unknown as Counts,
    async lastDay(kind) {
      const after = hourRow(host.now() - 24 * 3_600_000);
      const hours = await host.log(kind).rows(HOURS, { after });
      return hours.reduce<Counts>((sum, [, row]) => add(sum, row as unknown as Counts), NO_COUNTS);
    },
    judge: (message, domain) => judge({ message, domain }, classifierFor(host), host.limits),
  }),
});

function add(a: Counts, b: Counts): Counts {
  return {
    attempts: a.attempts + b.attempts,
    safe: a.safe + b.safe,
    violation: a.violation + b.violation,
    crisis: a.crisis + b.crisis,
    error: a.error + b.error,
  };
}
