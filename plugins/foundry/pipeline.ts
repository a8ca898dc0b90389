// Pipeline runs: POST /api/v1/foundry/pipeline/run. gateway/API.md §10.7, §14.
//
// A run appends the drafts of all its steps as one group. Whatever is known before the append is decided first; what
// depends on the place in the log (a settlement, the books of an asset) is decided at that place. The entry of the run
// names the entries that its steps left.

import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import classify from '../classify/index.ts';
import { RESULT, resultDraft } from '../classify/index.ts';
import type { Judged } from '../classify/index.ts';
import {
  ActEntity,
  actingEntity,
  asSchema,
  before,
  DecimalInput,
  EntryId,
  EntryReceipt,
  receiptOf,
  route,
  sentenceOf,
  textCost,
} from '../contract/index.ts';
import type {
  Caller,
  Draft,
  EntryType,
  JsonObject,
  PluginHost,
  Route,
  SequencePoint,
} from '../contract/index.ts';
import { CONFORMITY, packed, standingPack } from './conformity.ts';
import { CUSTODY, custodyBody, custodyDraft } from './custody.ts';
import type { CustodyRequest } from './custody.ts';
import { count, lastEntry } from './entries.ts';
import { AGGREGATE } from './oracle/entries.ts';
import { aggregated, ReadingsInput } from './oracle/routes.ts';
import type { AggregateRequest } from './oracle/routes.ts';
import { evaluate, EVALUATION, SETTLEMENT, TRIGGER } from './trigger/entries.ts';
import { decide } from './trigger/evaluation.ts';
import { settled, settlementToll } from './trigger/fire.ts';
import { termsOf, triggerDraft } from './trigger/publish.ts';
import { clearRate } from './trigger/routes.ts';

/** Name of the entry type. */
const PIPELINE = 'foundry.pipeline.v2';

/** The steps, in their order (gateway/API.md §15.2). */
const STEPS = [
  'physics',
  'print',
  'oracle',
  'obligation',
  'settlement',
  'conformity',
  'custody',
  'clearing',
  'stack',
] as const;

/** One of the steps. */
type Step = (typeof STEPS)[number];

/** Why a step was skipped or failed, or what there is to know of one that is ok. */
const EARLIER_NOTES = [
  'classification_error',
  'no_completion',
  'disputed',
  'insufficient',
  'condition_not_met',
  'not_asked',
  'unchanged_pack',
  'parity_broken',
  'in_open_slot',
  'stopped_before',
] as const;

/** The notes of a run now; `open`: the slot of the week is not closed yet. */
const NOTES = [
  ...EARLIER_NOTES.filter((note) => note !== 'in_open_slot'),
  'message_crisis',
  'message_violation',
  'open',
] as const;

/** What became of a step. */
const StepMembers = Type.Object(
  {
    step: Type.Enum([...STEPS]),
    status: Type.Enum(['ok', 'skipped', 'failed']),
    note: Type.Optional(Type.Enum([...NOTES])),
    entry_id: Type.Optional(EntryId),
    metered_entry_ids: Type.Optional(
      Type.Array(EntryId, {
        description: 'Of the step stack: the entries of the run that have a toll.',
      }),
    ),
  },
  { additionalProperties: false },
);

const EarlierStep = Type.Object(
  {
    step: Type.Enum([...STEPS]),
    status: Type.Enum(['ok', 'skipped', 'failed']),
    note: Type.Optional(Type.Enum([...EARLIER_NOTES])),
    entry_id: Type.Optional(EntryId),
  },
  { additionalProperties: false },
);

const stepsOf = <S extends TSchema>(step: S) =>
  Type.Array(step, { minItems: STEPS.length, maxItems: STEPS.length });
const State = Type.Enum(['completed', 'stopped']);

/** What a run says. */
const PipelineMembers = Type.Object(
  {
    state: State,
    outcome: Type.Enum(['PASS', 'BLOCK'], {
      description: 'BLOCK: the message is a CRISIS or a VIOLATION, or could not be classified.',
    }),
    steps: stepsOf(StepMembers),
  },
  { additionalProperties: false },
);

/** `foundry.pipeline.v2`; it follows the entries of its steps in one group. */
export const pipelineType: EntryType = {
  name: PIPELINE,
  schema: asSchema(PipelineMembers),
  keys: [],
  sentence: sentenceOf<
    Pick<Static<typeof PipelineMembers>, 'state'> & {
      readonly outcome?: string;
      readonly steps: readonly { readonly status: string }[];
    }
  >(({ state, outcome, steps }) => {
    const done = steps.filter(({ status }) => status === 'ok').length;
    const result = outcome === undefined ? '' : ` with the outcome ${outcome}`;
    return `A pipeline run was ${state}${result}; ${done} of ${steps.length} steps are ok.`;
  }),
  project(entry, rows) {
    count(entry, rows, { pipeline_runs: 1 });
  },
};

