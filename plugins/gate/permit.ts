// Permits: which one a receipt names, whether it permits this act now, and its one use, by
// POST /api/v1/execute-gate/permits/use. gateway/API.md §8.1, §8.2.
//
// The caller that is about to do an act uses up its permit. The caller proves that it knows the act: receipts are
// public, the preimage of an action_ref is not. What must hold under concurrency is checked at the sequence point.

import { Type } from 'typebox';
import {
  ApiError,
  canonical,
  entryName,
  findEntry,
  isJsonObject,
  Millis,
  receiptOf,
  route,
} from '../contract/index.ts';
import type {
  DeclaredError,
  Draft,
  GroupOptions,
  Json,
  JsonObject,
  Kind,
  LogView,
  PluginHost,
  Route,
} from '../contract/index.ts';
import { defaultActionRef } from '../pdtr/index.ts';
import { gateCatalog, preimageOf } from './asking.ts';
import { openingIn, opensPermit, USE_SECRET, UseSecret } from './secret.ts';
import type { Opening } from './secret.ts';
import { DecisionMembers, gateErrors, isDecision, USE, UseMembers, useType } from './entries.ts';
import { gateRow, isNewest, permitRow } from './rows.ts';
import type { PermitRow, ReadRow } from './rows.ts';

/** Why a permit is none for this act. */
type PermitRefusal =
  | 'malformed'
  | 'unknown'
  | 'forged'
  | 'foreign_log'
  | 'not_a_permit'
  | 'other_action'
  | 'other_issuer'
  | 'expired'
  | 'key_revoked'
  | 'superseded'
  | 'secret'
  | 'used';

const MESSAGES: Readonly<Record<PermitRefusal, string>> = {
  malformed: 'the receipt is neither a receipt nor an entry id or entry hash',
  unknown: 'the receipt names no entry of this log',
  forged: 'the receipt does not say what the log has under its entry id',
  foreign_log: 'the receipt is of another log',
  not_a_permit: 'the receipt is of no decision that permits',
  other_action: 'the permit is for another act: its action_ref differs',
  other_issuer: 'the permit is of a tenant whose permits do not count here',
  expired: 'the permit is too old',
  key_revoked: 'the key that signed the receipt is revoked',
  superseded: 'the gate gave a newer permit for this act',
  secret: 'use_secret does not open what the permit commits to',
  used: 'the permit has been used',
};

/** The codes of refusals; all others are `receipt_required` (428). */
const CODES: Partial<Record<PermitRefusal, DeclaredError>> = {
  used: gateErrors.permit_used,
  secret: gateErrors.permit_secret_invalid,
};

const BRAND = Symbol.for('actlog.PermitRefused');

/** A receipt that permits nothing here. */
export class PermitRefused extends ApiError {
  readonly [BRAND] = true;
  readonly reason: PermitRefusal;

  constructor(reason: PermitRefusal) {
    const param = reason === 'secret' ? USE_SECRET : 'receipt';
    super(CODES[reason] ?? gateErrors.receipt_required, MESSAGES[reason], { param });
    this.reason = reason;
  }
}

/** Whether a thrown value is a PermitRefused, of this copy of the package or of another one. */
export const isPermitRefused = (thrown: unknown): thrown is PermitRefused =>
  thrown instanceof Error && BRAND in thrown;

/** A permit as the log holds it. */
export interface Permit extends Readonly<PermitRow> {
  /** Entry id of the decision. */
  readonly permit_id: string;
}

/** What is asked of a permit. */
export interface PermitQuestion {
  readonly kind: Kind;
  /** A receipt of a decision, or its entry id or entry hash: the log is this one, so its word is enough. */
  readonly receipt: Json;
  /** The act that is about to be done, by its action_ref of the default profile; null for whichever it permits. */
  readonly action_ref: string | null;
  /** What opens its use secret; unless given, it is taken from the receipt's disclosures. */
  readonly use_secret?: Opening | undefined;
  /** tenant_refs whose permits count; any tenant's unless given. */
  readonly issuers?: readonly string[];
}

