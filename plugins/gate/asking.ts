// What is asked of the gate: the request's schema, and from it the act with its action_ref and what the classifier
// says of its message. gateway/API.md §8.1, §9.2.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ClassifyApi, Judged } from '../classify/index.ts';
import {
  ActEntity,
  actingEntity,
  ApiError,
  AtomicInput,
  atomicOf,
  Millis,
  SurfaceName,
} from '../contract/index.ts';
import type { Caller, Json, JsonObject, PluginHost } from '../contract/index.ts';
import { actionRefs, defaultActionRef, listedCode, pdtrErrors, profileOf } from '../pdtr/index.ts';
import type { Act } from './rules.ts';
import { REVERSIBILITIES } from './entries.ts';
import { UseSecret } from './secret.ts';
import type { Opening } from './secret.ts';

/** What catalogs/gate/gate.json and the catalog of settlement say, as the gate uses it. */
export interface GateCatalog {
  readonly permit_max_age_ms: number;
  /** How long a hold waits where the policy does not say. */
  readonly hold_ttl_ms: number;
  readonly default_scope: string;
  readonly default_domain: string;
  /** Currencies that an entry may hold as plain text. */
  readonly currencies: ReadonlySet<string>;
}

/** Reads the catalogs. */
export function gateCatalog(host: PluginHost): GateCatalog {
  const { permit_max_age_s, hold_ttl_s, default_scope, default_domain } = host.catalog(
    'gate/gate.json',
  ) as unknown as {
    permit_max_age_s: number;
    hold_ttl_s: number;
    default_scope: string;
    default_domain: string;
  };
  const { currencies } = host.catalog('pdtr.json') as unknown as {
    readonly currencies: readonly { readonly code: string }[];
  };
  return {
    permit_max_age_ms: permit_max_age_s * 1000,
    hold_ttl_ms: hold_ttl_s * 1000,
    default_scope,
    default_domain,
    currencies: new Set(currencies.map(({ code }) => code)),
  };
}

/** The schema of a request. */
export const gateBody = ({ limits }: PluginHost) => {
  const Name = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return Type.Object(
    {
      action_type: { ...Name, description: 'What is to be done, such as `payment.release`.' },
      agent_id: { ...Name, description: 'Who is to do it.' },
      scope: Type.Optional(Type.String({ maxLength: limits.string_chars })),
      timestamp_ms: Type.Optional({
        ...Millis,
        description:
          "Of the act. Unless given, it is a new act at the time of the request. The same act asked again has the first's.",
      }),
      action_ref: Type.Optional({
        ...Name,
        description: 'Of any profile; refused where it is not that of this act.',
      }),
      entity: ActEntity,
      surface: Type.Optional(SurfaceName),
      amount_atomic: Type.Optional(AtomicInput),
      currency: Type.Optional(Name),
      reversibility: Type.Optional(Type.Enum([...REVERSIBILITIES])),
      receipt: Type.Optional(
        Type.Union([Name, Type.Object({})], {
          description: 'A PERMIT for this act: its receipt, entry id or entry hash. It is used up.',
        }),
      ),
      use_secret: UseSecret,
      session_id: Type.Optional(Name),
      message: Type.Optional(
        Type.String({
          description: 'Classified; a CRISIS or a VIOLATION is DENY, what cannot be read SILENCE.',
        }),
      ),
      domain: Type.Optional({ ...Name, description: 'Whose rules classify the message.' }),
      event_at_ms: Type.Optional(Millis),
    },
    { $id: 'ExecuteGateRequest' },
  );
};

/** A request after its schema. */
export type GateRequest = Static<ReturnType<typeof gateBody>>;

/** What one asks about, whole. */
export interface Asked {
  readonly request: GateRequest;
  readonly caller: Caller;
  readonly act: Act;
  readonly preimage: {
    readonly action_type: string;
    readonly agent_id: string;
    readonly scope: string;
    readonly timestamp_ms: number;
  };
  readonly action_ref: string;
  readonly session_ref: string | undefined;
  /** Null without a message, or where the classifier was late. */
  readonly judged: Judged | null;
  /** The receipt that came with it, and what opens its use secret. */
  readonly receipt: Json | undefined;
  readonly use_secret: Opening | undefined;
}

/** What requests are judged with. */
export interface Asking {
  readonly catalog: GateCatalog;
  readonly classify: Pick<ClassifyApi, 'judge'>;
  readonly timeOf: ActTime;
}

/** The time of an act whose request names none. */
type ActTime = (
  caller: Pick<Caller, 'kind' | 'tenant_ref'>,
  act: Pick<GateRequest, 'action_type' | 'agent_id' | 'scope'>,
) => number;

/** Times are kept of so many acts before those that have passed are dropped. */
const KEPT_TIMES = 1024;

