// What judges a message: the embedded engine, or a hosted model where CLASSIFIER_URL names one.
// gateway/API.md §6.2, §6.3. Neither throws; a failure is ERROR, never SAFE.

import { Type } from 'typebox';
import type { JsonObject } from '../contract/index.ts';
import { createAdapter } from './engine/adapter.ts';
import type { Classified, Engine } from './engine/index.ts';

/** A verdict and what made it, as the statement names it. */
export interface Judged {
  readonly result: Classified;
  readonly classifier: JsonObject;
}

/** Judges a text by the rules of a domain. */
export type Classifier = (text: string, domain: string) => Judged | Promise<Judged>;

/** A name that an entry may hold as plain text (log/FORMAT.md §2). */
const NAME = '^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$';

/** Settings of the plugin; their values are texts, as the environment has them. */
export const ClassifierSettings = Type.Object({
  CLASSIFIER_URL: Type.Optional(
    Type.String({
      title: 'http(s) address',
      pattern: '^https?://',
      description:
        'OpenAI-compatible moderation (…/moderations) or chat endpoint that judges in place of the embedded classifier.',
    }),
  ),
  CLASSIFIER_MODEL: Type.Optional(
    Type.String({
      title: 'name',
      pattern: NAME,
      default: 'omni-moderation-latest',
      description: 'Model that is requested from the endpoint; each statement names it.',
    }),
  ),
  CLASSIFIER_API_KEY: Type.Optional(
    Type.String({ writeOnly: true, description: 'Bearer token for the endpoint; never logged.' }),
  ),
  CLASSIFIER_TIMEOUT_MS: Type.Optional(
    Type.Integer({
      minimum: 10,
      maximum: 600_000,
      default: 10_000,
      description: 'How long the endpoint may take; after that the result is ERROR.',
    }),
  ),
});

/** The classifier that the settings ask for. */
export function classifierOf(
  settings: Readonly<Record<string, unknown>>,
  engine: Engine,
  ask: typeof fetch,
): Classifier {
  const url = settings['CLASSIFIER_URL'] as string | undefined;
  return url === undefined ? embedded(engine) : hosted(settings, url, engine.domains, ask);
}

function embedded(engine: Engine): Classifier {
  const { id, version, weights_sha256 } = engine;
  const classifier = { id, version, weights_sha256 };
  return (text, domain) => ({ result: engine.classify(text, domain), classifier });
}

function hosted(
  settings: Readonly<Record<string, unknown>>,
  url: string,
  domains: readonly string[],
  fetch: typeof globalThis.fetch,
): Classifier {
  const model = settings['CLASSIFIER_MODEL'] as string;
  const apiKey = settings['CLASSIFIER_API_KEY'] as string | undefined;
  const ask = createAdapter({
    url,
    model,
    timeoutMs: settings['CLASSIFIER_TIMEOUT_MS'] as number,
    fetch,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  const name = new RegExp(NAME, 'u');
  return async (text, domain) => {
    const { model: answered, ...result } = await ask(text, domain);
    // The name that the model gives itself is more exact than the configured one, if an entry may hold it.
    const version = name.test(answered) ? answered : model;
    const classifier = { id: 'openai-compatible', version };
    // A domain of the caller's own making is no catalog's: it stays a commitment.
    const known = domains.includes(domain) ? domain : 'general';
    return { result: { ...result, domain: known }, classifier };
  };
}
