// One figure of the bench: what was measured, what it must reach, and how busy the machine's host was.

import { readFileSync } from 'node:fs';

/** How a figure is read: a plain ratio, or a unit of its own. */
export type Unit = 'ratio' | 'ms' | 's' | 'KB' | 'MB';

/** What a figure measures, and the value that it must reach. */
export interface Target {
  /** `<bench>.<figure>`. */
  readonly name: string;
  /** In the words of the requirement. */
  readonly what: string;
  readonly unit: Unit;
  /** Whether more or less of it is wanted. */
  readonly better: 'higher' | 'lower';
  readonly at_least: number;
  readonly aim: number;
}

/** A measured figure. */
export interface Figure extends Target {
  readonly value: number;
  /** Medians that the value was made of, by name: rates per second unless the name says otherwise. */
  readonly parts: Readonly<Record<string, number>>;
  /** Share of processor time that the host gave to others while this was measured; null off Linux. */
  readonly steal: number | null;
}

/** How far the runs of a bench go. */
export interface BenchOptions {
  /** Smaller sizes and shorter runs: a first look, no verdict. */
  readonly quick: boolean;
  /** Entries of the large log of `growth` and `startup`, instead of a million; of a cluster when a new node fills its copy. */
  readonly entries?: number;
}

/** One measurement, which may give several figures. */
export interface Bench {
  readonly name: string;
  run(options: BenchOptions): Promise<readonly Figure[]>;
}

/** Whether a figure reaches a limit, in its own direction. */
export const reaches = ({ value, better }: Figure, limit: number): boolean =>
  better === 'higher' ? value >= limit : value <= limit;

/** Starts measuring steal time; the answer is the share since then. */
export function stealMeter(): () => number | null {
  const before = processorTimes();
  return () => {
    const after = processorTimes();
    if (before === null || after === null || after.total === before.total) return null;
    return (after.steal - before.steal) / (after.total - before.total);
  };
}

/** proc(5), first line of /proc/stat: user nice system idle iowait irq softirq steal, in ticks. */
function processorTimes(): { steal: number; total: number } | null {
  let line: string;
  try {
    line = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '';
  } catch {
    return null;
  }
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return { steal: ticks[7] ?? 0, total: ticks.reduce((sum, n) => sum + n, 0) };
}

/** The middle value; of an even number of values the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Runs the measurements in turn, A B A B, so that a slow spell of the machine meets them all. */
export async function interleave<Name extends string>(
  turns: number,
  measurements: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number>> {
  const entries = Object.entries(measurements) as [Name, () => Promise<number>][];
  const seen = new Map<Name, number[]>(entries.map(([name]) => [name, []]));
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [name, measure] of entries) seen.get(name)?.push(await measure());
  }
  return Object.fromEntries([...seen].map(([name, values]) => [name, median(values)])) as Record<
    Name,
    number
  >;
}

/** Medians of two measurements taken in turns, and of their quotient within each turn. */
export interface Quotient {
  readonly over: number;
  readonly under: number;
  readonly ratio: number;
}

/**
 * Measures two things in turns, each first in every other one. The quotient is that of the turns, not of the
 * medians: a slow spell of the machine that is longer than a turn meets both of its measurements.
 */
export async function quotient(
  turns: number,
  over: () => Promise<number>,
  under: () => Promise<number>,
): Promise<Quotient> {
  const seen: { readonly over: number; readonly under: number }[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    if (turn % 2 === 0) {
      const first = await over();
      seen.push({ over: first, under: await under() });
    } else {
      const first = await under();
      seen.push({ over: await over(), under: first });
    }
  }
  return {
    over: median(seen.map((turn) => turn.over)),
    under: median(seen.map((turn) => turn.under)),
    ratio: median(seen.map((turn) => turn.over / turn.under)),
  };
}
