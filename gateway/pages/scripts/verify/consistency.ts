// That the log only grew since this browser saw it last. The one check that asks the service, for a proof and nothing
// else: what it answers is verified here. log/FORMAT.md §5.

import { LogError, verifyCheckpoint, verifyConsistency } from '../../../../log/verify.ts';
import type { Json, Line, Trust } from '../../../../log/verify.ts';
import { lastSeen, remember } from './trust.ts';

/** Compares a checkpoint that holds with the one seen last, and remembers the larger one; asks for served logs only. */
export async function compareWithLast(note: string, trust: Trust, served: boolean): Promise<Line> {
  const name = 'same_log_as_before';
  const { origin } = trust;
  const last = lastSeen(origin);
  if (last === null) {
    remember(origin, note);
    return { name, outcome: 'not_shown', detail: 'this browser sees this log for the first time' };
  }
  try {
    const before = verifyCheckpoint(last, trust);
    const now = verifyCheckpoint(note, trust);
    const [older, newer] = before.size <= now.size ? [last, note] : [note, last];
    const [from, to] = [Math.min(before.size, now.size), Math.max(before.size, now.size)];
    const proof = from === to ? [] : served ? await proofBetween(origin, from, to) : null;
    if (proof === null) {
      const detail = 'there is no proof to be had now; what was seen before is kept';
      return { name, outcome: 'not_shown', detail };
    }
    verifyConsistency(older, newer, proof, trust);
    remember(origin, newer);
    const seen = `the tree of ${String(before.size)} entries that this browser saw last`;
    return { name, outcome: 'ok', detail: `one log with ${seen}` };
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    const detail = `${error.message}: this is not the log that this browser saw before; keep both`;
    return { name, outcome: 'failed', detail };
  }
}

async function proofBetween(origin: string, from: number, to: number): Promise<Json | null> {
  const place = /\/log\/(live|sandbox)\/([1-9][0-9]*)$/.exec(origin);
  if (place === null) return null;
  const [, kind = '', n = ''] = place;
  const url = `/log/${kind}/${n}/proof/consistency?from=${String(from)}&to=${String(to)}`;
  try {
    const answer = await fetch(url, { headers: { accept: 'application/json' } });
    return answer.ok ? ((await answer.json()) as { path: Json }).path : null;
  } catch {
    return null;
  }
}