/** `foundry.pipeline.v1`, of earlier releases: a run did not stop at a CRISIS or a VIOLATION. */
export const earlierPipelineType: EntryType = {
  ...pipelineType,
  name: 'foundry.pipeline.v1',
  schema: asSchema(
    Type.Object({ state: State, steps: stepsOf(EarlierStep) }, { additionalProperties: false }),
  ),
};

/** The feed that the readings of a run go to. */
const FEED = 'pipeline';

/** A run after its schema. */
interface RunRequest {
  readonly message: string;
  readonly entity?: string | null;
  readonly readings: AggregateRequest['readings'];
  readonly template_id: string;
  readonly enabled_exposure_usd?: string | number;
  readonly category_id?: string;
  readonly custody?: CustodyRequest;
}

/** What becomes of a step; `type` is that of the entry in the group, `entry_id` of one that was in the log before. */
interface Planned {
  readonly status: 'ok' | 'skipped' | 'failed';
  readonly note?: (typeof NOTES)[number];
  readonly type?: string;
  readonly entry_id?: string;
}

/** Why physics blocks, by the classification of the message. */
const BLOCKED = {
  ERROR: 'classification_error',
  CRISIS: 'message_crisis',
  VIOLATION: 'message_violation',
} as const;

/** A run, ready to be appended. */
async function runDrafts(
  host: PluginHost,
  caller: Caller,
  request: RunRequest,
  judged: Judged,
): Promise<readonly Draft[]> {
  const { message, readings, template_id, enabled_exposure_usd, category_id, custody } = request;
  // What is wrong with any part of the request is said before anything is done.
  const exposure = enabled_exposure_usd === undefined ? {} : { enabled_exposure_usd };
  const terms = termsOf(host, { template_id, ...exposure });
  const { result, draft: aggregateDraft } = aggregated(host, { feed_id: FEED, readings });
  const pack = category_id === undefined ? null : await packed(host, caller, { category_id });
  const attested = custody === undefined ? null : custodyDraft(host, caller, custody);

  const entity = await actingEntity(host.log(caller.kind), caller, request);
  const act = { message, entity };
  const drafts: Draft[] = [resultDraft(act, caller, judged, host.toll('classify'))];
  const plan = new Map<Step, Planned>();
  const { classification } = judged.result;
  if (classification !== 'SAFE') {
    plan.set('physics', { status: 'failed', note: BLOCKED[classification], type: RESULT });
    return [...drafts, runDraft(host, plan)];
  }
  plan.set('physics', { status: 'ok', type: RESULT });
  plan.set('print', { status: 'skipped', note: 'no_completion' });

  drafts.push(aggregateDraft);
  if (result.state !== 'CONSENSUS') {
    const note = result.state === 'DISPUTED' ? 'disputed' : 'insufficient';
    plan.set('oracle', { status: 'failed', note, type: AGGREGATE });
    return [...drafts, runDraft(host, plan)];
  }
  plan.set('oracle', { status: 'ok', type: AGGREGATE });

  drafts.push(triggerDraft(host, terms));
  plan.set('obligation', { status: 'ok', type: TRIGGER });

  const now_ms = host.now();
  const observed = { value: result.consensus, observed_at_ms: now_ms };
  const { fires } = evaluate(terms.condition, observed, [], now_ms);
  drafts.push(settlementDraft(host, caller, terms.members, now_ms, fires));
  plan.set(
    'settlement',
    fires
      ? { status: 'ok', type: SETTLEMENT }
      : { status: 'skipped', note: 'condition_not_met', type: EVALUATION },
  );

  const standing = pack === null ? null : standingPack(host, caller, pack.pack_sha256);
  if (pack !== null && standing === null) drafts.push(pack.draft);
  plan.set(
    'conformity',
    pack === null
      ? { status: 'skipped', note: 'not_asked' }
      : standing === null
        ? { status: 'ok', type: CONFORMITY }
        : { status: 'ok', note: 'unchanged_pack', entry_id: standing },
  );

  if (attested !== null) drafts.push(attested);
  plan.set(
    'custody',
    attested === null ? { status: 'skipped', note: 'not_asked' } : { status: 'ok', type: CUSTODY },
  );
  // The week of the run is never over: its slot closes later.
  plan.set('clearing', { status: 'ok', note: 'open' });
  plan.set('stack', { status: 'ok', type: PIPELINE });
  return [...drafts, runDraft(host, plan)];
}

/** The trigger of this group, evaluated on the aggregate of this group. */
function settlementDraft(
  host: PluginHost,
  { tenant_ref }: Caller,
  terms: JsonObject,
  now_ms: number,
  fires: boolean,
): Draft {
  const decided = ({ rows, group }: SequencePoint) => {
    const trigger_id = before(group, TRIGGER)?.entry_id ?? '';
    const aggregate_entry_id = before(group, AGGREGATE)?.entry_id ?? '';
    return decide(rows, { trigger_id, tenant_ref, now_ms, aggregate_entry_id });
  };
  if (!fires) {
    return {
      type: EVALUATION,
      members(at) {
        const { members, evaluated } = decided(at);
        return { ...members, state: 'ARMED', reason: evaluated.reason };
      },
    };
  }
  const fee_bps = terms['fee_bps'] as string | null;
  const enabled = BigInt(terms['enabled_exposure_micro_usd'] as number);
  return {
    type: SETTLEMENT,
    members: (at) =>
      settled(decided(at), (exposure) => clearRate(at.rows, tenant_ref, at.issued_at_ms, exposure)),
    toll: settlementToll(host, { trigger: { fee_bps }, enabled_exposure_micro_usd: enabled }),
  };
}

