// The steps of a run as drafts of one group: all that is known beforehand is decided here, and what depends on the
// place in the log (a settlement, the books of an asset) at that place. gateway/API.md §10.7.

import type { Static } from 'typebox';
import { resultDraft, RESULT } from '../../classify/index.ts';
import type { Judged } from '../../classify/index.ts';
import { before } from '../../contract.ts';
import type { Caller, Draft, JsonObject, PluginHost, SequencePoint } from '../../contract.ts';
import { packed } from '../conformity/routes.ts';
import { CONFORMITY, committedAt } from '../conformity/entries.ts';
import { CUSTODY } from '../custody/entries.ts';
import { custodyDraft } from '../custody/routes.ts';
import type { CustodyRequest } from '../custody/routes.ts';
import { AGGREGATE } from '../oracle/entries.ts';
import { aggregated } from '../oracle/request.ts';
import type { AggregateRequest } from '../oracle/request.ts';
import { evaluate } from '../trigger/condition.ts';
import { EVALUATION, SETTLEMENT, TRIGGER } from '../trigger/entries.ts';
import { decide } from '../trigger/evaluation.ts';
import { settled, settlementToll } from '../trigger/fire.ts';
import { termsOf, triggerDraft } from '../trigger/publish.ts';
import { clearRate } from '../trigger/routes.ts';
import { PIPELINE, STEPS } from './entries.ts';
import type { NOTES, Step, StepMembers } from './entries.ts';

/** The feed that the readings of a run go to. */
const FEED = 'pipeline';

/** A run after its schema. */
export interface RunRequest {
  readonly message: string;
  readonly readings: AggregateRequest['readings'];
  readonly template_id: string;
  readonly enabled_exposure_usd?: string | number;
  readonly category_id?: string;
  readonly custody?: CustodyRequest;
}

/** What becomes of a step; `type` is that of the entry in the group, `entry_id` of one that stood before. */
interface Planned {
  readonly status: 'ok' | 'skipped' | 'failed';
  readonly note?: (typeof NOTES)[number];
  readonly type?: string;
  readonly entry_id?: string;
}

/** A run, ready to be appended. */
export async function runDrafts(
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

  const drafts: Draft[] = [resultDraft({ message }, caller, judged, host.toll('classify'))];
  const plan = new Map<Step, Planned>();
  const failed = judged.result.classification === 'ERROR';
  plan.set(
    'physics',
    failed
      ? { status: 'failed', note: 'classification_error', type: RESULT }
      : { status: 'ok', type: RESULT },
  );
  if (failed) return [...drafts, runDraft(host, plan)];
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
  plan.set('clearing', { status: 'ok', note: 'in_open_slot' });
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

/** The entry that commits to this pack already; null where there is none. */
function standingPack(host: PluginHost, caller: Caller, pack_sha256: string): string | null {
  const log = host.log(caller.kind);
  const rows = { get: (key: string) => log.row(key.slice('foundry/'.length)) };
  const index = committedAt(rows, caller.tenant_ref, pack_sha256);
  const text = index === undefined ? null : log.entry(index);
  return text === null ? null : ((JSON.parse(text) as JsonObject)['entry_id'] as string);
}

/** The run's own entry, last of its group: each step by the entry that stands before. */
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
        };
      });
      return { state: steps.some(isFailed) ? 'stopped' : 'completed', steps };
    },
    toll: host.toll('foundry_pipeline'),
  };
}

const isFailed = ({ status }: { readonly status: string }): boolean => status === 'failed';

function brokenParity({ type }: Planned, group: SequencePoint['group']): Planned | null {
  if (type !== CUSTODY || before(group, CUSTODY)?.statement['holds'] === true) return null;
  return { type, status: 'failed', note: 'parity_broken' };
}
