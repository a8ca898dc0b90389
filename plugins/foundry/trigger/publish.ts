// POST /signal/trigger/publish: a template becomes an obligation that is ARMED. gateway/API.md §10.6, §14.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  DecimalInput,
  decimalText,
  EntryId,
  exactOf,
  Identifier,
  microUsdOf,
  Millis,
  receiptOf,
  route,
} from '../../contract/index.ts';
import type { AnsweredEntry, Draft, JsonObject, PluginHost, Route } from '../../contract/index.ts';
import { foundryCatalog } from '../catalog.ts';
import type { Template } from '../catalog.ts';
import { lastEntry } from '../entries.ts';
import { BindScope, COMPARATORS, ConditionMembers, TRIGGER, triggerType } from './entries.ts';
import type { Condition } from './entries.ts';

/** What an obligation may call and up to where. gateway/API.md §17. */
export const ObligationSurface = Type.Object(
  {
    callable_actions: Type.Array(Identifier),
    exposure_ceiling_usd: Type.Number(),
    fee_bps: Type.Union([Type.Number(), Type.Null()]),
    regulatory_hooks: Type.Array(Identifier),
  },
  { $id: 'ObligationSurface' },
);

const ClearName = {
  ...Identifier,
  description: 'An identifier; the log holds it as plain text.',
};

/** Body of a publication; the pipeline makes one of its own. */
const PublishBody = Type.Object(
  {
    template_id: Type.String({ maxLength: 256 }),
    condition: Type.Optional(
      Type.Object(
        {
          metric: ClearName,
          comparator: Type.Enum([...COMPARATORS]),
          threshold: DecimalInput,
          window_s: Type.Optional(ConditionMembers.properties.window_s),
          consecutive: Type.Optional(ConditionMembers.properties.consecutive),
        },
        { description: 'That of the template unless given.' },
      ),
    ),
    enabled_exposure_usd: Type.Optional(DecimalInput),
    feed_id: Type.Optional({
      ...ClearName,
      description:
        'Then only aggregates of this feed fire the trigger, and none while it is disputed.',
    }),
    expires_at_ms: Type.Optional(Millis),
    bind_hold: Type.Optional({
      ...BindScope,
      description:
        'Which binds the action bind_hold holds: of this entity, on this surface; all of the tenant unless given.',
    }),
  },
  { $id: 'TriggerPublishRequest' },
);

/** A publication after its schema. */
type PublishRequest = Static<typeof PublishBody>;

const PublishAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    trigger_id: EntryId,
    state: Type.Literal('ARMED'),
    template_id: Identifier,
    condition: ConditionMembers,
    default_action: Identifier,
    enabled_exposure_micro_usd: Type.Integer(),
    obligation_surface: ObligationSurface,
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(triggerType),
  },
  { $id: 'TriggerPublished' },
);

/** The template of a publication; 400 for one that the catalog lacks. */
function templateOf(host: PluginHost, template_id: string): Template {
  const { templates } = foundryCatalog(host).triggers;
  const template = templates.find((known) => known.template_id === template_id);
  if (template !== undefined) return template;
  const known = templates.map((one) => one.template_id).join(', ');
  const param = 'template_id';
  throw new ApiError('parameter_invalid', `${param} is none of ${known}`, { param });
}

/** The terms of a publication, without its id. */
interface Terms {
  readonly condition: Condition;
  readonly members: JsonObject;
}

/** Checks a publication against its template. */
export function termsOf(host: PluginHost, request: PublishRequest): Terms {
  const template = templateOf(host, request.template_id);
  const { feed_id, expires_at_ms, enabled_exposure_usd, bind_hold } = request;
  if (expires_at_ms !== undefined && expires_at_ms <= host.now()) {
    const param = 'expires_at_ms';
    throw new ApiError('parameter_invalid', `${param} is not after now`, { param });
  }
  const ceiling = ceilingOf(template);
  const enabled =
    enabled_exposure_usd === undefined
      ? 0n
      : microUsdOf(enabled_exposure_usd, 'enabled_exposure_usd', ceiling);
  const condition = conditionOf(template, request.condition);
  const { fee_bps } = template;
  const members = {
    template_id: template.template_id,
    state: 'ARMED',
    condition,
    default_action: template.default_action,
    callable_actions: template.callable_actions,
    exposure_ceiling_micro_usd: Number(ceiling),
    enabled_exposure_micro_usd: Number(enabled),
    fee_bps: fee_bps === null ? null : decimalText(exactOf(fee_bps, 'fee_bps')),
    regulatory_hooks: template.regulatory_hooks,
    ...(feed_id === undefined ? {} : { feed_id }),
    ...(expires_at_ms === undefined ? {} : { expires_at_ms }),
    ...(bind_hold === undefined ? {} : { bind_hold }),
  };
  return { condition, members: members as unknown as JsonObject };
}

const ceilingOf = ({ exposure_ceiling_usd }: Template): bigint =>
  BigInt(exposure_ceiling_usd) * 1_000_000n;

function conditionOf(template: Template, given: PublishRequest['condition']): Condition {
  if (given === undefined) return { ...template.condition, consecutive: 1 };
  const { metric, comparator, window_s, consecutive = 1 } = given;
  const threshold = decimalText(exactOf(given.threshold, 'condition.threshold'));
  const window = window_s === undefined ? {} : { window_s };
  return { metric, comparator, threshold, ...window, consecutive };
}

/** A trigger, ready to be appended; its id is the id of its entry. */
export function triggerDraft(host: PluginHost, { members }: Terms): Draft {
  return {
    type: TRIGGER,
    members: ({ entry_id }) => ({ trigger_id: entry_id, ...members }),
    toll: host.toll('trigger_publish'),
  };
}

/** The obligation surface of a trigger's entry. */
export function surfaceOf(statement: JsonObject): JsonObject {
  const { callable_actions = [], regulatory_hooks = [], fee_bps = null } = statement;
  return {
    callable_actions,
    exposure_ceiling_usd: (statement['exposure_ceiling_micro_usd'] as number) / 1_000_000,
    fee_bps: fee_bps === null ? null : Number(fee_bps),
    regulatory_hooks,
  };
}

/** The route that publishes triggers. */
export function publishRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/signal/trigger/publish',
    tag: 'foundry',
    summary: 'Publish a trigger template as an ARMED obligation',
    description:
      'The terms stand in the entry: a later catalog does not change them. Only the tenant that published it ' +
      'fires it; what is published without a key is of the tenant `public`, whom everybody without a key shares.',
    access: 'open',
    idempotent: true,
    body: PublishBody,
    responses: { 200: { description: 'The obligation.', schema: PublishAnswer } },
    example: {
      template_id: 'incident_sealed',
      condition: { metric: 'incident', comparator: 'gte', threshold: '1' },
      enabled_exposure_usd: '1000000',
    },
    async handle(ctx) {
      await ctx.state.append([triggerDraft(host, termsOf(host, ctx.state.body))]);
    },
    respond(entries) {
      const entry = lastEntry(entries);
      return { ok: true, ...publishedOf(entry), receipt: entry.receipt };
    },
  });
}

/** A trigger's entry as its answer shows it. */
function publishedOf({ statement, receipt }: AnsweredEntry): JsonObject {
  const { trigger_id = '', state = '', template_id = '', condition = {} } = statement;
  const { default_action = '', enabled_exposure_micro_usd = 0 } = statement;
  return {
    ...{ trigger_id, state, template_id, condition, default_action, enabled_exposure_micro_usd },
    obligation_surface: surfaceOf(statement),
    verify_url: receipt.verify_url,
  };
}
