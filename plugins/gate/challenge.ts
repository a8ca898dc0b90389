// The 428 of an act that the tenant's policy permits only to who shows a receipt. Its header and its words are those
// of the plugin that keeps RR-1, which says so by `challenges`. gateway/API.md §8.2; RFC 6585 §3.

import { Type } from 'typebox';
import { ApiError, isJsonObject, parseJson } from '../contract/index.ts';
import type { Json, JsonObject, PluginHost } from '../contract/index.ts';
import type { Asked } from './asking.ts';
import type { PermitRefused } from './permit.ts';
import { gateErrors } from './entries.ts';
import { openingIn } from './secret.ts';
import type { Opening } from './secret.ts';

/** What a challenge is about. */
interface ChallengedAct {
  readonly action_type: string;
  /** `sha256:` and the action_ref: an act at the gate is bound by its preimage. */
  readonly action_hash: string;
  readonly preimage: JsonObject;
  readonly origin: string;
  /** tenant_refs whose permits count. */
  readonly issuers: readonly string[];
  /** Why the receipt that came was not taken. */
  readonly refused?: string;
}

/** Makes the headers of a challenge and `required` of its body. */
export type Challenger = (act: ChallengedAct) => {
  readonly headers: Readonly<Record<string, string>>;
  readonly required: JsonObject;
};

const Text = Type.String();
const Maybe = Type.Optional(Text);

/** The answer: the error envelope, and how to go on; what is optional are the words of the challenger. */
export const GateChallenge = Type.Object(
  {
    error: Type.Object({
      type: Text,
      code: Type.Literal('receipt_required'),
      message: Text,
      param: Text,
      request_id: Text,
    }),
    required: Type.Object({
      action: Text,
      action_hash: Type.String({ description: '`sha256:` and the action_ref of the act.' }),
      gate_request: Type.Object({
        action_type: Text,
        agent_id: Text,
        scope: Text,
        timestamp_ms: Type.Integer(),
      }),
      how: Text,
      canonical_action: Type.Optional(Type.Record(Text, Type.Unknown())),
      manifest: Maybe,
      challenge_header: Maybe,
      proof_header: Maybe,
      header: Maybe,
      profile: Maybe,
      assurance_class: Maybe,
      acceptable_issuers: Type.Optional(
        Type.Array(Type.Object({ origin: Text, tenant_refs: Type.Optional(Type.Array(Text)) })),
      ),
      max_age_sec: Type.Optional(Type.Integer()),
      single_use: Type.Optional(Type.Boolean()),
      gate: Type.Optional(Type.String({ format: 'uri' })),
      learn_more: Maybe,
      refused: Type.Optional(
        Type.String({ description: 'Why the receipt that came was not taken.' }),
      ),
    }),
  },
  { $id: 'GateReceiptRequired' },
);

/** The request header that carries a receipt, where the body has none. */
export const ReceiptHeader = Type.Object({
  'X-Receipt': Type.Optional(
    Type.String({
      description:
        'base64url of the JSON of a receipt, or of `{"receipt": …, "use_secret": …}`; the members `receipt` and ' +
        '`use_secret` of the body go first.',
    }),
  ),
});

/** Words a challenge that no other plugin words. */
export const PLAIN_CHALLENGER: Challenger = ({ action_type, action_hash }) => ({
  headers: {},
  required: { action: action_type, action_hash },
});

/** The challenge; `refused` is what was wrong with the receipt that came. */
export function challenge(
  host: PluginHost,
  challenger: Challenger,
  { act, action_ref, preimage, caller }: Asked,
  issuers: readonly string[],
  refused?: PermitRefused,
): ApiError {
  const challenged: ChallengedAct = {
    action_type: act.action_type,
    action_hash: `sha256:${action_ref}`,
    preimage: { ...preimage },
    origin: host.log(caller.kind).origin,
    issuers,
    ...(refused === undefined ? {} : { refused: refused.reason }),
  };
  const { headers, required } = challenger(challenged);
  const reason = refused === undefined ? '' : `, and ${refused.message}`;
  return new ApiError(
    gateErrors.receipt_required,
    `this act needs the receipt of a permit${reason}`,
    {
      param: 'receipt',
      headers: { ...headers, 'Cache-Control': 'no-store' },
      members: {
        required: {
          ...required,
          gate_request: challenged.preimage,
          how:
            'Get a PERMIT for gate_request from an acceptable issuer of this log; send its receipt, or its entry ' +
            'id, as the member receipt of this same request.',
        },
      },
      ...(refused === undefined ? {} : { cause: refused }),
    },
  );
}

/** A receipt in its values is at most 19 deep, and may hold fractions; the envelope is one more. */
const READING = { fractions: true, maxDepth: 20 };

/** What an X-Receipt header shows; nothing of it is verified. */
interface Shown {
  readonly receipt: Json;
  readonly use_secret?: Opening | undefined;
}

/**
 * Reads an X-Receipt header: base64url of the JSON of a receipt, or of `{"receipt", "use_secret"?}`. What cannot be
 * read is a receipt of nothing; undefined without a header.
 */
export function receiptOfHeader(header: string): Shown | undefined {
  if (header === '') return undefined;
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(header)) return { receipt: null };
  try {
    const value = parseJson(Buffer.from(header, 'base64url'), READING);
    if (!isJsonObject(value) || !isJsonObject(value['receipt'])) return { receipt: value };
    return { receipt: value['receipt'], use_secret: openingIn(value['use_secret']) };
  } catch {
    return { receipt: null };
  }
}
