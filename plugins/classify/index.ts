// Classification: the main job. A message in, a signed SAFE, VIOLATION, CRISIS or ERROR out. gateway/API.md §6.

import { definePlugin } from '../contract/index.ts';
import type { Kind } from '../contract/index.ts';
import { classificationMetrics, outcomesComponent } from './counts.ts';
import { classifierOf, ClassifierSettings } from './classifier.ts';
import type { Judged } from './classifier.ts';
import { loadEngine } from './engine/index.ts';
import { resultEvents, resultType } from './entries.ts';
import { closedPatterns } from './patterns.ts';
import type { Pattern, PatternQuery } from './patterns.ts';
import { classifyRoutes } from './routes.ts';
import { judge } from './rules.ts';

export { RESULT, RESULTS } from './entries.ts';
export { patternPlace } from './patterns.ts';
export type { Pattern } from './patterns.ts';
export type { Judged } from './classifier.ts';
export { resultDraft } from './rules.ts';

/** What other plugins get from the classifier. */
export interface ClassifyApi {
  /** Classifies a message by the rules of a domain and logs nothing; what cannot be judged is ERROR. */
  judge(message: string, domain: string): Judged | Promise<Judged>;
  /** How many acts each rule matched in closed weeks, over all tenants and all logs of a kind, in order. */
  patterns(kind: Kind, query: PatternQuery): AsyncIterable<Pattern>;
}

/** The plugin `classify`. */
export default definePlugin<ClassifyApi>({
  contract: 2,
  name: 'classify',
  title: 'Classification',
  settings: ClassifierSettings,
  types: [resultType],
  events: [resultEvents],
  setup(host) {
    // Rules and weights are read when a gateway opens, not when this module is loaded.
    const classifier = classifierOf(host.settings, loadEngine(), host.egress.configured);
    return {
      api: {
        judge: (message, domain) => judge({ message, domain }, classifier, host.limits),
        patterns: (kind, query) => closedPatterns(host.logs(kind), query),
      },
      routes: classifyRoutes(host, classifier),
      status: () => [outcomesComponent(host)],
      metrics: classificationMetrics(host),
    };
  },
});
