// POST /api/v1/absence/spoliation-report: reports records that should exist on a declared surface and do not. The entry
// contains the whole report. gateway/API.md §9.4.

import { Type } from 'typebox';
import {
  ApiError,
  chainCount,
  checkWithinNewest,
  declares,
  EntityName,
  Millis,
  namedStatement,
  receiptOf,
  route,
  smallestInterval,
  spanOf,
  SurfaceName,
  firstOf,
} from '../contract/index.ts';
import type { ChainKey, JsonObject, LogView, PluginHost, Route } from '../contract/index.ts';
import { MAX_LISTED, REPORT, ReportMembers, reportType } from './entries.ts';

/** The members of a heartbeat that the report uses; times are log times. */
export interface Beat {
  readonly ms: number;
  readonly interval_ms: number;
  /** Start of its run (log/FORMAT.md §4.5). */
  readonly run_since_ms: number;
  readonly acts_total: number | null;
}

/** A stretch of log time. */
interface Window {
  readonly from_ms: number;
  readonly to_ms: number;
}

/** A stretch between two heartbeats in which more acts were counted than logged. */
interface Shortfall extends Window {
  readonly acts_counted: number;
  readonly acts_logged: number;
}

/**
 * The stretches of the window without a heartbeat that are longer than the interval. A heartbeat that states a longer
 * interval does not count (log/FORMAT.md §6.7). Beats must be in order, and may lie up to one interval outside the
 * window.
 */
export function uncovered(
  beats: readonly Beat[],
  { from_ms, to_ms }: Window,
  interval_ms: number,
): Window[] {
  const gaps: Window[] = [];
  let last = from_ms;
  const until = (ms: number): void => {
    if (ms - last > interval_ms) gaps.push({ from_ms: last, to_ms: ms });
    last = Math.max(last, ms);
  };
  for (const beat of beats) {
    if (beat.interval_ms <= interval_ms) until(Math.min(beat.ms, to_ms));
  }
  until(to_ms);
  return gaps;
}

/** The comparison of the heartbeats' counters with the entries of the surface. */
interface Tally {
  /** Null if fewer than two heartbeats of the window have a counter. */
  readonly acts_counted: number | null;
  readonly acts_never_logged: number | null;
  /** How often a counter decreased. The acts counted across a decrease are unknown. */
  readonly counter_resets: number;
  readonly shortfalls: readonly Shortfall[];
}

/** A heartbeat with a counter. */
type Counting = Beat & { readonly acts_total: number };

/**
 * Compares counters with entries, run by run. Acts may be logged late: entries between the last heartbeat of a run and
 * the next run, beyond the number counted there, reduce the shortfall of the run. A surplus in one run does not reduce
 * the shortfall of another. A counter that decreases ends a run, as a missed heartbeat does.
 *
 * @param logged log times of the surface's entries from the first heartbeat to the end of the window, in order
 */
export function tally(beats: readonly Beat[], logged: readonly number[]): Tally {
  const counting = beats.filter((beat): beat is Counting => beat.acts_total !== null);
  const [first] = counting;
  if (first === undefined || counting.length < 2) {
    return { acts_counted: null, acts_never_logged: null, counter_resets: 0, shortfalls: [] };
  }
  let acts_counted = 0;
  let acts_never_logged = 0;
  let counter_resets = 0;
  const shortfalls: Shortfall[] = [];
  /** Acts of the present run that were counted but not logged; negative for a surplus. */
  let lacking = 0;
  let before = first;
  let at = logged.filter((ms) => ms <= first.ms).length;
  for (const beat of counting.slice(1)) {
    const from = at;
    while (at < logged.length && (logged[at] ?? Infinity) <= beat.ms) at += 1;
    const acts_logged = at - from;
    const counted = beat.acts_total - before.acts_total;
    if (counted < 0) {
      counter_resets += 1;
      acts_never_logged += Math.max(0, lacking);
      lacking = 0;
    } else {
      acts_counted += counted;
      const missing = counted - acts_logged;
      if (missing > 0) {
        const { ms: from_ms } = before;
        shortfalls.push({ from_ms, to_ms: beat.ms, acts_counted: counted, acts_logged });
      }
      if (beat.run_since_ms === before.run_since_ms) lacking += missing;
      else {
        acts_never_logged += Math.max(0, Math.max(0, lacking) + missing);
        lacking = 0;
      }
    }
    before = beat;
  }
  acts_never_logged += Math.max(0, lacking - (logged.length - at));
  return { acts_counted, acts_never_logged, counter_resets, shortfalls };
}

/** Largest number of entries of a chain that one report reads. */
const MAX_READ = 10_000;
const PAGE = 1000;
/** Entries that are read at a cost of 1. */
const ENTRIES_PER_COST = 2000;

const DOES_NOT_ASSERT: readonly string[] = [
  'why a heartbeat or an entry is missing, or whose fault that is',
  'that an act which was never logged took place: the counter is the word of the recorder',
  'anything about acts logged after the window, or under another surface or entity',
];

const ReportAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    report: ReportMembers,
    does_not_assert: Type.Array(Type.String()),
    receipt: receiptOf(reportType),
  },
  { $id: 'SpoliationReport' },
);

