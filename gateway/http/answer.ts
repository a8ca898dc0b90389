// The answer of an append. A replay for an Idempotency-Key makes it in the same way, from the text of the entries, so
// that both answers are equal byte for byte. gateway/API.md §1.1, §1.4, §5.

import { derivedMembers, isLogError, readEntry, toBase64 } from '../../log/index.ts';
import type { Appended, Disclosure, Log } from '../../log/index.ts';
import { knownEntry, ReadyJson } from '../../plugins/contract/index.ts';
import type {
  AnsweredEntry,
  AnsweredReceipt,
  Json,
  JsonObject,
} from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { answerText, printAnswer, printReady } from './json-answer.ts';
import type { RequestContext } from './request.ts';
import { isShared } from '../tenants/tenants.ts';

/** The parts of an answer. */
type StoredEntry = Pick<
  Appended,
  'index' | 'entry_id' | 'issued_at_ms' | 'leaf_hash' | 'text' | 'statement'
>;
type Disclosed = readonly Readonly<Record<string, Disclosure>>[];

/** Reads entries back, with the disclosures that still exist, and answers with them. */
export async function answerStored(
  ctx: RequestContext,
  log: Log,
  indexes: readonly number[],
  kept?: Json,
): Promise<void> {
  const { gateway, caller } = ctx.state;
  const entries = indexes.map((index) => {
    const text = knownEntry(log.entry(index), index);
    const { statement } = readEntry(text);
    const entry_id = statement['entry_id'] as string;
    const issued_at_ms = statement['issued_at_ms'] as number;
    return { index, entry_id, issued_at_ms, text, leaf_hash: log.leafHash(index), statement };
  });
  const opened = await Promise.all(
    // Disclosures of a shared tenant are never stored.
    entries.map(async ({ entry_id }) =>
      isShared(caller.tenant) ? {} : gateway.disclosures.open(gateway.served[log.kind], entry_id),
    ),
  );
  await answer(ctx, log, entries, opened, kept);
}

/** Answers with the stored or new entries of a request: 200 with the body that the route makes of them. */
export async function answer(
  ctx: RequestContext,
  log: Log,
  entries: readonly StoredEntry[],
  disclosures: Disclosed,
  kept?: unknown,
): Promise<void> {
  const { state } = ctx;
  state.answered = { origin: log.origin, entries };
  const proofs = state.wait_ms > 0 ? await proofsOf(ctx, log, entries) : null;
  const receipts = entries.map(
    (entry, i) =>
      new ReceiptText(entry, derivedOf(state.gateway, log, entry, disclosures[i], proofs?.[i])),
  );
  const route = state.matched?.route;
  ctx.status = 200;
  if (route?.flat === true) {
    const [receipt] = receipts;
    if (receipt === undefined) throw new Error('a flat answer is the receipt of an entry');
    answerText(ctx, printReady(receipt));
    return;
  }
  if (route?.respond === undefined)
    throw new Error('a route that appends declares respond or flat');
  const answered = receipts.map((receipt): AnsweredEntry => {
    const { entry } = receipt;
    const { index, entry_id, issued_at_ms } = entry;
    const statement = inOrder(entry) ? entry.statement : readEntry(entry.text).statement;
    return { index, entry_id, issued_at_ms, statement, receipt };
  });
  answerText(ctx, printAnswer(route.respond(answered, disclosures, state, kept)));
}

/** The receipt that routes return: the text of the entry and the derived members. */
class ReceiptText extends ReadyJson implements AnsweredReceipt {
  readonly #entry: StoredEntry;
  readonly entry_hash: string;
  readonly permalink: string;
  readonly verify_url: string;

  constructor(entry: StoredEntry, derived: JsonObject) {
    super(entry.text, derived);
    this.#entry = entry;
    const { entry_hash, permalink, verify_url } = derived as unknown as AnsweredReceipt;
    this.entry_hash = entry_hash;
    this.permalink = permalink;
    this.verify_url = verify_url;
  }

  get entry(): StoredEntry {
    return this.#entry;
  }
}

/** Members that routes do not show on their own. */
const OF_THE_LOG: ReadonlySet<string> = new Set(['commitments', 'links']);

/**
 * Whether a placed statement prints its members exactly as its text has them. A nested object may have its members in
 * another order, and a replay would then answer with other bytes.
 */
const inOrder = ({ statement }: StoredEntry): boolean =>
  Object.keys(statement).every((name) => {
    const value = statement[name] ?? null;
    return !isObject(value) || OF_THE_LOG.has(name) || isPlainList(value);
  });

const isObject = (value: Json): boolean => typeof value === 'object' && value !== null;

const isPlainList = (value: Json): boolean => Array.isArray(value) && !value.some(isObject);

function derivedOf(
  { base_url }: Gateway,
  log: Log,
  { index, entry_id, leaf_hash }: StoredEntry,
  disclosures: Disclosed[number] | undefined,
  proof: JsonObject | undefined,
): JsonObject {
  const place = { index, entry_id, leaf_hash, origin: log.origin };
  const derived = derivedMembers(place, { base_url, sandbox: log.kind === 'sandbox' }, disclosures);
  return proof === undefined
    ? derived
    : { ...derived, log: { ...(derived['log'] as JsonObject), ...proof } };
}

/** Waits for a checkpoint over the entries (RFC 7240 wait); null if the time runs out first. */
async function proofsOf(
  ctx: RequestContext,
  log: Log,
  entries: readonly { index: number }[],
): Promise<JsonObject[] | null> {
  const last = Math.max(...entries.map(({ index }) => index));
  const { wait_ms } = ctx.state;
  try {
    const { size, note } = await log.whenPublished(last + 1, AbortSignal.timeout(wait_ms));
    ctx.set('Preference-Applied', `wait=${String(wait_ms / 1000)}`);
    return entries.map(({ index }) => ({
      checkpoint: note,
      inclusion_proof: log.inclusion(index, size).map(toBase64),
    }));
  } catch (error) {
    if (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'))
      return null;
    // The entries are durable, so a missing checkpoint does not fail the request.
    if (isLogError(error)) return null;
    throw error;
  }
}
