// POST /api/v1/execute-gate and /bind: one decision in two shapes. Whatever fails, nothing is permitted.
// gateway/API.md §8.1.

import { answerWithPlace, ApiError, isLogError, route, textCost } from '../contract/index.ts';
import type {
  GroupOptions,
  JsonObject,
  PluginHost,
  Route,
  RouteContext,
  RowReader,
} from '../contract/index.ts';
import { BindGateAnswer, GateAnswer, gateAnswer } from './answer.ts';
import { asked, gateBody } from './asking.ts';
import type { Asked, Asking, GateRequest } from './asking.ts';
import { hasInputs } from './carry.ts';
import { challenge, GateChallenge, ReceiptHeader, receiptOfHeader } from './challenge.ts';
import type { Challenger } from './challenge.ts';
import { BIND_HELD, decide, requiredReceipt } from './rules.ts';
import type { Act } from './rules.ts';
import { decisionDrafts } from './drafts.ts';
import type { Deciding } from './drafts.ts';
import { told } from './earlier.ts';
import { isPermitRefused, permitUse } from './permit.ts';
import type { PermitUse } from './permit.ts';
import { isPolicyMoved, keptPolicies, OtherPolicy, policyInForce } from './policies.ts';
import type { InForce } from './policies.ts';
import {
  actRow,
  gateRow,
  inputsOf,
  isUsable,
  newestPermitRow,
  permitRow,
  policyRow,
} from './rows.ts';
import type { ActRow, PermitRow, PolicyRow } from './rows.ts';
import { pdtrErrors } from '../pdtr/index.ts';
import { gateErrors } from './entries.ts';

/** The act is held already, or was released. */
class StandsAlready extends Error {
  readonly row: ActRow;

  constructor(row: ActRow) {
    super('the log has the act already');
    this.row = row;
  }
}

/** Whether a bind of a tenant is held by another plugin, by the rows as of the entry before. */
export type BindHold = (rows: RowReader, tenant_ref: string, act: Act) => boolean;

/** At the sequence point the bind is held, or is not, other than the verdict says. */
class OtherHold extends Error {}

const EXAMPLE = {
  action_type: 'payment.release',
  agent_id: 'agent:treasury-bot',
  amount_atomic: 42_000_000,
  currency: 'USDC',
  reversibility: 'irreversible',
};

/** The routes that decide. */
export function gateRoutes(
  host: PluginHost,
  asking: Asking,
  challenger: () => Challenger,
  bindHold: () => BindHold,
): readonly Route[] {
  const shared = {
    method: 'POST',
    tag: 'gate',
    access: 'open',
    idempotent: true,
    batch: true,
    body: gateBody(host),
    cost: ({ body }: { readonly body: GateRequest }) => textCost(body.message),
    headers: ReceiptHeader,
    errors: [
      pdtrErrors.action_ref_mismatch,
      gateErrors.receipt_required,
      gateErrors.permit_used,
      gateErrors.permit_secret_invalid,
      'tenant_forbidden',
    ],
    example: EXAMPLE,
  } as const;
  const refusal = {
    428: { description: 'The policy wants a receipt for this act.', schema: GateChallenge },
  };
  const handle = decider(host, asking, challenger);
  const description =
    'PERMIT is a permit for this one act: single use, good for 900 seconds. HOLD waits for a human, DENY is ' +
    'prohibited, SILENCE is covered by nothing; none of the three is to be done, and each also logs a restraint. ' +
    'The policy of a tenant is empty at first, so the answer is SILENCE until it says more; with the reason ' +
    '`policy_in_closed_log` it was put in a log before this one, and must be put again. What the request does not ' +
    'say counts against the act.';
  return [
    route({
      ...shared,
      path: '/api/v1/execute-gate',
      summary: 'Ask whether an act may be done',
      description,
      responses: { 200: { description: 'The decision.', schema: GateAnswer }, ...refusal },
      handle: (ctx) => failingClosed(handle(ctx), { outcome: 'SILENCE' }),
      respond: (entries, disclosures, request) => gateAnswer(host, entries, disclosures, request),
    }),
    route({
      ...shared,
      path: '/api/v1/execute-gate/bind',
      summary: 'Ask whether a policy may be bound',
      description:
        'PERMIT is ALLOW, all else BLOCK. While a fired trigger with the action bind_hold is not released, the ' +
        `answer is BLOCK with the reason \`bind_held\`. ${description}`,
      responses: { 200: { description: 'The decision.', schema: BindGateAnswer }, ...refusal },
      handle: (ctx) =>
        failingClosed(handle(ctx, bindHold()), { outcome: 'SILENCE', decision: 'BLOCK' }),
      respond(entries, disclosures, request) {
        const answer = gateAnswer(host, entries, disclosures, request);
        return { ...answer, decision: answer['outcome'] === 'PERMIT' ? 'ALLOW' : 'BLOCK' };
      },
    }),
  ];
}

