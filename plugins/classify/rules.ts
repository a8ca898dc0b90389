// From a request and the engine's verdict to what is logged. gateway/API.md §1.2, §4.1, §6.2.

import { ApiError, isDeclared } from '../contract/index.ts';
import type { Caller, Draft, Egress, Json, JsonObject, Limits } from '../contract/index.ts';
import type { Classifier, Judged } from './classifier.ts';
import { RESULT } from './entries.ts';

/** The domain of a request that names none (interface: classify request). */
export const DEFAULT_DOMAIN = 'hiring';

/** A classify request after its schema. */
interface ClassifyRequest {
  readonly message: string;
  readonly domain?: string;
  readonly session_id?: string;
  readonly webhook_url?: string;
  readonly entity?: string | undefined;
  readonly surface?: string;
  readonly event_at_ms?: number;
}

/** Asks the classifier, which says ERROR to what it does not read; it never sees what is over the limit. */
export function judge(
  { message, domain = DEFAULT_DOMAIN }: ClassifyRequest,
  classifier: Classifier,
  limits: Limits,
): Judged | Promise<Judged> {
  const overLong =
    message.length * 3 > limits.message_bytes && Buffer.byteLength(message) > limits.message_bytes;
  const judged = classifier(overLong ? '' : message, domain);
  return judged instanceof Promise ? judged.then(withReason) : withReason(judged);
}

/** Names the model of the domain where a VIOLATION or CRISIS rests on its score alone, and no rule is named. */
function withReason(judged: Judged): Judged {
  const { classification, domain, rule_ids } = judged.result;
  const isFinding = classification === 'VIOLATION' || classification === 'CRISIS';
  if (!isFinding || rule_ids.length > 0) return judged;
  return { ...judged, result: { ...judged.result, rule_ids: [`${domain}.model`] } };
}

/** A classification, ready to be appended. ERROR judged nothing, so it is not charged. */
export function resultDraft(
  request: ClassifyRequest,
  caller: Caller,
  { result, classifier }: Judged,
  toll: Required<Draft>['toll'],
): Draft {
  const { message, entity, surface, session_id, webhook_url, event_at_ms } = request;
  const given = request.domain ?? DEFAULT_DOMAIN;
  const members: JsonObject = {
    classification: result.classification,
    classifier,
    domain: result.domain,
    score_milli: result.score_milli,
    violation_milli: result.violation_milli,
    crisis_milli: result.crisis_milli,
    rule_ids: result.rule_ids,
    language_unsupported: result.language_unsupported,
    ...(session_id === undefined ? {} : { session_ref: caller.sessionRef(session_id) }),
    ...(entity === undefined ? {} : { entity }),
  };
  const hidden: Record<string, Json> = { message };
  // A name that no catalog lists is the caller's own text.
  if (given !== result.domain) hidden['domain'] = given;
  if (webhook_url !== undefined) hidden['webhook_url'] = webhook_url;
  if (result.classification !== 'SAFE') hidden['explanation'] = result.explain;
  return {
    type: RESULT,
    members:
      entity === undefined || surface === undefined
        ? members
        : ({ surfaces, issued_at_ms }) => ({
            ...members,
            surface,
            surface_declared: isDeclared(surfaces, entity, surface, issued_at_ms),
          }),
    private: hidden,
    ...(result.classification === 'ERROR' ? {} : { toll }),
    ...(event_at_ms === undefined ? {} : { event_at_ms }),
  };
}

/** An address that the server may post to; 400 `invalid_webhook_url` for any other. */
export function checkWebhookUrl(url: string, egress: Pick<Egress, 'refusal'>): void {
  const refusal = egress.refusal(url);
  if (refusal === null) return;
  throw new ApiError('invalid_webhook_url', `webhook_url ${refusal}`, { param: 'webhook_url' });
}