/** The one use of a permit: a draft, and the check that its group needs. */
export interface PermitUse {
  readonly permit: Permit;
  readonly draft: Draft;
  /** Refuses the group when the permit is used or too old at its sequence point. */
  readonly check: NonNullable<GroupOptions['check']>;
}

/** A permit that a receipt names, used or not, and the log that has its row. */
interface NamedPermit {
  readonly permit: Permit;
  readonly holder: LogView;
}

/**
 * The permit that a receipt names, whatever became of it, of a caller that knows its secret.
 *
 * @throws PermitRefused
 */
export function namedPermit(host: PluginHost, question: PermitQuestion): NamedPermit {
  const { log, index } = entryOf(host, question);
  const statement = JSON.parse(log.entry(index) ?? '{}') as JsonObject;
  if (!isDecision(statement['type']) || statement['outcome'] !== 'PERMIT') {
    throw new PermitRefused('not_a_permit');
  }
  const permit_id = statement['entry_id'] as string;
  // Of a permit that was carried the newest row says whether it is used.
  const holder = host
    .logs(question.kind)
    .findLast((served) => served.row(permitRow(permit_id)) !== undefined);
  const row = holder?.row(permitRow(permit_id)) as unknown as PermitRow | undefined;
  if (holder === undefined || row === undefined) {
    throw new Error(`permit ${permit_id} has no row`);
  }
  const key = log.receiptKeys().find(({ kid }) => kid === statement['kid']);
  if (key?.status === 'revoked') throw new PermitRefused('key_revoked');
  const { action_ref, issuers } = question;
  if (action_ref !== null && row.action_ref !== action_ref) throw new PermitRefused('other_action');
  if (issuers !== undefined && !issuers.includes(row.tenant_ref)) {
    throw new PermitRefused('other_issuer');
  }
  if (!opensPermit(statement, question.use_secret ?? disclosedSecret(question.receipt))) {
    throw new PermitRefused('secret');
  }
  return { permit: { permit_id, ...row }, holder };
}

/**
 * The permit that a receipt names, unused and fresh as of now.
 *
 * @throws PermitRefused
 */
export function permitOf(host: PluginHost, question: PermitQuestion): Permit {
  const { permit, holder } = namedPermit(host, question);
  checkUsable((name) => holder.row(name), permit.permit_id, permit, host.now());
  // The log that has it is closed, and its state was not carried: nothing would use the permit up.
  if (holder !== host.log(question.kind)) throw new PermitRefused('foreign_log');
  return permit;
}

/**
 * The use of the permit that a receipt names; `consumer` is the plugin that asks.
 *
 * @throws PermitRefused here where it is certain already, and from `check`
 */
export function permitUse(host: PluginHost, question: PermitQuestion, consumer: string): PermitUse {
  const permit = permitOf(host, question);
  const { permit_id, action_ref, issued_at_ms } = permit;
  return {
    permit,
    draft: {
      type: USE,
      members: { permit_id, action_ref, consumer, permit_issued_at_ms: issued_at_ms },
    },
    check({ rows, now_ms }) {
      const row = gateRow(rows, permitRow(permit_id)) as unknown as PermitRow | undefined;
      if (row === undefined) throw new PermitRefused('unknown');
      checkUsable((name) => gateRow(rows, name), permit_id, row, now_ms);
    },
  };
}

function disclosedSecret(receipt: Json): Opening | undefined {
  const disclosures = isJsonObject(receipt) ? receipt['disclosures'] : undefined;
  return isJsonObject(disclosures) ? openingIn(disclosures[USE_SECRET]) : undefined;
}

function checkUsable(read: ReadRow, permit_id: string, permit: PermitRow, now_ms: number): void {
  if (permit.used_by !== null) throw new PermitRefused('used');
  if (!isNewest(read, permit_id, permit)) throw new PermitRefused('superseded');
  if (now_ms > permit.expires_at_ms) throw new PermitRefused('expired');
}