function decider(host: PluginHost, asking: Asking, challenger: () => Challenger) {
  const { catalog } = asking;
  const tolls = { permit: host.toll('execute_gate'), hold: host.toll('hold') };
  const policies = keptPolicies();
  return async (
    ctx: RouteContext<unknown, unknown, GateRequest>,
    isBindHeld: BindHold = () => false,
  ): Promise<void> => {
    const { body: request, caller } = ctx.state;
    const log = host.log(caller.kind);
    const shown = receiptOfHeader(ctx.get('X-Receipt'));
    const receipt = (request.receipt as JsonObject | string | undefined) ?? shown?.receipt;
    const use_secret = request.use_secret ?? shown?.use_secret;
    const about = await asked(host, asking, { request, caller, receipt, use_secret });
    let inForce = policyInForce(log, caller.tenant_ref, policies);
    let held = false;
    for (;;) {
      const verdict = held
        ? BIND_HELD
        : told(host, caller, decide(about.act, inForce?.policy ?? null));
      const use = verdict.outcome === 'PERMIT' ? shownPermit(about, inForce) : null;
      const deciding: Deciding = { asked: about, verdict, inForce, catalog, tolls, use };
      try {
        const check = checkOf(host, deciding);
        await ctx.state.append(decisionDrafts(deciding), {
          check(at) {
            if (isBindHeld(at.rows, caller.tenant_ref, about.act) !== held) throw new OtherHold();
            check(at);
          },
        });
        return;
      } catch (error) {
        if (error instanceof StandsAlready) {
          // The restraint of a hold, and of its refusal, is the next entry of its group.
          await answerWithPlace(ctx, error.row, error.row.permit_id === null ? 1 : 0);
          return;
        }
        if (error instanceof OtherHold) {
          held = !held;
          continue;
        }
        if (!isPolicyMoved(error)) throw challenged(about, inForce, error);
        const { row } = error;
        inForce = row === undefined ? null : policies(log, row);
      }
    }
  };

  /** The use of the receipt that came, where one is needed or was shown. */
  function shownPermit(about: Asked, inForce: InForce | null): PermitUse | null {
    const { caller, receipt, use_secret, action_ref } = about;
    if (receipt === undefined) {
      if (requiredReceipt(about.act, inForce?.policy ?? null) === null) return null;
      throw challenge(host, challenger(), about, issuersOf(about, inForce));
    }
    try {
      const issuers = issuersOf(about, inForce);
      const question = { kind: caller.kind, receipt, use_secret, action_ref, issuers };
      return permitUse(host, question, host.name);
    } catch (error) {
      throw challenged(about, inForce, error);
    }
  }

  /** A receipt that does not permit is as none; one that was used is said to be. */
  function challenged(about: Asked, inForce: InForce | null, error: unknown): unknown {
    if (!isPermitRefused(error) || error.code !== gateErrors.receipt_required.code) {
      return error;
    }
    return challenge(host, challenger(), about, issuersOf(about, inForce), error);
  }
}

/** Whose permits count: the tenant's own unless its policy names others. */
function issuersOf({ act, caller }: Asked, inForce: InForce | null): readonly string[] {
  const required = requiredReceipt(act, inForce?.policy ?? null);
  return required?.issuers ?? [caller.tenant_ref];
}

/** What must hold at the sequence point: the policy that decided, the permit unused, the act not held already. */
function checkOf(host: PluginHost, { asked: asking, verdict, inForce, catalog, use }: Deciding) {
  const { caller, action_ref, act, session_ref, request } = asking;
  const sessionRefIn = (log_number: number): string | null => {
    const log = host.logs(caller.kind).find(({ number }) => number === log_number);
    const { session_id } = request;
    if (log === undefined || session_id === undefined) return null;
    return caller.sessionRef(session_id, log.origin);
  };
  const check: NonNullable<GroupOptions['check']> = (at) => {
    const policy = gateRow(at.rows, policyRow(caller.tenant_ref)) as unknown as
      PolicyRow | undefined;
    if (policy?.entry_id !== inForce?.entry_id) throw new OtherPolicy(policy);
    use?.check(at);
    // Who names no time asks about a new act; what a message says cannot be compared.
    const { message, timestamp_ms } = request;
    if (message !== undefined || timestamp_ms === undefined) return;
    const { tenant_ref } = caller;
    const isNew = verdict.outcome === 'PERMIT' && use === null;
    if (verdict.outcome !== 'HOLD' && !isNew) return;
    const row = isNew ? newestPermitRow(tenant_ref, action_ref) : actRow(tenant_ref, action_ref);
    const held = gateRow(at.rows, row) as unknown as ActRow | undefined;
    if (held === undefined || held.inputs === null) return;
    const inputsWith = (ref: string | null): string | null =>
      inputsOf({ ...act, session_ref: ref });
    if (!hasInputs(held.inputs, inputsWith, session_ref, sessionRefIn)) return;
    if (held.permit_id !== null) {
      const permit = gateRow(at.rows, permitRow(held.permit_id)) as unknown as
        PermitRow | undefined;
      // A permit that is spent or too old is no answer: the act is held anew.
      const read = (name: string) => gateRow(at.rows, name);
      if (permit === undefined || !isUsable(read, held.permit_id, permit, at.now_ms)) return;
    }
    // A refusal is the answer for as long as a permit would have been.
    const { refused_ms } = held;
    if (refused_ms !== undefined && at.now_ms > refused_ms + catalog.permit_max_age_ms) return;
    throw new StandsAlready(held);
  };
  return check;
}

/** Failures whose answer says in the gate's own words that nothing was permitted. */
const CLOSED: ReadonlySet<string> = new Set([
  ...['log_unavailable', 'log_read_only', 'log_closed', 'log_rolled_back'],
  ...['clock_untrusted', 'log_busy'],
  'plugin_failed',
]);

async function failingClosed(deciding: Promise<void>, members: JsonObject): Promise<void> {
  try {
    await deciding;
  } catch (cause) {
    if (!isLogError(cause) || !CLOSED.has(cause.code)) throw cause;
    const code =
      cause.code === 'log_busy' || cause.code === 'plugin_failed' ? cause.code : 'log_unavailable';
    const why =
      cause.code === 'log_read_only' || cause.code === 'log_closed'
        ? cause.message
        : 'the log takes no decision at the moment, try again';
    const message = `nothing is permitted: ${why}`;
    throw new ApiError(code, message, { cause, members });
  }
}
