// `/demo/calls/…`: what a visitor without a key may ask of the sandbox log (gateway/API.md §3.3, §3.4). No page can
// show a key, and these need none.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { JsonObject, VisitorRoute } from '../contract/index.ts';

const TAG = 'Demonstrations';

/** Entities and partners of visitors have names that no other tenant of the sandbox takes. */
const OWN: Readonly<Record<string, TSchema>> = {
  entity: Type.String({ pattern: '^demo:[a-z0-9]{8,32}$' }),
  partner: Type.String({ pattern: '^Demo [A-Za-z0-9 ]{1,40}$' }),
};

const ACT = ['action_type', 'agent_id', 'scope', 'timestamp_ms', 'entity', 'surface', 'session_id'];
const ASKED = [...ACT, 'amount_atomic', 'currency', 'reversibility', 'message', 'domain'];

const post = (path: string, target: string, members: readonly string[]): VisitorRoute => ({
  path: `/demo/calls/${path}`,
  tag: TAG,
  target: `POST ${target}`,
  members,
  schemas: OWN,
});

/** The calls; the gate's policy is that of catalogs/demo.json, whatever the visitor sends. */
export const demoCalls = (policy: JsonObject): readonly VisitorRoute[] => [
  post('classify', '/api/v1/classify', ['message', 'domain', 'session_id', 'entity', 'surface']),
  { ...post('policy', '/api/v1/execute-gate/policy', []), body: policy },
  post('gate', '/api/v1/execute-gate', ASKED),
  post('bind-gate', '/api/v1/execute-gate/bind', ASKED),
  {
    ...post('holds/{hold_id}', '/api/v1/execute-gate/holds/{hold_id}', ['action', 'reason']),
    needs: 'The example needs the hold_id of a HOLD in the path.',
  },
  post('restraint', '/api/v1/restraint', [
    ...['action_not_taken', 'decision_reason', 'capability_proof', 'opportunity_context'],
    ...['agent_id', 'session_id', 'entity'],
  ]),
  post('payment', '/api/v1/bind-payment', [
    ...ACT,
    ...['payment_hash', 'amount_atomic', 'currency', 'entry_id', 'settlement_rail'],
  ]),
  {
    ...post('publish', '/api/v1/astl/publish', ['entity', 'surfaces']),
    example: { entity: 'demo:visitor01', surfaces: ['policy_bind'] },
  },
  {
    ...post('witness', '/api/v1/absence/witness', ['entity', 'surface', 'from_ms', 'to_ms']),
    example: { entity: 'demo:visitor01' },
  },
  post('seal', '/compliance/eu-ai-act/article-12/seal', ['session_id', 'event_type']),
  {
    ...post('partner', '/api/v1/relay/enroll', ['partner']),
    example: { partner: 'Demo Brokers' },
  },
  {
    path: '/demo/calls/exhibits/{session_id}',
    tag: TAG,
    target: 'GET /compliance/naic/exhibit-pack/{session_id}',
  },
];
