// The answer of a check, built only from its entry: the decision, and the receipt and inclusion proof of every entry
// that the decision depends on. gateway/API.md §8.3, §14.

import { Type } from 'typebox';
import {
  EntryReceipt,
  firstOf,
  knownEntry,
  Millis,
  receiptOf,
  toBase64,
} from '../contract/index.ts';
import type {
  AnsweredEntry,
  Json,
  JsonObject,
  Kind,
  LogView,
  PluginHost,
} from '../contract/index.ts';
import { decisionType, OUTCOMES, PARTS, REASONS } from './entries.ts';
import type { Decision, Resolution } from './entries.ts';
import { FINDINGS } from './findings.ts';
import { ACTIONS } from './mandates.ts';
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
    description:
      'Base64, from the leaf to the root of `checkpoint`; null if that does not cover the entry.',
  }),
});

/** The answer of both checks. */
export const CheckAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    decision: Type.Enum(['ALLOW', 'BLOCK']),
    reasons: Type.Array(Type.Enum([...REASONS]), {
      description: 'Reasons of the first rule that failed; empty for ALLOW.',
    }),
    action: Type.Enum([...ACTIONS]),
    slug: Type.String(),
    mandate_id: Type.Union([Id, Type.Null()]),
    mandate_accepted: Type.Union([Type.Boolean(), Type.Null()], {
      description: 'Whether the insured had accepted the mandate; null without a mandate.',
    }),
    entry_id: Id,
    verify_url: Uri,
    checked_at: Type.String({ format: 'date-time' }),
    rules: Type.Array(
      Type.Object({
        id: Type.String(),
        result: Type.Enum(['passed', 'failed', 'not_reached']),
        text: Type.String(),
      }),
      { description: 'The rules in order; the first that fails decides.' },
    ),
    audit: Type.Array(AuditItem, { description: 'The entries that the decision depends on.' }),
    resolutions: Type.Array(
      Type.Object({
        finding_id: Id,
        classification: Type.Enum([...FINDINGS]),
        outcome: Type.Enum([...OUTCOMES]),
        entry_id: Id,
        resolved_at: Type.String({ format: 'date-time' }),
      }),
      {
        description:
          'Resolutions of the newest CRISIS and the newest VIOLATION of the last 30 days, if they were resolved.',
      },
    ),
    audit_url: Type.Union([Uri, Type.Null()], {
      description:
        'URL at which the log proves the complete history of the mandate; this answer will be its next entry.',
    }),
    checkpoint: Type.Union([Type.String(), Type.Null()], {
      description: 'The signed note that the inclusion proofs of the audit belong to.',
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
  entries: readonly AnsweredEntry[],
): JsonObject {
  const { statement, receipt, entry_id, issued_at_ms } = firstOf(entries);
  const { decision, reasons, action, mandate_id, mandate_accepted, rests_on, checkpoint_size } =
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
    mandate_accepted: mandate_accepted ?? null,
    entry_id,
    verify_url: receipt.verify_url,
    checked_at: new Date(issued_at_ms).toISOString(),
    rules: resultsOf(catalog.rules, reasons),
    audit: rests_on.map((part) => auditItem(host, log, part, checkpoint_size)),
    resolutions: rests_on
      .filter(({ part }) => part === 'resolution')
      .map((part) => resolutionItem(host, log, part)),
    audit_url: mandate_id === undefined ? null : historyUrl(host, log, mandate_id, issued_at_ms),
    checkpoint: checkpoint_size === 0 ? null : log.checkpointAt(checkpoint_size),
    does_not_assert: catalog.does_not_assert,
    receipt,
  };
}

/** The served log with this origin. */
export function logOf(host: PluginHost, kind: Kind, origin: string): LogView {
  const log = host.logs(kind).find((served) => served.origin === origin);
  if (log === undefined) throw new Error(`the log ${origin} is not served`);
  return log;
}

/** URL of the public lookup that proves the complete history of a mandate up to a time. */
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

type RestsOn = Decision['rests_on'][number];

/** The receipt of an entry that a decision depends on, and whether the entry is in the log of the decision. */
function receiptOfPart(host: PluginHost, log: LogView, { index, log_number }: RestsOn) {
  const here = log_number === log.number;
  const holder = here ? log : host.logs(log.kind).find(({ number }) => number === log_number);
  return { receipt: knownEntry(holder?.receipt(index) ?? null, index), here };
}

function auditItem(host: PluginHost, log: LogView, rests_on: RestsOn, size: number): JsonObject {
  const { receipt, here } = receiptOfPart(host, log, rests_on);
  const { part, entry_id, index } = rests_on;
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

function resolutionItem(host: PluginHost, log: LogView, rests_on: RestsOn): JsonObject {
  const { receipt } = receiptOfPart(host, log, rests_on);
  const { finding_id, classification, outcome } = receipt as unknown as Resolution;
  return {
    finding_id,
    classification,
    outcome,
    entry_id: rests_on.entry_id,
    resolved_at: new Date(receipt['issued_at_ms'] as number).toISOString(),
  };
}
