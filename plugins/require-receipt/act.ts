// POST /api/v1/require-receipt/act: an act of our own that needs a receipt, so that anyone can see RR-1 work. It
// logs a reference, once for a permit. gateway/API.md §8.2, §10.1.

import { Type } from 'typebox';
import { ApiError, entryTypeOf, receiptOf, route, trustedKeyOf } from '../contract/index.ts';
import type { Caller, JsonObject, PluginHost, Route } from '../contract/index.ts';
import gate, { gateErrors, isPermitRefused, USE } from '../gate/index.ts';
import { actionOf } from './action.ts';
import type { Action } from './action.ts';
import { challengeHeaders, PROOF_HEADER, requiredOf, STANDARD_PATH, STATUS } from './challenge.ts';
import { ACT, ActMembers, actType } from './entries.ts';
import { readHeader } from './header.ts';
import type { DeclaredAction } from './manifest.ts';
import { verifyPermit } from './permit.ts';
import type { Permit, PermitTrust } from './permit.ts';

/** The act as the manifest declares it. */
export const OWN_ACT: DeclaredAction = {
  id: 'act',
  action_type: 'require_receipt.act',
  method: 'POST',
  path: '/api/v1/require-receipt/act',
  description: 'Logs a reference for good; the entry can never be taken back.',
  risk: 'medium',
  example: { reference: 'order-4711' },
};

const ActAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    act: Type.Object({ entry_id: Type.String(), ...ActMembers.properties }),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(actType),
    permit_use_receipt: receiptOf(entryTypeOf(gate, USE)),
  },
  { $id: 'RequiredReceiptAct' },
);

const text = Type.String();

/** The error envelope, and how to go on: what requiredOf says. */
const Challenge = Type.Object(
  {
    error: Type.Object({
      type: text,
      code: Type.Literal('receipt_required'),
      message: text,
      param: Type.Optional(text),
      request_id: text,
    }),
    required: Type.Object({
      action: text,
      action_hash: text,
      canonical_action: Type.Record(text, Type.Unknown()),
      manifest: text,
      challenge_header: text,
      proof_header: text,
      header: text,
      profile: text,
      assurance_class: text,
      acceptable_issuers: Type.Array(
        Type.Object({ origin: text, tenant_refs: Type.Optional(Type.Array(text)) }),
      ),
      max_age_sec: Type.Integer(),
      single_use: Type.Boolean(),
      gate_request: Type.Object({ action_type: text, scope: text }),
      gate: Type.Optional(Type.String({ format: 'uri' })),
      how: text,
      learn_more: text,
      refused: Type.Optional(
        Type.String({ description: 'Why the receipt that came was not taken.' }),
      ),
    }),
  },
  { $id: 'ReceiptRequired' },
);

