// How long a classification takes, and that it grows no faster than the text.
import { setTimeout } from 'node:timers/promises';
import { readCatalogBytes } from '../../plugins/contract/index.ts';
import type { Engine } from '../../plugins/classify/engine/index.ts';

const LENGTH = 200;
const SAMPLES = 300;
/** Rounds over all samples to warm up. */
const WARM_ROUNDS = 100;
/**
 * Rounds that are timed, over two minutes: a machine that others share is slow for many seconds at a time, and in between for a
 * few hundredths, and one round takes no longer than that.
 */
const ROUNDS = 600;
const PAUSE_MS = 200;

/** Microseconds, ratios of times for a doubled text, megabytes. */
export interface Speed {
  /** The median over the texts in the quietest of the rounds: the others measure the neighbours of the machine. */
  readonly median_us: number;
  /** The median of all calls of all rounds. */
  readonly median_all_us: number;
  readonly fastest_us: number;
  readonly p99_us: number;
  readonly worst_ratio: number;
  readonly worst_32k_ms: number;
  readonly ratios: Readonly<Record<string, number>>;
  readonly model_mb: number;
}

/** Texts that make matchers sweat: the same words, brackets, quotes, letters and marks again and again. */
export const HOSTILE: Readonly<Record<string, string>> = {
  'one letter': 'a',
  'spaced letters': 'k i l l ',
  'rule words': 'i want to kill all the women because they should not ',
  negators: 'not never no ',
  quotes: '" \' ',
  stars: 'f*',
  leet: '4$$h0l3',
  marks: 'a\u0301\u0302\u200b',
  pictures: '\u{1f600}',
  'look-alikes': '\u0430a',
  'one long word': 'supercalifragilistic',
  sentences: 'He. She. I. ',
  shouts: 'no! why? ',
};

/** Times the engine on 200-character texts cut from `texts`, and on hostile texts of 16 and 32 KiB. */
export async function speedOf(engine: Engine, texts: readonly string[]): Promise<Speed> {
  const joined = texts.join(' ');
  const samples: string[] = [];
  for (let at = 0; at + LENGTH < joined.length && samples.length < SAMPLES; at += LENGTH) {
    samples.push(joined.slice(at, at + LENGTH));
  }
  for (let round = 0; round < WARM_ROUNDS; round++) timesOf(engine, samples);
  const rounds: number[][] = [];
  while (rounds.length < ROUNDS) {
    timesOf(engine, samples);
    rounds.push(sorted(timesOf(engine, samples)));
    await setTimeout(PAUSE_MS);
  }
  const times = sorted(rounds.flat());
  const ratios: Record<string, number> = {};
  let worst = 0;
  for (const [name, piece] of Object.entries(HOSTILE)) {
    const [half, whole] = leastOf(engine, [fill(piece, 16_000), fill(piece, 32_000)]);
    worst = Math.max(worst, whole);
    ratios[name] = Number((whole / Math.max(half, 0.5)).toFixed(2));
  }
  return {
    median_us: Math.min(...rounds.map((round) => part(round, 0.5))),
    median_all_us: part(times, 0.5),
    fastest_us: times[0] ?? 0,
    p99_us: part(times, 0.99),
    worst_ratio: Math.max(...Object.values(ratios)),
    worst_32k_ms: worst,
    ratios,
    model_mb: readCatalogBytes('classify/weights.bin').length / 1e6,
  };
}

/** Microseconds that each text takes. */
function timesOf(engine: Engine, texts: readonly string[]): number[] {
  return texts.map((text) => {
    const start = performance.now();
    engine.classify(text, 'hiring');
    return (performance.now() - start) * 1000;
  });
}

function sorted(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** The number that this share of the others, sorted, lies below. */
function part(numbers: readonly number[], share: number): number {
  return numbers[Math.floor(numbers.length * share)] ?? 0;
}

function fill(piece: string, bytes: number): string {
  return piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)));
}

/** The shortest of fifteen runs of each of two texts by turns, in milliseconds, when both are warm: the others measure neighbours. */
function leastOf(engine: Engine, texts: readonly [string, string]): readonly [number, number] {
  for (let run = 0; run < 10; run++) for (const text of texts) engine.classify(text, 'hiring');
  const least: [number, number] = [Infinity, Infinity];
  for (let run = 0; run < 15; run++) {
    texts.forEach((text, k) => {
      const start = performance.now();
      engine.classify(text, 'hiring');
      least[k] = Math.min(least[k] ?? Infinity, performance.now() - start);
    });
  }
  return least;
}
