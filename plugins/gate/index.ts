// The gate: whether an act may be done, asked before it is done. PERMIT, HOLD, DENY or SILENCE by the tenant's own
// policy, each a signed entry; a permit is good once. gateway/API.md §8.1, §8.2.

import { Type } from 'typebox';
import classify, { RESULT } from '../classify/index.ts';
import { definePlugin } from '../contract/index.ts';
import type { ConsolePanel } from '../contract/index.ts';
import restraint from '../restraint/index.ts';
import { actTimes, gateCatalog } from './asking.ts';
import { carried, carry } from './carry.ts';
import {
  decisionType,
  decisionTypes,
  earlierTypes,
  gateErrors,
  policyType,
  resolutionType,
  useType,
} from './entries.ts';
import { expiryJob, holdRoutes } from './holds.ts';
import { PLAIN_CHALLENGER } from './challenge.ts';
import type { Challenger } from './challenge.ts';
import { givePermit } from './give.ts';
import type { GivenPermit, PermitOrder } from './give.ts';
import { permitOf, permitRoute, permitUse } from './permit.ts';
import type { Permit, PermitQuestion, PermitUse } from './permit.ts';
import { policyRoutes } from './policy-routes.ts';
import { classifyEvaluator, decisionEvaluator } from './replay.ts';
import { resultRoutes, resultType, unaskedType } from './results.ts';
import { gateRoutes } from './routes.ts';
import type { BindHold } from './routes.ts';

export { permitAnswer, permitAnswerMembers } from './answer.ts';
export { gateErrors, isDecision, USE } from './entries.ts';
export { permittedAct } from './give.ts';
export type { GivenPermit, PermitOrder } from './give.ts';
export { isPolicyMoved } from './policies.ts';
export type { Challenger } from './challenge.ts';
export { isPermitRefused, PermitRefused } from './permit.ts';
export type { Permit, PermitQuestion, PermitUse } from './permit.ts';

/** What other plugins get from the gate. */
export interface GateApi {
  /**
   * The permit that a receipt (or its entry id or hash) names, unused and fresh as of now. Uses nothing up.
   *
   * @throws PermitRefused
   */
  permit(question: PermitQuestion): Permit;
  /**
   * The one use of that permit, for a group of the asking plugin: put `draft` into the group and `check` among its
   * options. Of two that race one wins, the other's group is refused with 409 `permit_used`.
   * `consumer` is the name of the calling plugin; the entry holds it.
   *
   * @throws PermitRefused
   */
  permitUse(question: PermitQuestion, consumer: string): PermitUse;
  /**
   * A permit for a group of the asking plugin: put `draft` into the group, before the entry that names it, and `check`
   * among its options. Where `isPolicyMoved` recognises what the append throws, prepare the permit again.
   *
   * @throws ApiError of `permit_not_given` where the policy denies the act or does not cover it
   */
  readonly givePermit: (order: PermitOrder) => Promise<GivenPermit>;
  /** Words the 428 of acts that a policy wants a receipt for; called while plugins are set up. */
  challenges(challenger: Challenger): void;
  /** Holds binds: while it is true of a bind, execute-gate/bind is BLOCK `bind_held`. Called while plugins are set up. */
  holdsBinds(held: BindHold): void;
}

const reasonFor = { member: 'reason', question: 'Why? The log commits to your words.' };
const holdPath = '/api/v1/execute-gate/holds/{entry_id}';

/** The held acts of a tenant, which an operator releases or refuses. */
const HOLDS: ConsolePanel = {
  id: 'holds',
  title: 'Holds',
  list: '/api/v1/execute-gate/holds',
  empty: 'No act waits for a human.',
  heading: 'disclosures.preimage.value.action_type',
  receipt: 'entry_id',
  facts: [
    { name: 'Agent', member: 'disclosures.preimage.value.agent_id' },
    { name: 'Entity', member: 'entity' },
    { name: 'Surface', member: 'surface' },
    { name: 'Amount', member: 'amount_atomic' },
    { name: 'Currency', member: 'currency' },
    { name: 'Reasons', member: 'reasons' },
    { name: 'Held', member: 'issued_at_ms' },
  ],
  actions: [
    { name: 'Release', path: holdPath, body: { action: 'release' }, ask: reasonFor },
    { name: 'Refuse', path: holdPath, body: { action: 'refuse' }, ask: reasonFor },
  ],
};

/** The plugin `gate`. */
export default definePlugin<GateApi>({
  contract: 2,
  name: 'gate',
  title: 'Execute gate',
  requires: ['classify', 'restraint', 'pdtr'],
  errors: gateErrors,
  types: [
    ...[decisionType, policyType, resolutionType, useType, resultType, unaskedType],
    ...[carried, ...earlierTypes],
  ],
  carry,
  settings: Type.Object({
    GATE_TIMEOUT_MS: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 600_000,
        default: 5000,
        description: 'How long a message may take to classify; after that the gate is silent.',
      }),
    ),
  }),
  setup(host) {
    const judge = host.use(classify);
    const catalog = gateCatalog(host);
    const asking = { catalog, classify: judge, timeOf: actTimes(() => host.now()) };
    const replays = host.use(restraint);
    for (const { name } of decisionTypes) {
      replays.evaluates(name, decisionEvaluator(host, catalog, judge));
    }
    replays.evaluates(RESULT, classifyEvaluator(host, judge));
    let challenger = PLAIN_CHALLENGER;
    let bindHold: BindHold = () => false;
    return {
      routes: [
        ...gateRoutes(
          host,
          asking,
          () => challenger,
          () => bindHold,
        ),
        ...policyRoutes(host),
        ...holdRoutes(host),
        permitRoute(host),
        ...resultRoutes(host),
      ],
      jobs: [expiryJob(host)],
      console: [HOLDS],
      api: {
        permit: (question) => permitOf(host, question),
        givePermit: (order) => givePermit(host, asking, order),
        permitUse: (question, consumer) => permitUse(host, question, consumer),
        challenges(other) {
          challenger = other;
        },
        holdsBinds(held) {
          bindHold = held;
        },
      },
    };
  },
});
