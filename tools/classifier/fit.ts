// From rows to shipped weights: vocabulary, features, learning, int8.
import { analyse } from '../../plugins/classify/engine/analysis.ts';
import {
  classPair,
  emit,
  emitWhole,
  wordFeatures,
  tellingClass,
} from '../../plugins/classify/engine/features.ts';
import type { Sink } from '../../plugins/classify/engine/features.ts';
import { engineOf } from '../../plugins/classify/engine/index.ts';
import type { Engine } from '../../plugins/classify/engine/index.ts';
import { HEADS } from '../../plugins/classify/engine/model.ts';
import type { Head, ModelTable } from '../../plugins/classify/engine/model.ts';
import { tokenise } from '../../plugins/classify/engine/tokens.ts';
import { normalise } from '../../plugins/classify/engine/normalise.ts';
import { hitsOf } from '../../plugins/classify/engine/text-hits.ts';
import { buildTables } from '../../plugins/classify/engine/tables.ts';
import type { EngineTables } from '../../plugins/classify/engine/tables.ts';
import { hashWord } from '../../plugins/classify/engine/vocabulary.ts';
import type { Row } from './corpus.ts';
import { learn } from './learn.ts';
import type { Learned, LearnOptions, Sample } from './learn.ts';

export const OPTIONS: LearnOptions = {
  bits: 18,
  models: HEADS.length,
  epochs: 10,
  rate: 0.2,
  decay: 1e-5,
  seed: 20261121,
  runs: 6,
  // Crisis is left out: it ranks new texts a little worse for it.
  scaled: [0, 1],
};

const EMPTY_HEAD = {
  scale: 1,
  bias: 0,
  threshold: 0,
  threshold_short: 0,
  threshold_bare: 0,
  threshold_short_bare: 0,
  threshold_request: 0,
  threshold_trade: 0,
  slope: 1,
};
export const NEUTRAL: ModelTable = {
  bits: 0,
  caution: 0,
  heads: { violation: EMPTY_HEAD, policy: EMPTY_HEAD, crisis: EMPTY_HEAD },
};

/** Tables without a model, for reading texts. */
export function bareTables(words: readonly string[]): EngineTables {
  return buildTables(
    { id: 'bare', version: '0', files: {} },
    words,
    NEUTRAL,
    new Uint8Array(HEADS.length),
  );
}

/**
 * Words of at least `least` training texts: the engine then knows them from misspelt ones. The commonest first, so that
 * the rows that most texts need are close together in memory.
 */
