// A statement of every entry type that the product writes, each with its sentence.

import type { JsonObject } from '../../log/index.ts';

const HASH = 'ab'.repeat(32);
const ID = '0192f5a0-0000-7000-8000-000000000001';
export const TENANT = 'AAAAAAAAAAAAAAAAAAAAAA';
const SESSION = 'A'.repeat(43);
/** 2026-01-31T08:30:00Z. */
const MS = 1_769_848_200_000;
const HOUR_MS = 3_600_000;
const OF = { entity: 'acme', surface: 'policy_bind' };
export const SUBJECT = {
  subject_key: ['surface', 'acme', 'policy_bind'],
  from_ms: MS,
  to_ms: MS + HOUR_MS,
};
const CONDITION = { metric: 'loss_ratio', comparator: 'gte', threshold: '0.9', consecutive: 1 };
const OBSERVED = {
  condition: CONDITION,
  trigger_id: ID,
  basis: 'reading',
  value: '7',
  observed_at_ms: MS,
  evaluated_at_ms: MS,
};
const RESTS = { rests_on: { log_number: 1, index: 7 } };
/** The abbreviation of a hash in sentences. */
const SHORT = `${HASH.slice(0, 31)}…`;
const RESULT = {
  ...{ classifier: { id: 'actlog-classify', version: '1' }, domain: 'general', score_milli: 900 },
  ...{ violation_milli: 900, crisis_milli: 0, rule_ids: [], language_unsupported: false },
};
const DECISION = { action_ref: HASH, timestamp_ms: MS, basis: 'policy', policy_version: 3 };
const POLICY = {
  ...{ rules: [{ id: 'no-wires', effect: 'deny' }], policy_version: 3, policy_sha256: HASH },
};
const SILENCE = {
  ...{ subject_key: ['session', SESSION], window_from_ms: MS, window_to_ms: MS + HOUR_MS },
  ...{ entries_in_window: 2, last_index: 4, silent_since_ms: MS, checkpoint_size: 9 },
  ...{ coverage: 'NO_WINDOW', heartbeats: null, document_sha256: HASH, does_not_assert: [] },
};
const TWIN = {
  ...{ payment_hash: HASH, payment_hash_form: 'hex', payment_hash_source: 'payment_hash' },
  ...{ action_ref: HASH, action_ref_verified: true, settlement_action_ref: `sha256:${HASH}` },
  ...{ timestamp_ms: MS, preimage_defaulted: [], seq: 0, terminal: true, contested: false },
  ...{ decision_source: 'entry_id', settlement_status: 'claimed' },
};
const MANDATE = {
  ...{ mandate_id: ID, slug_ref: HASH, subject_key: ['entity', 'acme'], valid_from_ms: MS },
  ...{ valid_until_ms: MS + HOUR_MS, terms_version: 1, terms_sha256: HASH, checkpoint_size: 9 },
};
const COUNTED = { mandates_in_year: 3, mandates_included: 1000 };
const { slug_ref: _slug_ref, subject_key: _subject_key, ...TERM } = MANDATE;
const RENEWAL = { ...TERM, ...COUNTED };
const CARRIER = {
  ...{ action: 'bind', asked_by: 'bind_check', slug_ref: HASH, terms_version: 1 },
  ...{ rests_on: [], checkpoint_size: 9 },
};
const DOCUMENT = {
  ...{ subject_key: ['session', SESSION], entries: 4, to_ms: MS },
  ...{ sealed_at_ms: MS, document_sha256: HASH },
};
const CHECKS = {
  ...{ manifest_valid: 'passed', challenge_on_missing: 'passed', runs_on_valid: 'passed' },
  ...{ replay_refused: 'passed', forged_refused: 'passed' },
};
const SLOT = {
  ...{ cycle: 'weekly', week: '2026-W05', from_ms: MS, to_ms: MS, root: HASH, tenants: 2 },
  ...{ acts: 12, sum_tolls_micro_usd: '1', sum_credits_micro_usd: '2', sum_fees_micro_usd: '0' },
  ...{ sum_cleared_micro_usd: '0', sum_net_micro_usd: '-1500000' },
  ...{ checkpoint_size: 9, checkpoint_root: HASH },
};
const RESTRAINT = {
  ...{ action_ref: HASH, decision_id: ID, verdict: 'denied', timestamp_ms: MS },
  ...{ reason_code: 'decision_outcome_not_allow', restraint_receipt_ref: HASH },
  ...{ deontic_modality: 'FORBIDDEN', strength: 'asserted', does_not_assert: [] },
};
const CCR = {
  ...{ basis: 'replay', subject_entry_id: ID, subject_type: 'classify.result.v1' },
  ...{ original: 'CRISIS', counterfactual: 'SAFE', changed: true, does_not_assert: [] },
};
const AGGREGATE = {
  ...{ feed_id: 'rain', method: 'weighted_trimmed_mean_v1', as_of_ms: MS, state: 'CONSENSUS' },
  ...{ dispute_reasons: [], consensus: '7.5', value: '7.5', median: '7.5', spread: '0' },
  ...{ fresh_weight_milli: 0, rejected_weight_milli: 0, readings: [], does_not_assert: [] },
  thresholds: {
    ...{ min_readings: 3, min_survivors: 2, mad_threshold: '3.5', mad_zero_tolerance: '0' },
    ...{ trim_each_tail: '0.1', dispute_tolerance: '0.1', max_rejected_weight: '1/2' },
    future_skew_ms: 0,
  },
};
const TRIGGER = {
  ...{ trigger_id: ID, template_id: 'loss', state: 'ARMED', condition: CONDITION, fee_bps: null },
  ...{ default_action: 'notify_broker', callable_actions: [], regulatory_hooks: [] },
  ...{ exposure_ceiling_micro_usd: 9, enabled_exposure_micro_usd: 5 },
};
const SETTLED = {
  ...{ ...OBSERVED, met: true, run_length: 1, state: 'FIRED', template_id: 'loss' },
  ...{ action: 'notify_broker', enabled_exposure_micro_usd: 5_000_000, fee_bps: '1' },
  ...{ fee_source: 'obligation', fee_micro_usd: 500 },
};
/** The steps of a run, the first of which is done. */
const STEPS = [
  ...['physics', 'print', 'oracle', 'obligation', 'settlement'],
  ...['conformity', 'custody', 'clearing', 'stack'],
].map((step, i) => ({ step, status: i === 0 ? 'ok' : 'skipped' }));
const CUSTODY = {
  ...{ asset_ref: `asset:${TENANT}:gold`, quantity: '10', supply_before: '100' },
  ...{ supply_after: '110', holder_after: '10', does_not_assert: [] },
};