/** The route of the act. */
export function actRoute(host: PluginHost): Route {
  const permits = host.use(gate);
  return route({
    method: OWN_ACT.method as 'POST',
    path: OWN_ACT.path,
    tag: 'require-receipt',
    summary: 'Do an act that needs a receipt',
    description:
      'Without a PERMIT of your own gate in X-Receipt the answer is 428, and says how to get one. The permit is ' +
      'used up by the act, in the same atomic group; a second act with it is 409. The example needs such a permit.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      {
        reference: Type.String({
          minLength: 1,
          maxLength: host.limits.string_chars,
          description: 'What the act is about; only a commitment enters the log.',
        }),
      },
      { $id: 'RequiredReceiptActRequest' },
    ),
    headers: Type.Object({
      [PROOF_HEADER]: Type.Optional(
        Type.String({
          description:
            'base64url of `{"receipt", "preimage", "use_secret"}`: a PERMIT of the gate for this act, with its proof.',
        }),
      ),
    }),
    responses: {
      200: { description: 'The act is done.', schema: ActAnswer },
      [STATUS]: { description: 'RR-1 challenge.', schema: Challenge },
    },
    errors: [gateErrors.receipt_required, gateErrors.permit_used, gateErrors.permit_secret_invalid],
    example: OWN_ACT.example as JsonObject,
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { action_type, method } = OWN_ACT;
      const target = ctx.originalUrl;
      const fields = body as JsonObject;
      const action = actionOf({ audience: host.url(''), action_type, method, target, fields });
      const challenge = (refused?: { readonly refused: string; readonly message: string }) =>
        challenged(host, action, caller, refused);
      const header = ctx.get(PROOF_HEADER);
      if (header === '') throw challenge();
      const permit = permitted(host, action, caller, header, challenge);
      const { action_ref, use_secret, entry_id: permit_id } = permit;
      try {
        const question = { kind: caller.kind, receipt: permit_id, use_secret, action_ref };
        const issuers = [caller.tenant_ref];
        const use = permits.permitUse({ ...question, issuers }, host.name);
        await ctx.state.append(
          [
            use.draft,
            {
              type: ACT,
              members({ group }) {
                const used = group.at(-1);
                if (used?.type !== USE) throw new Error('an act follows the use of its permit');
                const { action_hash } = action;
                return { action_ref, action_hash, permit_id, permit_use_id: used.entry_id };
              },
              private: { reference: body.reference },
            },
          ],
          { check: use.check },
        );
      } catch (error) {
        if (!isPermitRefused(error)) throw error;
        if (error.code !== gateErrors.receipt_required.code) throw error;
        throw challenge({ refused: error.reason, message: error.message });
      }
    },
    respond(entries) {
      const [use, act] = entries;
      if (use === undefined || act === undefined) throw new Error('an act has two entries');
      const { action_ref, action_hash, permit_id, permit_use_id } = act.statement;
      return {
        ok: true,
        act: { entry_id: act.entry_id, action_ref, action_hash, permit_id, permit_use_id },
        verify_url: act.receipt.verify_url,
        receipt: act.receipt,
        permit_use_receipt: use.receipt,
      };
    },
  });
}

/** The permit in the header, by the same rules as in services of others, with the log's own keys. */
function permitted(
  host: PluginHost,
  action: Action,
  caller: Caller,
  header: string,
  challenge: (refused: { readonly refused: string; readonly message: string }) => ApiError,
): Permit {
  const presented = readHeader(header);
  if (presented === null) {
    const message = `${PROOF_HEADER} is not base64url of a receipt`;
    throw challenge({ refused: 'receipt_malformed', message });
  }
  const log = host.log(caller.kind);
  const { origin, vkey } = log;
  const keys = log.receiptKeys();
  const trust: PermitTrust = {
    origin,
    vkey,
    keys: keys.map(trustedKeyOf),
    ended_ms: new Map(
      keys.flatMap(({ kid, ended_ms }) => (ended_ms === undefined ? [] : [[kid, ended_ms]])),
    ),
    tenants: [caller.tenant_ref],
  };
  const checked = verifyPermit(presented, action, trust, host.now());
  if (checked.ok) return checked.permit;
  if (checked.refused !== 'use_secret_invalid') throw challenge(checked);
  throw new ApiError(gateErrors.permit_secret_invalid, checked.message, { param: PROOF_HEADER });
}

function challenged(
  host: PluginHost,
  action: Action,
  { kind, tenant_ref }: Caller,
  refused?: { readonly refused: string; readonly message: string },
): ApiError {
  const challenge = {
    action,
    issuers: [{ origin: host.log(kind).origin, tenants: [tenant_ref] }],
    gate: host.url('/api/v1/execute-gate'),
    learn_more: host.url(STANDARD_PATH),
    ...(refused === undefined ? {} : { refused: refused.refused }),
  };
  const message = refused?.message ?? 'this act needs a receipt of the gate';
  return new ApiError(gateErrors.receipt_required, message, {
    param: PROOF_HEADER,
    headers: challengeHeaders(challenge),
    members: { required: requiredOf(challenge) },
  });
}