export function vocabularyOf(rows: readonly Row[], least: number): string[] {
  const { vocabulary } = bareTables([]);
  const counts = new Map<string, number>();
  // HateCheck holds disguised spellings on purpose; they must stay unknown.
  const learnt = rows.filter(({ split, set }) => split !== 'test' && set !== 'hatecheck');
  for (const text of new Set(learnt.map((row) => row.text))) {
    const { words } = tokenise(normalise(text).text, vocabulary);
    for (const word of new Set(words)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .filter(([word, count]) => count >= least && /^[a-z]{2,20}$/.test(word))
    .sort(([a, most], [b, least]) => least - most || (a < b ? -1 : 1))
    .map(([word]) => word);
}

/** The features of each row, in its order. */
export function featuresOf(rows: readonly Row[], tables: EngineTables, bits: number): Int32Array[] {
  const shift = 32 - bits;
  const { hashes } = tables.featureClasses;
  let list: number[] = [];
  const add = (hash: number): void => {
    list.push(hash >>> shift);
  };
  const sink: Sink = {
    add,
    word: (_id, word, hash, state, company) => {
      wordFeatures(word, hash, state, company, sink);
    },
    telling: (cls, state, company) => {
      tellingClass(hashes[cls] ?? 0, state, company, sink);
    },
    pairs: (present) => {
      present.forEach((cls, k) => {
        for (const other of present.slice(0, k))
          add(classPair(hashes[other] ?? 0, hashes[cls] ?? 0));
      });
    },
  };
  return rows.map((row) => {
    list = [];
    const analysis = analyse(row.text, tables);
    const { ids } = hitsOf(analysis, row.domain, tables);
    emit(analysis, tables.featureClasses, (_id, word) => hashWord(word), sink);
    emitWhole(analysis, ids, row.domain !== 'general', tables.featureClasses, sink);
    return Int32Array.from(list);
  });
}

/** Learns from the rows that `chosen` lets through. */
export function fit(
  rows: readonly Row[],
  features: readonly Int32Array[],
  chosen: (row: Row) => boolean,
  options: LearnOptions,
): Learned {
  const samples: Sample[] = [];
  rows.forEach((row, at) => {
    const own = features[at];
    if (own === undefined || own.length === 0 || !chosen(row)) return;
    samples.push({
      rows: own,
      targets: row.targets.map((target) => target ?? 0),
      weights: row.weights.map((weight, m) => (row.targets[m] === null ? 0 : weight)),
    });
  });
  return learn(samples, options);
}

/** int8 weights with one scale for each model. */
export function quantise(learned: Learned): { bytes: Int8Array; scales: number[] } {
  const models = HEADS.length;
  const bytes = new Int8Array(learned.weights.length);
  const scales: number[] = [];
  for (let m = 0; m < models; m++) {
    const sizes: number[] = [];
    for (let w = m; w < learned.weights.length; w += models) {
      const size = Math.abs(learned.weights[w] ?? 0);
      if (size > 0) sizes.push(size);
    }
    sizes.sort((a, b) => a - b);
    const top = sizes[Math.floor(sizes.length * 0.9995)] ?? 1;
    // A round scale keeps the table of the model readable.
    const scale = Number((top / 127).toPrecision(6));
    scales.push(scale);
    for (let w = m; w < learned.weights.length; w += models) {
      bytes[w] = Math.max(-127, Math.min(127, Math.round((learned.weights[w] ?? 0) / scale)));
    }
  }
  return { bytes, scales };
}

/** The thresholds of a model. */
export type Thresholds = Pick<
  Head,
  | 'threshold'
  | 'threshold_short'
  | 'threshold_bare'
  | 'threshold_short_bare'
  | 'threshold_request'
  | 'threshold_trade'
>;

/**
 * In the order of HEADS, on the scale of the margin. Chosen by rules stated beforehand, on predictions for training and
 * validation rows by the model of the fold that left them out; the later rules knew the totals of earlier states: see the card.
 */
export const THRESHOLDS: readonly Thresholds[] = [
  {
    threshold: -2.4,
    threshold_short: -0.25,
    threshold_bare: -0.87,
    threshold_short_bare: 0.27,
    threshold_request: 0.7,
    threshold_trade: -0.02,
  },
  {
    threshold: 0.72,
    threshold_short: 2.2,
    threshold_bare: 0.67,
    threshold_short_bare: 1.63,
    threshold_request: 0.09,
    threshold_trade: 0,
  },
  {
    threshold: -3.55,
    threshold_short: -1.39,
    threshold_bare: -3.01,
    threshold_short_bare: 0.92,
    threshold_request: -1.45,
    threshold_trade: 0.67,
  },
];

const OPEN: Thresholds = {
  threshold: 0,
  threshold_short: 0,
  threshold_bare: 0,
  threshold_short_bare: 0,
  threshold_request: 0,
  threshold_trade: 0,
};

/** An engine with freshly learned weights, as it would be shipped. */
export function engineWith(
  words: readonly string[],
  learned: Learned,
  thresholds: readonly Thresholds[],
): { engine: Engine; table: ModelTable; weights: Uint8Array } {
  const { bytes, scales } = quantise(learned);
  const bits = Math.log2(learned.weights.length / HEADS.length);
  const heads = Object.fromEntries(
    HEADS.map((name, m) => [
      name,
      {
        scale: scales[m] ?? 1,
        bias: Number((learned.biases[m] ?? 0).toPrecision(9)),
        ...(thresholds[m] ?? OPEN),
        slope: SLOPE,
      },
    ]),
  ) as Record<(typeof HEADS)[number], Head>;
  const table: ModelTable = { bits, caution: CAUTION, heads };
  const weights = new Uint8Array(bytes.buffer);
  return {
    engine: engineOf(buildTables({ id: 'trial', version: '0', files: {} }, words, table, weights)),
    table,
    weights,
  };
}

/** Chosen on long texts, see the card. */
const CAUTION = 0.5;
/** Margins are on the scale of the logistic already. */
const SLOPE = 1.5;
