// Makes the decision entry of a check. The rules are applied at the sequence point, so the decision takes every finding
// into account that precedes it in the log. An error of the service carries the decision BLOCK. gateway/API.md §8.3.

import {
  ApiError,
  entryName,
  findEntry,
  fromBase64Url,
  isApiError,
  isLogError,
  statementAt,
  toHex,
} from '../contract/index.ts';
import type {
  Caller,
  Draft,
  Json,
  LogView,
  PluginHost,
  RowReader,
  Sequenced,
} from '../contract/index.ts';
import { DECISION } from './entries.ts';
import type { Decision } from './entries.ts';
import { newestOf, seenIn, shelvesAt, standingOf } from './findings.ts';
import type { Seen, Subject } from './findings.ts';
import { mandateAt, slugRow } from './mandates.ts';
import type { MandateRow } from './mandates.ts';
import { carrierCatalog, check, limitsOf } from './rules.ts';
import type { Asked } from './rules.ts';

/** The input of a check. */
interface Question extends Asked {
  readonly asked_by: Decision['asked_by'];
  readonly slug: string;
  /** Entry id or entry hash of the receipt that the request names as evidence. */
  readonly receipt_entry_id?: string;
  readonly session_id?: string;
  /** Members that the entry only commits to, beside the slug. */
  readonly hidden: Readonly<Record<string, Json>>;
}

/** The action of a request: `renew` means `renewal`, and the default is `bind`. */
export const actionOf = (given: string | undefined): Question['action'] =>
  given === undefined || given === 'bind' ? 'bind' : 'renewal';

/**
 * The pseudonym of an insured in a log: 32 bytes in hex, derived with the carrier's session secret, so that other
 * readers of the log cannot identify the insured.
 */
export const slugRef = (caller: Caller, slug: string, origin?: string): string =>
  toHex(fromBase64Url(caller.sessionRef(`carrier:${slug}`, origin)));

/** The newest mandate of a slug. A carried mandate is found by the pseudonym of the log that it comes from. */
export function mandateOf(
  host: PluginHost,
  caller: Caller,
  slug: string,
): (rows: RowReader) => MandateRow | undefined {
  const { kind, tenant_ref } = caller;
  const keys = host
    .logs(kind)
    .toReversed()
    .map(({ origin }) => `carrier/${slugRow(tenant_ref, slugRef(caller, slug, origin))}`);
  return (rows) => {
    for (const key of keys) {
      const mandate_id = rows.get(key);
      if (mandate_id !== undefined) return mandateAt(rows, mandate_id as string);
    }
    return undefined;
  };
}

/** How long a check waits for a checkpoint that covers the entries of its audit. */
const COVERED_MS = 5_000;

/** Size of a checkpoint that covers every acknowledged entry, or of the newest one if none is published in time. */
export async function coveredSize(log: LogView): Promise<number> {
  try {
    return (await log.whenPublished(log.size(), AbortSignal.timeout(COVERED_MS))).size;
  } catch {
    return log.published().size;
  }
}

/** The draft of a decision, whose `members` are computed at the sequence point. */
export async function decisionDraft(
  host: PluginHost,
  caller: Caller,
  question: Question,
): Promise<Draft> {
  const { slug, action, asked_by, session_id, receipt_entry_id, hidden } = question;
  const log = host.log(caller.kind);
  const slug_ref = slugRef(caller, slug);
  const newestMandate = mandateOf(host, caller, slug);
  const { tenant_ref } = caller;
  const catalog = carrierCatalog(host);
  const limits = limitsOf(catalog);
  const checkpoint_size = await coveredSize(log);
  return {
    type: DECISION,
    members({ rows, issued_at_ms }) {
      const mandate = newestMandate(rows);
      const subject: Subject = { entity: mandate?.entity ?? null, tenant_ref };
      const shelves = shelvesAt(rows, log, host.logs(log.kind));
      const since = { tenant_ref, since_ms: issued_at_ms - limits.findings_window_ms };
      const facts = {
        now_ms: issued_at_ms,
        mandate,
        log_number: log.number,
        newest: newestOf(shelves, subject),
        crisis: standingOf(shelves, subject, 'CRISIS', since),
        violation: standingOf(shelves, subject, 'VIOLATION', since),
        asked: question,
        ...(receipt_entry_id === undefined
          ? {}
          : { named: namedBy(host, log, subject, receipt_entry_id) }),
      };
      const { decision, reasons, parts } = check(facts, limits);
      return {
        decision,
        reasons,
        action,
        asked_by,
        slug_ref,
        ...(mandate === undefined
          ? {}
          : {
              mandate_id: mandate.mandate_id,
              mandate_accepted: mandate.acceptance !== undefined,
            }),
        terms_version: catalog.terms_version,
        rests_on: parts.map((part) => ({ ...part })),
        checkpoint_size,
        ...(session_id === undefined ? {} : { session_ref: caller.sessionRef(session_id) }),
      };
    },
    private: { slug, ...hidden },
  };
}

/** The classification or gate decision with this entry id or hash; null if it is not one of the subject. */
function namedBy(
  host: PluginHost,
  { kind }: LogView,
  subject: Subject,
  named: string,
): Seen | null {
  const name = entryName(named);
  const found = name === null ? null : findEntry(host, [kind], name);
  const statement = found === null ? null : statementAt(found.log, found.index);
  if (found === null || statement === null) return null;
  const { log, index } = found;
  const { type, entry_id, issued_at_ms } = statement as unknown as Sequenced;
  const isTheirs =
    subject.entity === null
      ? statement['tenant_ref'] === subject.tenant_ref
      : statement['entity'] === subject.entity;
  if (!isTheirs) return null;
  const seen = seenIn({ type, entry_id, index, issued_at_ms, statement, links: [] });
  return seen && { ...seen, log_number: log.number };
}

/** Codes of log errors that are expected in operation. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  ...['log_unavailable', 'log_read_only', 'log_closed', 'log_rolled_back'],
  ...['clock_untrusted', 'log_busy'],
]);

/** Runs a check. An error of the service is answered with `decision: BLOCK` beside the error. */
export async function failingClosed(checking: Promise<void>): Promise<void> {
  try {
    await checking;
  } catch (cause) {
    if (isApiError(cause)) throw cause;
    const members = { decision: 'BLOCK', reasons: ['check_failed'] };
    const known = isLogError(cause) ? cause.code : '';
    if (known !== '' && !UNAVAILABLE.has(known)) throw cause;
    const code =
      known === '' ? 'internal_error' : known === 'log_busy' ? 'log_busy' : 'log_unavailable';
    throw new ApiError(code, 'the check could not be made, so its decision is BLOCK', {
      cause,
      members,
    });
  }
}