/** The run's own entry, last of its group: it names the entry of each step before it. */
function runDraft(host: PluginHost, plan: ReadonlyMap<Step, Planned>): Draft {
  return {
    type: PIPELINE,
    members({ group, entry_id }): JsonObject {
      let stopped = false;
      const steps = STEPS.map((step): Static<typeof StepMembers> => {
        const planned = plan.get(step);
        if (stopped || planned === undefined) {
          return { step, status: 'skipped', note: 'stopped_before' };
        }
        const { type, status, note } = brokenParity(planned, group) ?? planned;
        stopped = status === 'failed';
        const found = type === PIPELINE ? entry_id : type && before(group, type)?.entry_id;
        const id = found ?? planned.entry_id;
        return {
          ...{ step, status },
          ...(note === undefined ? {} : { note }),
          ...(id === undefined || id === '' ? {} : { entry_id: id }),
          ...(step === 'stack' ? { metered_entry_ids: meteredIds(group) } : {}),
        };
      });
      const blocked = plan.get('physics')?.status === 'failed';
      const state = steps.some(isFailed) ? 'stopped' : 'completed';
      return { state, outcome: blocked ? 'BLOCK' : 'PASS', steps };
    },
    toll: host.toll('foundry_pipeline'),
  };
}

const meteredIds = (group: SequencePoint['group']): string[] =>
  group.filter(({ statement }) => statement['toll'] !== undefined).map(({ entry_id }) => entry_id);

const isFailed = ({ status }: { readonly status: string }): boolean => status === 'failed';

function brokenParity({ type }: Planned, group: SequencePoint['group']): Planned | null {
  if (type !== CUSTODY || before(group, CUSTODY)?.statement['holds'] === true) return null;
  return { type, status: 'failed', note: 'parity_broken' };
}

/** The domain by whose rules the message of a run is classified. */
const DOMAIN = 'hiring';

const RunAnswer = Type.Object(
  {
    ok: Type.Boolean({ description: 'No step failed.' }),
    run_entry_id: EntryId,
    ...PipelineMembers.properties,
    receipts: Type.Array(EntryReceipt, { description: 'Of the steps, in their order.' }),
    receipt: receiptOf(pipelineType),
  },
  { $id: 'PipelineRun' },
);

/** The route of pipeline runs. */
export function pipelineRoute(host: PluginHost): Route {
  const classifier = host.use(classify);
  return route({
    method: 'POST',
    path: '/api/v1/foundry/pipeline/run',
    tag: 'foundry',
    summary: 'Run the foundry from a governed act to its settlement',
    description:
      'Physics, print, oracle, obligation, settlement, conformity, custody, clearing, stack, in one group of ' +
      'entries. It stops at the first step that fails; what was done before stays, with its receipts. Each ' +
      'step has its own toll.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      {
        message: Type.String({ minLength: 1, maxLength: host.limits.message_bytes }),
        entity: ActEntity,
        readings: ReadingsInput,
        template_id: Type.String({ maxLength: 256 }),
        enabled_exposure_usd: Type.Optional(DecimalInput),
        category_id: Type.Optional(Type.String({ maxLength: 256 })),
        custody: Type.Optional(custodyBody(host)),
      },
      { $id: 'PipelineRunRequest' },
    ),
    responses: { 200: { description: 'What became of each step.', schema: RunAnswer } },
    errors: ['log_unavailable'],
    example: {
      message: 'The incident report is sealed',
      readings: [
        { source_id: 'net_a', value: '1.00' },
        { source_id: 'net_b', value: '1.01' },
        { source_id: 'sealed', value: '1.02' },
      ],
      template_id: 'incident_sealed',
      enabled_exposure_usd: '1000000',
      category_id: 'insurance',
      custody: { event_type: 'tokenize', asset_id: 'note-7', quantity: '1000' },
    },
    cost: ({ body }) => textCost(body.message),
    async handle(ctx) {
      const { caller } = ctx.state;
      const body: RunRequest = ctx.state.body;
      const judged = await classifier.judge(body.message, DOMAIN);
      await ctx.state.append(await runDrafts(host, caller, body, judged));
    },
    respond(entries) {
      const { statement, entry_id, receipt } = lastEntry(entries);
      const { state = '', outcome = '', steps = [] } = statement;
      const receipts = entries.slice(0, -1).map((entry) => entry.receipt);
      return {
        ok: state === 'completed',
        run_entry_id: entry_id,
        state,
        outcome,
        steps,
        receipts,
        receipt,
      };
    },
  });
}