/** The entry of a receipt, in any log; a receipt with a changed byte is refused. */
function entryOf(
  host: PluginHost,
  { kind, receipt }: PermitQuestion,
): { readonly log: LogView; readonly index: number } {
  if (typeof receipt === 'string') {
    const name = entryName(receipt) ?? refuse('malformed');
    return findEntry(host, [kind], name) ?? refuse('unknown');
  }
  if (typeof receipt !== 'object' || receipt === null || Array.isArray(receipt)) {
    return refuse('malformed');
  }
  const { entry_id, origin } = receipt as JsonObject;
  if (typeof entry_id !== 'string' || typeof origin !== 'string') return refuse('malformed');
  const log = host.logs(kind).find((served) => served.origin === origin) ?? refuse('foreign_log');
  const index = log.indexOfEntry(entry_id) ?? refuse('unknown');
  return isReceiptOf(log, index, receipt as JsonObject) ? { log, index } : refuse('forged');
}

const DERIVED: readonly string[] = [
  ...['entry_hash', 'permalink', 'verify_url', 'disclosures', 'log', 'ignored'],
];

/** Whether what was signed is the entry, byte for byte; derived members may say what they like. */
function isReceiptOf(log: LogView, index: number, receipt: JsonObject): boolean {
  const signed = Object.entries(receipt).filter(([name]) => !DERIVED.includes(name));
  return canonical(Object.fromEntries<Json>(signed)) === log.entry(index);
}

function refuse(reason: PermitRefusal): never {
  throw new PermitRefused(reason);
}

const Id = Type.String({ format: 'uuid' });

const UseAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    permit_id: Id,
    permit_use_id: Id,
    action_ref: DecisionMembers.properties.action_ref,
    consumer: UseMembers.properties.consumer,
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(useType),
  },
  { $id: 'GatePermitUse' },
);

/** The route. */
export function permitRoute(host: PluginHost): Route {
  const catalog = gateCatalog(host);
  const Name = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  return route({
    method: 'POST',
    path: '/api/v1/execute-gate/permits/use',
    tag: 'gate',
    summary: 'Use up a permit',
    description:
      'Atomic: of two uses one is answered 200, the other 409. The members are those of the preimage that the ' +
      'permit was answered with, and `use_secret` is that of the permit: a receipt is public, its secret is not. The chain `gate.permit` of the permit then proves that it was used, and once. ' +
      'The example needs the decision_entry_id of a PERMIT, and the preimage that came with it.',
    access: 'key',
    idempotent: true,
    body: Type.Object(
      {
        receipt: Type.Union([Name, Type.Object({})], {
          description: 'The receipt of the PERMIT, its entry id or its entry hash.',
        }),
        action_type: Name,
        agent_id: Name,
        scope: Type.Optional(Type.String({ maxLength: host.limits.string_chars })),
        timestamp_ms: Millis,
        use_secret: UseSecret,
      },
      { $id: 'GatePermitUseRequest' },
    ),
    responses: { 200: { description: 'It is used up by this request.', schema: UseAnswer } },
    errors: [gateErrors.permit_used, gateErrors.permit_secret_invalid],
    example: {
      receipt: '01900000-0000-7000-8000-000000000000',
      action_type: 'payment.release',
      agent_id: 'agent:treasury-bot',
      scope: 'gate',
      timestamp_ms: 1_790_000_000_000,
      use_secret: { salt: '0123456789abcdef0123456789abcdef', value: 'as the gate answered it' },
    },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const preimage = preimageOf(body, catalog, body.timestamp_ms);
      const action_ref = defaultActionRef({ ...preimage, seq: 0, terminal: true });
      const receipt = body.receipt as JsonObject | string;
      try {
        const { use_secret } = body;
        const question = { kind: caller.kind, receipt, action_ref, use_secret };
        const { draft, check } = permitUse(host, question, host.name);
        await ctx.state.append([draft], { check });
      } catch (error) {
        if (!isPermitRefused(error) || CODES[error.reason] !== undefined) throw error;
        throw new ApiError('parameter_invalid', error.message, { param: 'receipt', cause: error });
      }
    },
    respond([entry]) {
      if (entry === undefined) throw new Error('a use has one entry');
      const { statement, receipt, entry_id } = entry;
      const { permit_id, action_ref, consumer } = statement;
      const { verify_url } = receipt;
      const use = { permit_id, permit_use_id: entry_id, action_ref, consumer };
      return { ok: true, ...use, verify_url, receipt };
    },
  });
}
