// What a check answers, from its entry alone: the decision, and each entry that it rests on with its receipt and the
// proof that it stands in the log. gateway/API.md §8.3, §14.

import { Type } from 'typebox';
import { EntryReceipt, Millis, receiptOf, toBase64 } from '../contract/index.ts';
import type {
  AnsweredEntry,
  Json,
  JsonObject,
  Kind,
  LogView,
  PluginHost,
} from '../contract/index.ts';
import { ACTIONS, decisionType, PARTS, REASONS } from './entries.ts';
import type { Decision } from './entries.ts';
import { carrierCatalog } from './rules.ts';

const Id = Type.String({ format: 'uuid' });
const Uri = Type.String({ format: 'uri' });

const AuditItem = Type.Object({
  part: Type.Enum([...PARTS]),
  entry_id: Id,
  type: Type.String(),
  issued_at_ms: Millis,
  verify_url: Uri,
  receipt: EntryReceipt,
  inclusion_proof: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'Base64, leaf side first, under `checkpoint`; null where that does not cover it.',
  }),
});

/** The answer of both checks. */
export const CheckAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    decision: Type.Enum(['ALLOW', 'BLOCK']),
    reasons: Type.Array(Type.Enum([...REASONS]), {
      description: 'Of the first rule that failed; empty on ALLOW.',
    }),
    action: Type.Enum([...ACTIONS]),
    slug: Type.String(),
    mandate_id: Type.Union([Id, Type.Null()]),
    entry_id: Id,
    verify_url: Uri,
    checked_at: Type.String({ format: 'date-time' }),
    rules: Type.Array(
      Type.Object({
        id: Type.String(),
        result: Type.Enum(['passed', 'failed', 'not_reached']),
        text: Type.String(),
      }),
      { description: 'In their order; the first that fails decides.' },
    ),
    audit: Type.Array(AuditItem, { description: 'The entries that the decision rests on.' }),
    audit_url: Type.Union([Uri, Type.Null()], {
      description: 'Where the log proves the whole history of the mandate, this answer next.',
    }),
    checkpoint: Type.Union([Type.String(), Type.Null()], {
      description: 'The signed note under which the audit is proven.',
    }),
    does_not_assert: Type.Array(Type.String()),
    receipt: receiptOf(decisionType),
  },
  { $id: 'CarrierCheck' },
);

/** The answer of a check about a slug. */
export function checkAnswer(
  host: PluginHost,
  kind: Kind,
  slug: string,
  [entry]: readonly AnsweredEntry[],
): JsonObject {
  if (entry === undefined) throw new Error('a check has one entry');
  const { statement, receipt, entry_id, issued_at_ms } = entry;
  const { decision, reasons, action, mandate_id, rests_on, checkpoint_size } =
    statement as unknown as Decision;
  const log = logOf(host, kind, statement['origin'] as string);
  const catalog = carrierCatalog(host);
  return {
    ok: true,
    decision,
    reasons,
    action,
    slug,
    mandate_id: mandate_id ?? null,
    entry_id,
    verify_url: receipt.verify_url,
    checked_at: new Date(issued_at_ms).toISOString(),
    rules: resultsOf(catalog.rules, reasons),
    audit: rests_on.map((part) => auditItem(host, log, part, checkpoint_size)),
    audit_url: mandate_id === undefined ? null : historyUrl(host, log, mandate_id, issued_at_ms),
    checkpoint: checkpoint_size === 0 ? null : log.checkpointAt(checkpoint_size),
    does_not_assert: catalog.does_not_assert,
    receipt,
  };
}

/** The log of an origin: an answer is made from its own. */
export function logOf(host: PluginHost, kind: Kind, origin: string): LogView {
  const log = host.logs(kind).find((served) => served.origin === origin);
  if (log === undefined) throw new Error(`the log ${origin} is not served`);
  return log;
}

/** Where anyone finds all that was logged about a mandate up to a time, proven whole. */
export function historyUrl(
  host: PluginHost,
  { kind, number }: LogView,
  mandate_id: string,
  to_ms: number,
): string {
  const question = new URLSearchParams({
    key: JSON.stringify(['carrier.mandate', mandate_id]),
    from_ms: '0',
    to_ms: String(to_ms),
  });
  return host.url(`/log/${kind}/${String(number)}/proof/lookup?${question.toString()}`);
}

function resultsOf(rules: readonly JsonObject[], reasons: readonly string[]): Json {
  const failing = rules.findIndex((rule) =>
    reasons.some((reason) => (rule['reasons'] as readonly string[]).includes(reason)),
  );
  return rules.map(({ id = null, text = null }, at) => {
    const result =
      failing < 0 || at < failing ? 'passed' : at === failing ? 'failed' : 'not_reached';
    return { id, result, text };
  });
}

function auditItem(
  host: PluginHost,
  log: LogView,
  { part, entry_id, index, log_number }: Decision['rests_on'][number],
  size: number,
): JsonObject {
  const here = log_number === log.number;
  const holder = here ? log : host.logs(log.kind).find(({ number }) => number === log_number);
  const receipt = holder?.receipt(index) ?? null;
  if (receipt === null) throw new Error(`entry ${entry_id} of an audit is missing`);
  const { type = null, issued_at_ms = null, verify_url = null } = receipt;
  return {
    part,
    entry_id,
    type,
    issued_at_ms,
    verify_url,
    receipt,
    inclusion_proof: here && index < size ? log.inclusion(index, size).map(toBase64) : null,
  };
}
