// Two logs of a kind, one after the other: what each says of the other, compared in both directions whenever
// either has grown. log/FORMAT.md §1

import type { Json } from '../../log/index.ts';
import { Finding, type FindingRule, type ShownEntry } from './finding.ts';
import type { End, Follower } from './follower.ts';

/** A rule that a log and its successor break together. */
interface Contradiction {
  readonly rule: FindingRule;
  readonly detail: string;
  /** The entry of the older log that shows it, if one does. */
  readonly index: number | null;
}

/**
 * Compares a log with the one that follows it. Nothing is known of an end that the monitor has not seen: a log that is not
 * closed was lost, and may end before the size that its successor names, but not behind it.
 *
 * @throws Finding
 */
export async function comparePair(before: Follower, after: Follower): Promise<void> {
  const [end, own] = [before.end(), after.end()];
  if (end === null || own === null || after.opening === null) return;
  const found = await contradiction(before, end, after);
  if (found === null) return;
  const { rule, detail, index } = found;
  const entries: ShownEntry[] = [];
  if (index !== null) entries.push({ ...(await before.entry(index)), note: 0 });
  entries.push(await after.entry(0));
  const proven = entries.every(({ path }) => path !== undefined);
  throw new Finding(rule, detail, proven ? 'signed' : 'observed', {
    notes: [end.note, own.note],
    vkeys: [before.vkey, after.vkey],
    entries,
  });
}

async function contradiction(
  before: Follower,
  end: End,
  after: Follower,
): Promise<Contradiction | null> {
  const { opening, origin } = after;
  if (opening === null) return null;
  const { predecessor, issued_at_ms } = opening;
  const { origin: named = null, size = null, root = null } = predecessor ?? {};
  const last = end.size - 1;
  if (named !== end.origin || !isSize(size)) {
    const detail = `${origin} names ${JSON.stringify(named)} as its predecessor, not ${end.origin}`;
    return { rule: 'predecessor', detail, index: null };
  }
  const { closing } = before;
  if (closing !== null && closing.successor !== origin) {
    const detail = `${end.origin} names ${JSON.stringify(closing.successor)} as its successor, not ${origin}`;
    return { rule: 'successor', detail, index: closing.index };
  }
  if (end.size > size && !before.closed) {
    const detail = `${end.origin} takes entries after ${origin} has opened at its size ${String(size)}`;
    return { rule: 'two_logs', detail, index: size };
  }
  const known = end.size >= size ? await before.rootAt(size) : null;
  if ((before.closed && end.size !== size) || (known !== null && known !== root)) {
    const detail = `${origin} does not name the last checkpoint of ${end.origin}`;
    // Where the log is too short, the entry that closed it shows that it does not go on.
    return {
      rule: 'predecessor',
      detail,
      index: end.size < size ? (closing?.index ?? null) : null,
    };
  }
  if (issued_at_ms <= end.last_ms) {
    const detail = `${origin} begins before ${end.origin} ends`;
    return { rule: 'predecessor', detail, index: last };
  }
  return null;
}

const isSize = (value: Json): value is number => Number.isSafeInteger(value);
