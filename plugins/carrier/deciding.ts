// A check from its request to its entry: the rules are applied at the sequence point, so no finding that stands before
// the answer in the log is missed. What fails on our side says BLOCK in its error. gateway/API.md §8.3.

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
import { DECISION, mandateRow } from './entries.ts';
import type { ACTIONS, Decision, MandateRow } from './entries.ts';
import { knownAt, knownOf, seenIn, subjectRow } from './findings.ts';
import type { Known, Seen, Subject } from './findings.ts';
import { carrierCatalog, check, later, limitsOf } from './rules.ts';
import type { Authority } from './rules.ts';

/** What is asked about an insured. */
interface Question {
  readonly asked_by: Decision['asked_by'];
  readonly slug: string;
  readonly action: (typeof ACTIONS)[number];
  readonly authority: Authority;
  /** Entry id or entry hash of a receipt that the request brings as evidence. */
  readonly receipt_entry_id?: string;
  readonly session_id?: string;
  /** What the entry only commits to, beside the slug. */
  readonly hidden: Readonly<Record<string, Json>>;
}

/** `renew` and no action are answered too. */
export const actionOf = (given: string | undefined): Question['action'] =>
  given === undefined || given === 'bind' ? 'bind' : 'renewal';

/**
 * How the log names an insured: 32 bytes in hex by a key of the carrier's own, so that nobody else can tell who
 * it is.
 */
export const slugRef = (caller: Caller, slug: string, origin?: string): string =>
  toHex(fromBase64Url(caller.sessionRef(`carrier:${slug}`, origin)));

/** The newest mandate of a slug; one that was carried has the name that its own log gave the insured. */
export function mandateOf(
  host: PluginHost,
  caller: Caller,
  slug: string,
): (rows: RowReader) => MandateRow | undefined {
  const { kind, tenant_ref } = caller;
  const keys = host
    .logs(kind)
    .toReversed()
    .map(({ origin }) => mandateRow(tenant_ref, slugRef(caller, slug, origin)));
  return (rows) => {
    for (const key of keys) {
      const row = rows.get(key);
      if (row !== undefined) return row as unknown as MandateRow;
    }
    return undefined;
  };
}

/** How long a check waits for the checkpoint under which its audit is proven. */
const COVERED_MS = 5_000;

/** Size of a checkpoint that covers what was acknowledged, or of the newest one when none comes in time. */
export async function coveredSize(log: LogView): Promise<number> {
  try {
    return (await log.whenPublished(log.size(), AbortSignal.timeout(COVERED_MS))).size;
  } catch {
    return log.published().size;
  }
}

/** The decision on a question, to be made where the entry takes its place. */
export async function decisionDraft(
  host: PluginHost,
  caller: Caller,
  question: Question,
): Promise<Draft> {
  const { slug, action, asked_by, authority, session_id, receipt_entry_id, hidden } = question;
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
      const before = knownBefore(host, log, subject);
      const now = knownAt(rows, subject);
      const known: Known = {
        newest: later(now.newest, before.newest),
        crisis: later(now.crisis, before.crisis),
        violation: later(now.violation, before.violation),
      };
      const named =
        receipt_entry_id === undefined
          ? {}
          : { named: namedBy(host, before, subject, receipt_entry_id) };
      const facts = { now_ms: issued_at_ms, mandate, known, authority, ...named };
      const { decision, reasons, parts } = check(facts, limits);
      const rests_on = parts.map(({ part, seen }) => ({
        part,
        entry_id: seen.entry_id,
        index: seen.index,
        log_number: seen.log_number ?? before.numbers.get(seen as Seen) ?? log.number,
      }));
      return {
        decision,
        reasons,
        action,
        asked_by,
        slug_ref,
        ...(mandate === undefined ? {} : { mandate_id: mandate.mandate_id }),
        terms_version: catalog.terms_version,
        rests_on,
        checkpoint_size,
        ...(session_id === undefined ? {} : { session_ref: caller.sessionRef(session_id) }),
      };
    },
    private: { slug, ...hidden },
  };
}

interface Before extends Known {
  readonly log: LogView;
  /** The closed log that each finding is of. */
  readonly numbers: Map<Seen, number>;
}

/** What the closed logs before this one know: a finding does not close because its log did. */
function knownBefore(host: PluginHost, log: LogView, subject: Subject): Before {
  const numbers = new Map<Seen, number>();
  let newest: Seen | null = null;
  let crisis: Seen | null = null;
  let violation: Seen | null = null;
  for (const older of host.logs(log.kind)) {
    if (older.number >= log.number) continue;
    const known = knownOf(older.row(subjectRow(subject)));
    for (const seen of [known.newest, known.crisis, known.violation]) {
      if (seen !== null) numbers.set(seen, older.number);
    }
    newest = later(newest, known.newest);
    crisis = later(crisis, known.crisis);
    violation = later(violation, known.violation);
  }
  return { log, newest, crisis, violation, numbers };
}

/** The classification or decision that a name is of; null where it is none of the subject's. */
function namedBy(
  host: PluginHost,
  { log: newest, numbers }: Before,
  subject: Subject,
  named: string,
): Seen | null {
  const name = entryName(named);
  const found = name === null ? null : findEntry(host, [newest.kind], name);
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
  if (seen !== null && log.number < newest.number) numbers.set(seen, log.number);
  return seen;
}

/** Failures of the log that are no defect. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  ...['log_unavailable', 'log_closed', 'log_rolled_back', 'clock_untrusted', 'log_busy'],
]);

/** Runs a check; whatever fails on our side answers BLOCK beside its error, and never ALLOW. */
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
    throw new ApiError(code, 'the check could not be made: nothing may be bound on it', {
      cause,
      members,
    });
  }
}
