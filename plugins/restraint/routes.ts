// POST /api/v1/restraint, and POST /tcb/restraint-atom, which adds the counterfactual; and the restraint as answers show
// it. gateway/API.md §7.7.

import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import {
  ActEntity,
  actingEntity,
  ApiError,
  canonical,
  described,
  Millis,
  receiptOf,
  route,
  SurfaceName,
} from '../contract/index.ts';
import type {
  AnsweredEntry,
  Caller,
  Draft,
  Json,
  JsonObject,
  PluginHost,
  Route,
} from '../contract/index.ts';
import { defaultActionRef } from '../pdtr/index.ts';
import {
  CCR,
  CCR_DOES_NOT_ASSERT,
  CcrMembers,
  ccrType,
  RECORD_DOES_NOT_ASSERT,
  RecordMembers,
  recordType,
} from './entries.ts';
import { restraintDraft } from './record.ts';
import type { RestraintCause } from './record.ts';

const { does_not_assert: _, ...members } = RecordMembers.properties;
const shown: Record<string, TSchema> = members;

/** What `restraint` holds. */
export const RestraintObject = Type.Object(
  {
    entry_id: Type.String({ format: 'uuid' }),
    verify_url: Type.String({ format: 'uri' }),
    commit_anchor: Type.String({
      description: 'Where it stands: `<origin>#<index>:<leaf hash>`.',
    }),
    ...shown,
    does_not_assert: Type.Array(Type.String()),
  },
  { $id: 'Restraint' },
);

/** A restraint's entry as its answer shows it. */
export function restraintObject({
  statement,
  receipt,
  entry_id,
  index,
}: AnsweredEntry): JsonObject {
  const own = Object.keys(shown).filter((name) => statement[name] !== undefined);
  const { origin } = statement as { readonly origin: string };
  const { entry_hash } = receipt;
  return {
    entry_id,
    verify_url: receipt.verify_url,
    commit_anchor: `${origin}#${String(index)}:${entry_hash}`,
    ...Object.fromEntries(own.map((name) => [name, statement[name] ?? null])),
    does_not_assert: Object.values(RECORD_DOES_NOT_ASSERT),
  };
}

const RestraintAnswer = Type.Object(
  { ok: Type.Literal(true), restraint: RestraintObject, receipt: receiptOf(recordType) },
  { $id: 'RestraintAnswer' },
);

/** What an answer shows of a counterfactual record. */
export const Counterfactual = Type.Object(
  {
    ...Type.Pick(CcrMembers, ['original', 'counterfactual', 'changed']).properties,
    does_not_assert: Type.Array(Type.String()),
  },
  { $id: 'Counterfactual' },
);

const AtomAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    ccr_id: Type.String({ format: 'uuid' }),
    verify_url: Type.String({ format: 'uri' }),
    counterfactual: Counterfactual,
    restraint: RestraintObject,
    receipt: described(receiptOf(ccrType), 'Of the counterfactual record.'),
    restraint_receipt: receiptOf(recordType),
  },
  { $id: 'RestraintAtom' },
);

const restraintBody = ({ limits }: PluginHost) => {
  const Name = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return Type.Object(
    {
      action_not_taken: Name,
      decision_reason: Type.String({ minLength: 1, maxLength: limits.message_bytes }),
      capability_proof: Type.Optional(
        Type.Object(
          {},
          { description: 'That the act could have been done: then it is evidenced.' },
        ),
      ),
      opportunity_context: Type.Optional(
        Type.Object(
          {},
          {
            description:
              'The occasion. `deontic_modality: "OBLIGATORY_REFRAIN"` says that refraining was a duty; ' +
              '`would_have_happened` is what the counterfactual record commits to.',
          },
        ),
      ),
      agent_id: Type.Optional(Name),
      scope: Type.Optional(Type.String({ maxLength: limits.string_chars })),
      timestamp_ms: Type.Optional(Millis),
      session_id: Type.Optional(Name),
      entity: ActEntity,
      surface: Type.Optional(SurfaceName),
      event_at_ms: Type.Optional(Millis),
    },
    { $id: 'RestraintRequest' },
  );
};

/** A request after its schema, with the entity that it is of. */
type Request = Omit<Static<ReturnType<typeof restraintBody>>, 'entity'> & {
  readonly entity: string | undefined;
};

const EXAMPLE = {
  action_not_taken: 'premium refund',
  decision_reason: 'the claim is under review',
  opportunity_context: { would_have_happened: 'a refund of 120 USD' },
};

