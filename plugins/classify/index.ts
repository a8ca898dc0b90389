// Classification: the main job. A message in, a signed SAFE, VIOLATION, CRISIS or ERROR out. gateway/API.md §6.

import { definePlugin } from '../contract.ts';
import type { PluginHost } from '../contract.ts';
import { classifierOf, ClassifierSettings } from './classifier.ts';
import type { Classifier, Judged } from './classifier.ts';
import { loadEngine } from './engine/index.ts';
import { resultEvents, resultType } from './entries.ts';
import { classifyRoutes } from './routes.ts';
import { judge } from './rules.ts';

export { RESULT, RESULTS } from './entries.ts';
export { countsEver, countsOfLastDay, holds, INVARIANT } from './counts.ts';
export type { Judged } from './classifier.ts';
export { resultDraft } from './rules.ts';

/** What other plugins get from the classifier. */
export interface ClassifyApi {
  /** Classifies a message by the rules of a domain and logs nothing; what cannot be judged is ERROR. */
  judge(message: string, domain: string): Judged | Promise<Judged>;
}

/** The classifier of each gateway's host: `api` and `routes` get the same one. */
const CLASSIFIERS = new WeakMap<PluginHost, Classifier>();

function classifierFor(host: PluginHost): Classifier {
  // Rules and weights are read when a gateway opens, not when the list of plugins is.
  const known =
    CLASSIFIERS.get(host) ?? classifierOf(host.settings, loadEngine(), host.egress.configured);
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
    judge: (message, domain) => judge({ message, domain }, classifierFor(host), host.limits),
  }),
});
