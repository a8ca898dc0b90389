// Makes complete absence documents (log/FORMAT.md §6.6, §6.7): the lookup on a surface's chain, the manifests in force,
// and one heartbeat of an unbroken run. The verdict is computed by the same rules as in a verifier.

import { native } from '../crypto/native.ts';
import type { Core } from '../write/core.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { lookup, rowsFrom, type Question } from './lookup.ts';
import { skey } from '../map/key.ts';
import { chainEnd, openAt } from './parts.ts';
import type { Visible } from '../write/publisher.ts';
import { declares, smallestInterval, spanOf, type Span } from '../rules/surfaces.ts';
import type { ChainRow, Opened } from '../types.ts';

/** Manifests of one entity in one window; more than these make the document UNDECLARED. */
const MAX_MANIFESTS = 100;

/** Heartbeats read at a time. */
const HEARTBEATS_PAGE = 16;

/** The answer to a question about a surface, as a document; other kinds are a plain lookup. */
export async function absence(
  core: Core,
  visible: Visible,
  question: Question,
): Promise<JsonObject> {
  const [kind, entity = '', surface = ''] = question.key;
  const finding = lookup(core, visible, question);
  if (kind !== 'surface') return finding;
  // Started together, because the fold answers both in one message. Most answers are ABSENT and need both.
  const declaring = manifestsOf(core, visible, entity, surface, question);
  declaring.catch(() => undefined);
  const found = await finding;
  // A complete document also answers about parts of its window without entries, by manifests and heartbeat (§6.9).
  const isPresent = found.verdict === 'PRESENT';
  if (isPresent && found.more !== undefined) return found;
  const manifests = await declaring;
  if (manifests === null) return found;
  const { declared, spans } = manifests;
  // Assigned and not spread: a spread costs a microsecond for each document.
  const as = (empty: string, more: JsonObject = {}): JsonObject =>
    Object.assign({}, found, { declared, verdict: isPresent ? 'PRESENT' : empty }, more);
  if (!declares(spans, question)) return as('UNDECLARED');
  const interval_ms = smallestInterval(spans);
  if (interval_ms === null) return as('ABSENT');
  const coverage = await coverageOf(core, visible, question, interval_ms);
  if (coverage === null) return as('UNDERSAMPLED');
  const { heartbeat, covers } = coverage;
  return as(covers ? 'ABSENT' : 'UNDERSAMPLED', { coverage: { heartbeat } });
}

/**
 * The manifest before the window and those in the window, with the proof that none follows; null if none precedes the
 * window.
 */
async function manifestsOf(
  core: Core,
  visible: Visible,
  entity: string,
  surface: string,
  { from_ms, to_ms }: Question,
): Promise<{ declared: JsonObject; spans: Span[] } | null> {
  const place = skey(native, core.origin, ['manifest', entity]);
  const rows = await rowsFrom(core, visible, place, {
    from_ms,
    limit: MAX_MANIFESTS + 1,
    withOneBefore: true,
  });
  const [first] = rows;
  if (first === undefined || first.ms >= from_ms) return null;
  const shown = rows.filter(({ ms }) => ms <= to_ms);
  if (shown.length > MAX_MANIFESTS) return null;
  const next = rows[shown.length];
  const closing =
    next === undefined
      ? await chainEnd(core, visible, place)
      : { successor: openAt(core, next.index, visible), type: 'gap' };
  const manifests = shown.map(({ index }) => openAt(core, index, visible));
  return {
    declared: { closing: closing as unknown as Json, manifests: manifests as unknown as Json },
    spans: manifests.map((opened) => spanOf(statementOf(opened), surface)),
  };
}

/** Cache of manifests, shared by the answers under one tree. */
const statements = new WeakMap<Opened, JsonObject>();

/**
 * The statement of an opened entry. It is not verified again, because `openAt` compared the entry with its leaf hash.
 */
function statementOf(opened: Opened): JsonObject {
  const known = statements.get(opened);
  if (known !== undefined) return known;
  const made = JSON.parse(opened.entry) as JsonObject;
  statements.set(opened, made);
  return made;
}

/** A heartbeat whose run covers the window; if there is none, the newest that could have covered it. */
async function coverageOf(
  core: Core,
  visible: Visible,
  { key, from_ms, to_ms }: Question,
  interval_ms: number,
): Promise<{ heartbeat: Json; covers: boolean } | null> {
  const [, entity = '', surface = ''] = key;
  const place = skey(native, core.origin, ['heartbeat', entity, surface]);
  const start = Math.max(0, to_ms - interval_ms);
  let shown: number | null = null;
  for (let page: readonly ChainRow[] | null = null; page === null || page.length > 0;) {
    page = await rowsFrom(core, visible, place, {
      from_ms: start,
      ...(shown === null ? {} : { after: shown }),
      limit: HEARTBEATS_PAGE,
      withOneBefore: shown === null,
    });
    for (const { index, ms } of page) {
      shown = index;
      const beat = core.statementAt(index);
      const covers =
        (beat.interval_ms as number) <= interval_ms &&
        (beat.run_since_ms as number) <= from_ms + interval_ms &&
        ms >= start;
      // If a later heartbeat covers the window, its run began before this one, so this one covers it too.
      if (!covers && (ms < start || ms <= from_ms + interval_ms)) continue;
      return { heartbeat: openAt(core, index, visible) as unknown as Json, covers };
    }
  }
  if (shown === null) return null;
  return { heartbeat: openAt(core, shown, visible) as unknown as Json, covers: false };
}
