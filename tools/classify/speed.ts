// How long a classification takes, and that it grows no faster than the text.
import { readCatalogBytes } from '../../plugins/catalog.ts';
import type { Engine } from '../../plugins/classify/engine/index.ts';

const LENGTH = 200;
const ROUNDS = 12_000;

/** Microseconds, ratios of times for a doubled text, megabytes. */
export interface Speed {
  readonly median_us: number;
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
};

/** Times the engine on 200-character texts cut from `texts`, and on hostile texts of 16 and 32 KiB. */
export function speedOf(engine: Engine, texts: readonly string[]): Speed {
  const joined = texts.join(' ');
  const samples: string[] = [];
  for (let at = 0; at + LENGTH < joined.length && samples.length < 300; at += LENGTH) {
    samples.push(joined.slice(at, at + LENGTH));
  }
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const text = samples[round % samples.length] ?? '';
    const start = performance.now();
    engine.classify(text, 'hiring');
    if (round >= ROUNDS / 4) times.push((performance.now() - start) * 1000);
  }
  times.sort((a, b) => a - b);
  const ratios: Record<string, number> = {};
  let worst = 0;
  for (const [name, piece] of Object.entries(HOSTILE)) {
    const whole = fill(piece, 32_000);
    const long = best(engine, whole);
    worst = Math.max(worst, long);
    ratios[name] = Number((long / Math.max(best(engine, fill(piece, 16_000)), 0.5)).toFixed(2));
  }
  return {
    median_us: times[Math.floor(times.length / 2)] ?? 0,
    fastest_us: times[0] ?? 0,
    p99_us: times[Math.floor(times.length * 0.99)] ?? 0,
    worst_ratio: Math.max(...Object.values(ratios)),
    worst_32k_ms: worst,
    ratios,
    model_mb: readCatalogBytes('classify/weights.bin').length / 1e6,
  };
}

function fill(piece: string, bytes: number): string {
  return piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)));
}

/** The shortest of fifteen runs, in milliseconds: on a busy machine the others measure its neighbours. */
function best(engine: Engine, text: string): number {
  let least = Infinity;
  for (let run = 0; run < 15; run++) {
    const start = performance.now();
    engine.classify(text, 'hiring');
    least = Math.min(least, performance.now() - start);
  }
  return least;
}