/** The routes of restraint. */
export function restraintRoutes(host: PluginHost): readonly Route[] {
  const toll = host.toll('restraint');
  const Body = restraintBody(host);
  const draft = async (body: Static<typeof Body>, caller: Caller): Promise<Draft> => {
    const entity = await actingEntity(host.log(caller.kind), caller, body);
    return requestedDraft({ ...body, entity }, caller, host, toll);
  };
  const shared = {
    method: 'POST',
    tag: 'restraint',
    access: 'open',
    idempotent: true,
    batch: true,
    body: Body,
    errors: ['tenant_forbidden'],
    example: EXAMPLE,
  } as const;
  return [
    route({
      ...shared,
      path: '/api/v1/restraint',
      aliases: ['/v1/restraint'],
      summary: 'Log an act that was not done',
      description: 'Commits to the act and the reason; neither enters the log in clear.',
      responses: { 200: { description: 'The restraint.', schema: RestraintAnswer } },
      async handle(ctx) {
        await ctx.state.append([await draft(ctx.state.body, ctx.state.caller)]);
      },
      respond([entry]) {
        if (entry === undefined) throw new Error('a restraint has one entry');
        return { ok: true, restraint: restraintObject(entry), receipt: entry.receipt };
      },
    }),
    route({
      ...shared,
      path: '/tcb/restraint-atom',
      summary: 'Log an act that was not done, with its counterfactual record',
      description: 'Two entries, one toll: the restraint, and what would have happened.',
      responses: { 200: { description: 'The counterfactual record.', schema: AtomAnswer } },
      async handle(ctx) {
        const { body, caller } = ctx.state;
        await ctx.state.append([await draft(body, caller), counterfactualDraft(body)]);
      },
      respond([restraint, ccr]) {
        if (restraint === undefined || ccr === undefined)
          throw new Error('an atom has two entries');
        return {
          ok: true,
          ccr_id: ccr.entry_id,
          verify_url: ccr.receipt.verify_url,
          counterfactual: counterfactualOf(ccr.statement),
          restraint: restraintObject(restraint),
          receipt: ccr.receipt,
          restraint_receipt: restraint.receipt,
        };
      },
    }),
  ];
}

function requestedDraft(
  body: Request,
  caller: Caller,
  host: PluginHost,
  toll: NonNullable<Draft['toll']>,
): Draft {
  const { action_not_taken, decision_reason, capability_proof, opportunity_context } = body;
  const { entity, surface, event_at_ms, session_id } = body;
  checkObject('capability_proof', capability_proof, host.limits.metadata_bytes);
  checkObject('opportunity_context', opportunity_context, host.limits.metadata_bytes);
  const tuple = {
    agent_id: body.agent_id ?? (caller.key_id === null ? 'anonymous' : caller.tenant),
    action_type: action_not_taken,
    scope: body.scope ?? 'restraint',
    timestamp_ms: body.timestamp_ms ?? host.now(),
  };
  const hidden: Record<string, Json> = { action_not_taken, decision_reason, preimage: tuple };
  if (capability_proof !== undefined) hidden['capability_proof'] = capability_proof as JsonObject;
  if (opportunity_context !== undefined) {
    hidden['opportunity_context'] = opportunity_context as JsonObject;
  }
  return restraintDraft({
    cause: causeOf(opportunity_context),
    action_ref: defaultActionRef({ ...tuple, seq: 0, terminal: true }),
    timestamp_ms: tuple.timestamp_ms,
    evidenced: capability_proof !== undefined,
    private: hidden,
    toll,
    ...(session_id === undefined ? {} : { session_ref: caller.sessionRef(session_id) }),
    ...(entity === undefined ? {} : { entity }),
    ...(surface === undefined ? {} : { surface }),
    ...(event_at_ms === undefined ? {} : { event_at_ms }),
  });
}

/** Who refrains by their own decision leaves out what they might do, unless they say that it was a duty. */
export function causeOf(context: object | undefined): RestraintCause {
  const { deontic_modality } = (context ?? {}) as { readonly deontic_modality?: unknown };
  const duty = deontic_modality === 'OBLIGATORY_REFRAIN';
  return {
    verdict: 'denied',
    reason_code: 'decision_outcome_not_allow',
    deontic_modality: duty ? 'OBLIGATORY_REFRAIN' : 'OMISSIBLE',
  };
}

/** What would have happened, by the word of who refrained: the act, where there was an occasion for it. */
function counterfactualDraft({
  opportunity_context: context,
}: Pick<Request, 'opportunity_context'>): Draft {
  const told = (context ?? {}) as JsonObject;
  return {
    type: CCR,
    members({ group }) {
      const restraint = group.at(-1);
      if (restraint === undefined) throw new Error('a counterfactual record follows its restraint');
      return {
        basis: 'restraint',
        subject_entry_id: restraint.entry_id,
        subject_type: restraint.type,
        original: 'NOT_EXECUTED',
        counterfactual: context === undefined ? 'UNDETERMINED' : 'EXECUTED',
        changed: context !== undefined,
        does_not_assert: Object.keys(CCR_DOES_NOT_ASSERT),
      };
    },
    ...(context === undefined
      ? {}
      : { private: { would_have_happened: told['would_have_happened'] ?? told } }),
  };
}

/** A counterfactual record as an answer shows it. */
export function counterfactualOf(statement: JsonObject): JsonObject {
  const { original = null, counterfactual = null, changed = null } = statement;
  const does_not_assert = Object.values(CCR_DOES_NOT_ASSERT);
  return { original, counterfactual, changed, does_not_assert };
}

/** Objects of callers are bounded as canonical JSON. */
export function checkObject(param: string, value: object | undefined, max: number): void {
  if (value === undefined) return;
  const bytes = Buffer.byteLength(canonical(value as JsonObject));
  if (bytes <= max) return;
  const message = `${param} is ${String(bytes)} bytes, the limit is ${String(max)}`;
  throw new ApiError('parameter_invalid', message, { param });
}