/** Members of a statement by type, and its sentence; statements of the log itself have its origin and tenant. */
export const SAID: readonly (readonly [type: string, members: JsonObject, sentence: string])[] = [
  ['log.open.v1', { predecessor: null }, 'The log log.example/log/live/1 was opened.'],
  [
    'log.open.v1',
    { predecessor: { origin: 'log.example/log/live/7', size: 5, root: HASH } },
    'The log log.example/log/live/1 was opened as the successor of log.example/log/live/7, which has 5 entries.',
  ],
  ['log.closed.v1', { successor: null }, 'The log was closed and names no successor.'],
  [
    'log.closed.v1',
    { successor: 'log.example/log/live/2' },
    'The log was closed, and its successor is log.example/log/live/2.',
  ],
  ['log.entry_type.v1', { name: 'notes.note.v1' }, 'The entry type notes.note.v1 was declared.'],
  [
    'log.map_head.v1',
    { covered: 12, index: 12 },
    'The log stated the root of its head map over its first 12 entries.',
  ],
  [
    'log.key.v1',
    { key: { kty: 'OKP', crv: 'Ed25519', x: 'abcdefghijklm' }, status: 'retired' },
    'The log declared the receipt key whose public part begins with abcdefgh to be retired.',
  ],
  ['log.tenant.v1', {}, `The tenant ${TENANT} was registered in the log.`],
  [
    'astl.entity.v1',
    { entity: 'acme', action: 'claim' },
    `The tenant ${TENANT} claimed the entity acme.`,
  ],
  [
    'astl.entity.v1',
    { entity: 'acme', action: 'transfer', to_tenant_ref: 'BBBBBBBBBBBBBBBBBBBBBB' },
    `The tenant ${TENANT} transferred the entity acme to the tenant BBBBBBBBBBBBBBBBBBBBBB.`,
  ],
  [
    'astl.manifest.v1',
    { entity: 'acme', surfaces: ['policy_bind'], valid_from_ms: MS },
    'The entity acme declared 1 surface from 2026-01-31T08:30:00Z, and promises no heartbeats.',
  ],
  [
    'astl.manifest.v1',
    {
      ...{ entity: 'acme', surfaces: ['policy_bind', 'quote'] },
      ...{ valid_from_ms: MS, valid_until_ms: MS + HOUR_MS, heartbeat_interval_ms: 60_000 },
    },
    'The entity acme declared 2 surfaces from 2026-01-31T08:30:00Z until 2026-01-31T09:30:00Z, with heartbeats every 60 s.',
  ],
  [
    'astl.heartbeat.v1',
    { ...OF, interval_ms: 60_000, run_since_ms: MS },
    'The entity acme sent a heartbeat for the surface policy_bind, in a run since 2026-01-31T08:30:00Z; the next is due within 60 s.',
  ],
  [
    'kit.document.v1',
    { document_sha256: HASH },
    `The service published an offline verification kit with the SHA-256 ${SHORT}.`,
  ],
  [
    'disclosure.erasure.v1',
    { subject_entry_id: ID, subject_commitments: ['message'] },
    `The service erased 1 value that the entry ${ID} commits to.`,
  ],
  [
    'succession.carry.v1',
    { log_number: 1, state: 'lost' },
    'Log number 1 is not served, and nothing was carried over from it.',
  ],
  [
    'succession.carried.v1',
    { what: 'claim', value: { entity: 'acme' }, ...RESTS },
    'A claim of the layer succession was carried over from entry 7 of log number 1.',
  ],
  [
    'classify.result.v1',
    { ...RESULT, ...OF, classification: 'VIOLATION' },
    'The classifier actlog-classify classified a message of entity acme on surface policy_bind in the domain general as VIOLATION.',
  ],
  [
    'classify.result.v1',
    { ...RESULT, classification: 'ERROR' },
    'The classifier actlog-classify did not classify a message: the result is ERROR.',
  ],
  [
    'gate.decision.v3',
    { ...DECISION, ...OF, outcome: 'DENY', reasons: ['rule:no-wires'] },
    'The gate answered DENY to an act of entity acme on surface policy_bind, because rule no-wires of policy version 3 matched.',
  ],
  [
    'gate.decision.v3',
    {
      ...DECISION,
      outcome: 'PERMIT',
      basis: 'trigger',
      trigger_id: ID,
      reasons: ['trigger_fired'],
    },
    'The gate answered PERMIT to an act, because a trigger fired whose action is a permit.',
  ],
  [
    'gate.decision.v2',
    { ...DECISION, outcome: 'SILENCE', reasons: ['no_rule'] },
    'The gate answered SILENCE to an act, because no rule of policy version 3 covers it.',
  ],
  [
    'gate.decision.v1',
    { ...DECISION, outcome: 'DENY', reasons: ['message_crisis', 'rule:a', 'bind_held'] },
    'The gate answered DENY to an act, because the message was classified as CRISIS, rule a of policy version 3 matched and 1 more.',
  ],
  ['gate.policy.v3', POLICY, 'The tenant put version 3 of its policy, with 1 rule.'],
  [
    'gate.hold_resolution.v2',
    { hold_id: ID, action: 'expire', action_ref: HASH, entity: 'acme' },
    `The hold ${ID} of entity acme expired without a decision.`,
  ],
  [
    'gate.hold_resolution.v1',
    { hold_id: ID, action: 'release', action_ref: HASH },
    `The hold ${ID} was released.`,
  ],
  [
    'gate.permit_use.v1',
    { permit_id: ID, action_ref: HASH, consumer: 'require-receipt', permit_issued_at_ms: MS },
    `The permit ${ID} was used up by the layer require-receipt.`,
  ],
  [
    'gate.permit_result.v1',
    { permit_id: ID, permit_use_id: ID, action_ref: HASH, status: 'completed' },
    `The tenant states of the act of the permit ${ID}: it was done.`,
  ],
  [
    'gate.unasked.v1',
    {
      ...{ action_ref: HASH, timestamp_ms: MS, reason: 'gate_unreachable' },
      ...{ entity: 'acme', surface: 'policy_bind', surface_declared: true },
    },
    'The tenant states that it did an act of entity acme on surface policy_bind without asking the gate, which it could not reach.',
  ],
  [
    'absence.witness.v1',
    { ...SUBJECT, verdict: 'ABSENT', checkpoint_size: 9, document_sha256: HASH },
    'A witness found no logged act of entity acme on surface policy_bind from 2026-01-31T08:30:00Z to 2026-01-31T09:30:00Z; verdict ABSENT.',
  ],
  [
    'absence.earlier_witness.v1',
    { ...SUBJECT, verdict: 'PRESENT', checkpoint_size: 9, document_sha256: HASH, log_number: 1 },
    'A witness found a logged act of entity acme on surface policy_bind in log 1 from 2026-01-31T08:30:00Z to 2026-01-31T09:30:00Z; verdict PRESENT.',
  ],
  [
    'absence.spoliation_report.v1',
    {
      ...{ ...SUBJECT, checkpoint_size: 9, declared: true, interval_ms: 60_000, heartbeats: 58 },
      ...{ uncovered: [], uncovered_count: 1, uncovered_ms: 90_000, acts_logged: 3 },
      ...{ acts_counted: 5, acts_never_logged: 2, counter_resets: 0, shortfalls: [] },
      ...{ shortfall_count: 1, finding: 'UNCOVERED_AND_UNLOGGED' },
    },
    'A spoliation report of entity acme on surface policy_bind, 2026-01-31T08:30:00Z to 2026-01-31T09:30:00Z: 1 heartbeat gap, 2 unlogged acts.',
  ],
  [
    'silence.receipt.v2',
    { ...SILENCE, covered_to_ms: MS + HOUR_MS / 2 },
    'A session had 2 entries up to 2026-01-31T09:00:00Z, the last at 2026-01-31T08:30:00Z; coverage by heartbeats: NO_WINDOW.',
  ],
  [
    'silence.receipt.v1',
    SILENCE,
    'A session had 2 entries up to 2026-01-31T09:30:00Z, the last at 2026-01-31T08:30:00Z; coverage by heartbeats: NO_WINDOW.',
  ],
  [
    'pdtr.twin.v2',
    { ...TWIN, decision_linked: true, decision_entry_id: ID, decision_outcome: 'PERMIT' },
    `The tenant bound the payment ${SHORT} to an act, with the decision ${ID} (PERMIT) behind it.`,
  ],
  [
    'pdtr.twin.v1',
    { ...TWIN, decision_linked: false },
    `The tenant bound the payment ${SHORT} to an act, with no decision of this log behind it.`,
  ],
  [
    'pdtr.decision_not_supplied.v1',
    { outcome: 'NOT_SUPPLIED', action_ref: HASH },
    `The tenant supplied no decision for the act ${SHORT} when it bound a payment to it.`,
  ],
  [
    'carrier.mandate.v1',
    MANDATE,
    'The carrier enrolled a mandate of entity acme, valid from 2026-01-31T08:30:00Z to 2026-01-31T09:30:00Z.',
  ],
  [
    'carrier.mandate.v2',
    {
      ...{ ...MANDATE, ...COUNTED, actions: ['bind'], limit_micro_usd: '5000000' },
      acceptance_sha256: MANDATE.terms_sha256,
    },
    'The carrier enrolled a mandate of entity acme, valid from 2026-01-31T08:30:00Z to 2026-01-31T09:30:00Z.',
  ],
  [
    'carrier.renewal.v1',
    RENEWAL,
    `The carrier renewed the mandate ${ID} until 2026-01-31T09:30:00Z.`,
  ],
  ['carrier.end.v1', { mandate_id: ID }, `The carrier ended the mandate ${ID}.`],
  ['carrier.acceptance.v1', { mandate_id: ID }, `The tenant accepted the mandate ${ID}.`],
  [
    'carrier.decision.v2',
    { ...CARRIER, decision: 'BLOCK', reasons: ['open_crisis', 'authority_missing'] },
    'The carrier gate answered BLOCK to a bind, because a CRISIS is open and no authority was stated.',
  ],
  [
    'carrier.decision.v1',
    { ...CARRIER, decision: 'ALLOW', reasons: [] },
    'The carrier gate answered ALLOW to a bind.',
  ],
  [
    'carrier.decision.v3',
    { ...CARRIER, decision: 'BLOCK', reasons: ['mandate_expired'] },
    'The carrier gate answered BLOCK to a bind, because the mandate has expired.',
  ],
  [
    'carrier.finding_resolution.v1',
    {
      ...{ finding_id: ID, finding_index: 4, finding_log_number: 1 },
      ...{ classification: 'CRISIS', outcome: 'remediated' },
    },
    `The tenant resolved the CRISIS of the entry ${ID} as remediated.`,
  ],
  [
    'compliance.event.v2',
    { session_ref: SESSION, event_type: 'human_override', decision_entry_id: ID },
    `The tenant logged an event of the type human_override of a session about the decision ${ID}.`,
  ],
  [
    'compliance.article12_report.v1',
    DOCUMENT,
    'The service sealed an Article 12 report of a session with 4 entries up to 2026-01-31T08:30:00Z.',
  ],
  [
    'compliance.article12_system_report.v1',
    { ...DOCUMENT, subject_key: ['entity', 'acme'], from_ms: MS, until_ms: null },
    'The service sealed an Article 12 report of the entity acme with 4 entries up to 2026-01-31T08:30:00Z.',
  ],
  [
    'compliance.naic_pack.v1',
    DOCUMENT,
    'The service sealed a NAIC exhibit pack of a session with 4 entries up to 2026-01-31T08:30:00Z.',
  ],
  [
    'require-receipt.act.v1',
    { action_ref: HASH, action_hash: `sha256:${HASH}`, permit_id: ID, permit_use_id: ID },
    `This service did the act ${SHORT} under the permit ${ID}.`,
  ],
  [
    'require-receipt.conformance.v1',
    { checks: CHECKS, conformant: true, checked_at_ms: MS },
    'A conformance run of RR-1 passed all five checks.',
  ],
  [
    'require-receipt.conformance.v1',
    { checks: { ...CHECKS, replay_refused: 'failed' }, conformant: false, checked_at_ms: MS },
    'A conformance run of RR-1 did not pass 1 check: replay_refused.',
  ],
  [
    'clear.ceiling.v1',
    { acts: 100, micro_usd: 12_500_000 },
    'The operator set the monthly ceiling of the tenant to 100 acts and 12.5 USD of tolls and fees.',
  ],
  [
    'clearing.slot.v1',
    SLOT,
    'The clearing slot of the week 2026-W05 nets 12 acts of 2 tenants to -1.5 USD.',
  ],
  [
    'clearing.grant.v1',
    {
      ...{ sku: 'gam_year', weeks: 2, from_week: '2026-W05', through_week: '2026-W06' },
      credits_micro_usd: 3_000_000,
    },
    'The tenant was granted credits of 3 USD by gam_year, for the weeks 2026-W05 to 2026-W06.',
  ],
  [
    'clearing.invoice.v1',
    {
      ...{
        account: '0'.repeat(32),
        month: '2026-01',
        acts: 1,
        tolls_micro_usd: '0',
        credits_micro_usd: '0',
      },
      ...{ fees_micro_usd: '0', net_micro_usd: '-1500000', document_sha256: HASH },
    },
    'The invoice of the tenant for the month 2026-01 has 1 act and comes to -1.5 USD net.',
  ],
  [
    'orn.graph.v1',
    { nodes: 3, edges: 2, acyclic: true },
    'The tenant registered a graph of 3 nodes and 2 edges, without a cycle.',
  ],
  [
    'orn.sharp.v2',
    {
      ...{ method: 'exact', value_function: 'additive', agents: 3, amount_micro_usd: 1_000_000 },
      ...{ worth: '1', shapley_values: [], parts_micro_usd: [], does_not_assert: [] },
    },
    'A SHARP slice divides 1 USD among 3 agents by exact Shapley values.',
  ],
  [
    'orn.backprop.v2',
    {
      ...{ mode: 'plain', nodes: 4, sink: 3, liability_micro_usd: 1_000_000 },
      ...{ carried_micro_usd: [], retained_micro_usd: [], does_not_assert: [] },
    },
    'A liability of 1 USD was carried back through a graph of 4 nodes, in the mode plain.',
  ],
  [
    'orn.average.v1',
    {
      ...{ intentional: true, reasonable: true, parties: 2, allowance_micro_usd: 2_000_000 },
      ...{ expenditure_micro_usd: 0, contributory_value_micro_usd: 9, outside_micro_usd: 0 },
      ...{ contributions_micro_usd: [], nets_micro_usd: [], does_not_assert: [] },
    },
    'A general average, declared by the tenant, shares 2 USD among 2 parties.',
  ],
  [
    'restraint.record.v1',
    { ...RESTRAINT, ...OF },
    'The tenant states that it refrained from an act of entity acme on surface policy_bind, which was denied; the restraint is asserted.',
  ],
  [
    'restraint.ccr.v1',
    CCR,
    `By a replay with changed inputs, the outcome of the entry ${ID} would have been SAFE; it was CRISIS.`,
  ],
  [
    'restraint.seal.v1',
    {
      ...{ subject_sessions: [], from_ms: null, to_ms: null, checkpoint_size: 9 },
      ...{ preserved_count: 5, preserved_indexes_sha256: HASH },
      ...{ retention_hold: true, does_not_assert: [] },
    },
    'A retention hold was placed on 5 entries of the tenant.',
  ],
  [
    'restraint.seal_release.v1',
    { seal_id: ID, seal_index: 5 },
    `The retention hold of the seal ${ID} was released.`,
  ],
  [
    'foundry.aggregate.v2',
    { ...AGGREGATE, spread_over: 'survivors' },
    'The aggregate of 0 readings of the feed rain is CONSENSUS, with the value 7.5.',
  ],
  [
    'foundry.aggregate.v1',
    { ...AGGREGATE, state: 'INSUFFICIENT', value: null },
    'The aggregate of 0 readings of the feed rain is INSUFFICIENT.',
  ],
  [
    'foundry.resolution.v1',
    { aggregate_entry_id: ID, feed_id: 'rain', state: 'RESOLVED', value: '7' },
    `The dispute over the aggregate ${ID} of the feed rain was resolved with the value 7.`,
  ],
  [
    'foundry.trigger.v2',
    TRIGGER,
    'The tenant armed a trigger with the action notify_broker for when loss_ratio is at least 0.9.',
  ],
  [
    'foundry.evaluation.v1',
    { ...OBSERVED, met: false, run_length: 0, state: 'ARMED', reason: 'threshold_not_met' },
    `The trigger ${ID} was evaluated and did not fire, because the value does not meet its threshold.`,
  ],
  [
    'foundry.settlement.v3',
    { ...SETTLED, owed_fee_micro_usd: 0, effect: 'permit_given', effect_entry_id: ID },
    `The trigger ${ID} fired with the action notify_broker and an enabled exposure of 5 USD.`,
  ],
  [
    'foundry.settlement.v2',
    { ...SETTLED, owed_fee_micro_usd: 0, effect: 'recorded' },
    `The trigger ${ID} fired with the action notify_broker and an enabled exposure of 5 USD.`,
  ],
  [
    'foundry.notice.v1',
    { trigger_id: ID, action: 'notify_broker' },
    `A notice to the broker was made for the trigger ${ID}.`,
  ],
  [
    'foundry.release.v1',
    { trigger_id: ID, state: 'RELEASED' },
    `The tenant released the binds that the trigger ${ID} held.`,
  ],
  [
    'foundry.custody.v1',
    { ...CUSTODY, event_type: 'mint', holds: true },
    'The tenant attested mint of 10 of the asset gold: the supply is 110.',
  ],
  [
    'foundry.custody.v1',
    { ...CUSTODY, event_type: 'burn', holds: false, breach: 'supply_exceeded' },
    'The tenant attested burn of 10 of the asset gold: parity is broken by supply_exceeded.',
  ],
  [
    'foundry.conformity.v1',
    {
      ...{ category_id: 'insurance', annex_iii_listed: true, pack_sha256: HASH },
      ...{ events: 3, first_index: 1, last_index: 3 },
    },
    'The service sealed a conformity pack of the category insurance over 3 events.',
  ],
  [
    'foundry.inference.v1',
    {
      ...{ source: 'upstream', model: 'gpt-x', streamed: false, outcome: 'completed' },
      ...{ request_hash: HASH, response_hash: HASH, session_size: 1, session_root: HASH },
      does_not_assert: [],
    },
    'An exchange with the model gpt-x, as the upstream told it, was sealed with the outcome completed.',
  ],
  [
    'foundry.pipeline.v2',
    { state: 'completed', outcome: 'PASS', steps: STEPS },
    'A pipeline run was completed with the outcome PASS; 1 of 9 steps are ok.',
  ],
  [
    'foundry.pipeline.v1',
    { state: 'stopped', steps: STEPS },
    'A pipeline run was stopped; 1 of 9 steps are ok.',
  ],
  [
    'otlp.span.v1',
    {
      ...{ operation: 'chat', status: 'ok', start_ms: MS, end_ms: MS, session_ref: SESSION },
      ...{ span_ref: HASH, does_not_assert: [], entity: 'acme' },
    },
    'The tenant reported a span of entity acme of the operation chat with the status ok.',
  ],
  [
    'anchors.anchor.v1',
    {
      ...{ kind: 'dsse', digest: HASH, payload_sha256: HASH, envelope_sha256: HASH },
      ...{ form: 'text', signatures: 1, does_not_assert: [], entity: 'acme' },
    },
    `The tenant anchored a DSSE envelope of entity acme by its SHA-256 digest ${SHORT}.`,
  ],
  [
    'relay.partner.v1',
    { slug: 'blue-fin', anonymous: true, enrolled_at_ms: MS },
    'The partner slug blue-fin was enrolled without an API key.',
  ],
  [
    'issuer-pays.listing.v1',
    {
      ...{ slug: 'blue-fin', domain: 'blue-fin.example', price_micro_usd: 4_999_000_000 },
      valid_until_ms: MS,
    },
    'The issuer blue-fin was listed on the index with the domain blue-fin.example.',
  ],
  [
    'exports.issuer.v1',
    {
      ...{ issuer_sha256: HASH, algorithm: 'Ed25519', public_key: HASH },
      ...{ key_thumbprint: HASH, status: 'revoked' },
    },
    `The tenant revoked a key for Ed25519 of the issuer with the SHA-256 ${SHORT}.`,
  ],
  [
    'exports.statement.v1',
    {
      ...{ statement_sha256: HASH, payload_sha256: HASH, issuer_sha256: HASH },
      ...{ key_thumbprint: HASH, algorithm: 'ES256' },
    },
    `The tenant registered the statement ${SHORT}, signed by a key of the issuer with the SHA-256 ${SHORT}.`,
  ],
];
