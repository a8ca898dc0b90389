// The entries that an absence document shows: all of the window, or a page of them. log/FORMAT.md §6.5.

import type { JsonObject } from '../encoding/json-types.ts';
import { checkFollows, checkNext } from './chain.ts';
import type { Closing, Ground } from './chain.ts';
import type { Question } from './document.ts';
import { linkOn, openEntry } from './open.ts';
import { list, refused } from './shape.ts';

/** Most entries on one page of a document. */
const MAX_ENTRIES = 100;

/**
 * Step 5: the entries of the window, oldest first and without a gap; answers how many.
 *
 * @throws LogError of the check that failed
 */
export function readEntries(
  ground: Ground,
  question: Question,
  document: JsonObject,
  closing: Closing,
): number {
  if (document.entries === undefined) {
    if (document.more !== undefined) throw refused('more stands without entries');
    if (question.after !== undefined) throw refused('a further page has entries');
    return 0;
  }
  const more = document.more !== undefined;
  if (more && document.more !== true) throw refused('more is not true');
  const shown = list(document.entries, 'entries', MAX_ENTRIES).map((opened) => {
    const entry = openEntry(ground.suite, ground.trust, ground.tree, opened);
    return { entry, link: linkOn(entry, question.key) };
  });
  for (const [i, { entry, link }] of shown.entries()) {
    if (entry.ms < question.from_ms || entry.ms > question.to_ms) {
      throw refused('an entry is not in the window');
    }
    const before = shown[i - 1];
    if (before !== undefined) checkNext(before.link, before.entry, link);
    else if (
      question.after === undefined
        ? link.prev !== null && link.prev.ms >= question.from_ms
        : link.prev?.index !== question.after
    ) {
      throw refused('first entry of the window is left out');
    }
  }
  const last = shown.at(-1);
  if (last === undefined) throw refused('entries is empty');
  checkFollows(closing, last.entry, last.link);
  if (more && closing.type !== 'gap') throw refused('more stands without the next entry');
  if (!more && closing.type === 'gap' && closing.successor.ms <= question.to_ms) {
    throw refused('an entry of the window is left out');
  }
  return shown.length;
}