/**
 * Gives every act that names no time the time of its request, or the next millisecond that no act alike was given: each
 * has an action_ref, and so a permit, of its own.
 */
export function actTimes(now: () => number): ActTime {
  const newest = new Map<string, number>();
  return ({ kind, tenant_ref }, { action_type, agent_id, scope = null }) => {
    const alike = JSON.stringify([kind, tenant_ref, action_type, agent_id, scope]);
    const now_ms = now();
    const time_ms = Math.max(now_ms, (newest.get(alike) ?? 0) + 1);
    if (newest.size >= KEPT_TIMES) {
      for (const [act, ms] of newest) if (ms < now_ms) newest.delete(act);
    }
    newest.set(alike, time_ms);
    return time_ms;
  };
}

/**
 * The act of a request, judged.
 *
 * @throws ApiError `parameter_missing`, `action_ref_mismatch`
 */
export async function asked(
  host: PluginHost,
  { catalog, classify, timeOf }: Asking,
  {
    request,
    caller,
    receipt,
    use_secret,
  }: Pick<Asked, 'request' | 'caller' | 'receipt' | 'use_secret'>,
): Promise<Asked> {
  const entity = await actingEntity(host.log(caller.kind), caller, request);
  const preimage = preimageOf(request, catalog, request.timestamp_ms ?? timeOf(caller, request));
  const action_ref = checkedRef(preimage, request.action_ref);
  const { session_id, surface, amount_atomic, currency, reversibility } = request;
  const { judged, late } = await judgedInTime(host, catalog, classify, request);
  const act: Act = {
    action_type: request.action_type,
    classification:
      request.message === undefined ? 'NONE' : (judged?.result.classification ?? 'ERROR'),
    late,
    ...(entity === undefined ? {} : { entity }),
    ...(surface === undefined ? {} : { surface }),
    ...(amount_atomic === undefined ? {} : { amount_atomic: atomicOf(amount_atomic) }),
    ...(currency === undefined ? {} : { currency: listedCode(currency, catalog.currencies) }),
    ...(reversibility === undefined ? {} : { reversibility }),
  };
  const session_ref = session_id === undefined ? undefined : caller.sessionRef(session_id);
  return { request, caller, act, preimage, action_ref, session_ref, judged, receipt, use_secret };
}

/** The preimage of a request's action_ref; the entry holds the time too, so that an answer can show it. */
export function preimageOf(
  { action_type, agent_id, scope }: GateRequest,
  { default_scope }: Pick<GateCatalog, 'default_scope'>,
  timestamp_ms: number,
): Asked['preimage'] {
  return { action_type, agent_id, scope: scope ?? default_scope, timestamp_ms };
}

function checkedRef(preimage: Asked['preimage'], claimed: string | undefined): string {
  const { action_type, agent_id, scope, timestamp_ms } = preimage;
  const tuple = { action_type, agent_id, scope, timestamp_ms, seq: 0, terminal: true };
  if (claimed !== undefined) {
    const computed = actionRefs(tuple);
    if (profileOf(claimed, computed) === null) {
      throw new ApiError(pdtrErrors.action_ref_mismatch, 'action_ref is not that of this act', {
        param: 'action_ref',
        members: { computed },
      });
    }
  }
  return defaultActionRef(tuple);
}

/** Whatever the classifier does, the gate answers: a failure is ERROR, and so is what comes too late. */
async function judgedInTime(
  { settings }: PluginHost,
  { default_domain }: GateCatalog,
  classify: Pick<ClassifyApi, 'judge'>,
  { message, domain = default_domain }: GateRequest,
): Promise<{ judged: Judged | null; late: boolean }> {
  if (message === undefined) return { judged: null, late: false };
  let timer: NodeJS.Timeout | undefined;
  try {
    const answer = classify.judge(message, domain);
    if (!(answer instanceof Promise)) return { judged: answer, late: false };
    const limit = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, settings['GATE_TIMEOUT_MS'] as number, null);
    });
    const judged = await Promise.race([answer, limit]);
    return { judged, late: judged === null };
  } catch {
    return { judged: null, late: false };
  } finally {
    clearTimeout(timer);
  }
}

/** What the log only commits to of a message's classification. */
export function explanationOf(judged: Judged | null): Readonly<Record<string, Json>> {
  if (judged === null || judged.result.classification === 'SAFE') return {};
  return { explanation: judged.result.explain };
}

/** What the entry says of a message's classification. */
export function classificationMembers({ act, judged }: Asked): JsonObject {
  if (act.classification === 'NONE') return {};
  const { classification } = act;
  if (judged === null) return { classification };
  const { classifier, result } = judged;
  return { classification, classifier, classification_rule_ids: result.rule_ids };
}