/** The route of the report. */
export function spoliationRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/absence/spoliation-report',
    tag: 'absence',
    summary: 'Type III spoliation: records that should exist on a declared surface and do not',
    description:
      'Lists the stretches without heartbeats, and the acts that heartbeats counted but that were not logged. The ' +
      'window must be closed; `Prefer: wait=N` waits for that. A report covers one log, so the window must not begin ' +
      'before the newest log; use `proof/lookup` for the log before it.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      { entity: EntityName, surface: SurfaceName, from_ms: Millis, to_ms: Millis },
      { $id: 'SpoliationRequest' },
    ),
    responses: { 200: { description: 'The report.', schema: ReportAnswer } },
    errors: ['window_not_closed'],
    example: {
      entity: 'did:example:acme',
      surface: 'policy_bind',
      from_ms: 1790000000000,
      to_ms: 1790003600000,
    },
    async cost({ body: { entity, surface }, caller }) {
      const log = host.log(caller.kind);
      const counts = ['surface', 'heartbeat'].map((kind) =>
        chainCount(log, [kind, entity, surface]),
      );
      const [acts = 0, beats = 0] = await Promise.all(counts);
      return 1 + (Math.min(acts, MAX_READ) + Math.min(beats, MAX_READ)) / ENTRIES_PER_COST;
    },
    async handle(ctx) {
      const { body, caller, wait_ms } = ctx.state;
      if (body.from_ms > body.to_ms) {
        throw new ApiError('parameter_invalid', 'from_ms is after to_ms', { param: 'from_ms' });
      }
      const { entity, surface, from_ms } = body;
      const log = checkWithinNewest(host, caller.kind, from_ms, ['surface', entity, surface]);
      await log.windowClosed(body.to_ms, wait_ms);
      const members = await reportOn(log, body);
      await ctx.state.append([{ type: REPORT, members }]);
    },
    respond(entries) {
      const { statement, receipt } = firstOf(entries);
      const report = Object.fromEntries(
        Object.keys(ReportMembers.properties).map((name) => [name, statement[name]]),
      );
      return { ok: true, report, does_not_assert: [...DOES_NOT_ASSERT], receipt };
    },
  });
}

interface Asked extends Window {
  readonly entity: string;
  readonly surface: string;
}

/** The members of the report on a surface in a closed window. */
async function reportOn(log: LogView, asked: Asked): Promise<JsonObject> {
  const { entity, surface, from_ms, to_ms } = asked;
  const { size, map_head_ms } = log.published();
  const { declared, interval_ms } = await declaredIn(log, asked);
  const around = interval_ms ?? 0;
  const beats = await beatsOf(log, asked, {
    from_ms: Math.max(0, from_ms - around),
    to_ms: Math.min(map_head_ms, to_ms + around),
  });
  const inside = beats.filter(({ ms }) => ms >= from_ms && ms <= to_ms);
  const key: ChainKey = ['surface', entity, surface];
  const logged = (await rowsOf(log, key, asked)).map(({ ms }) => ms);
  const gaps = interval_ms === null ? [] : uncovered(beats, asked, interval_ms);
  const { shortfalls, ...counted } = tally(inside, logged);
  return {
    subject_key: key as unknown as JsonObject[],
    from_ms,
    to_ms,
    checkpoint_size: size,
    declared,
    interval_ms,
    heartbeats: inside.length,
    uncovered: gaps.slice(0, MAX_LISTED).map((gap) => ({ ...gap })),
    uncovered_count: gaps.length,
    uncovered_ms: gaps.reduce((sum, gap) => sum + gap.to_ms - gap.from_ms, 0),
    acts_logged: logged.length,
    ...counted,
    shortfalls: shortfalls.slice(0, MAX_LISTED).map((shortfall) => ({ ...shortfall })),
    shortfall_count: shortfalls.length,
    finding: findingOf(gaps.length > 0, (counted.acts_never_logged ?? 0) > 0),
  };
}

function findingOf(gaps: boolean, unlogged: boolean): string {
  if (gaps && unlogged) return 'UNCOVERED_AND_UNLOGGED';
  if (gaps) return 'UNCOVERED';
  return unlogged ? 'UNLOGGED' : 'NONE';
}

/** Whether manifests declare the surface during the window, by the rule of absence documents. */
async function declaredIn(
  log: LogView,
  { entity, surface, from_ms, to_ms }: Asked,
): Promise<{ declared: boolean; interval_ms: number | null }> {
  const rows = await rowsOf(log, ['manifest', entity], { from_ms: 0, to_ms });
  const before = rows.findLastIndex(({ ms }) => ms < from_ms);
  if (before < 0) return { declared: false, interval_ms: null };
  const spans = rows.slice(before).map(({ index }) => spanOf(namedStatement(log, index), surface));
  return { declared: declares(spans, { from_ms, to_ms }), interval_ms: smallestInterval(spans) };
}

async function beatsOf(log: LogView, { entity, surface }: Asked, window: Window): Promise<Beat[]> {
  const rows = await rowsOf(log, ['heartbeat', entity, surface], window);
  return rows.map(({ index, ms }) => {
    const { interval_ms, run_since_ms, acts_total } = namedStatement(log, index);
    return {
      ms,
      interval_ms: interval_ms as number,
      run_since_ms: run_since_ms as number,
      acts_total: typeof acts_total === 'number' ? acts_total : null,
    };
  });
}

async function rowsOf(
  log: LogView,
  key: ChainKey,
  { from_ms, to_ms }: Window,
): Promise<{ index: number; ms: number }[]> {
  const rows: { index: number; ms: number }[] = [];
  for (;;) {
    const last = rows.at(-1);
    const page = await log.chain(
      { key, from_ms, to_ms },
      { limit: PAGE, ...(last === undefined ? {} : { after: last.index }) },
    );
    rows.push(...page);
    if (page.length < PAGE) return rows;
    if (rows.length >= MAX_READ) {
      const message = `the window has over ${String(MAX_READ)} entries on a chain: ask for a shorter one`;
      throw new ApiError('parameter_invalid', message, { param: 'to_ms' });
    }
  }
}
