// Logistic regression by AdaGrad over hashed features, three models at once. Reproducible: own random numbers, own exponential.
import { logistic } from '../../plugins/classify/engine/arithmetic.ts';

/** One text as the learner sees it. Targets and weights are by model; weight 0 leaves a model untouched. */
export interface Sample {
  /** Row numbers, repeated as often as the feature occurs in the text. */
  readonly rows: Int32Array;
  readonly targets: readonly number[];
  readonly weights: readonly number[];
}

/** The parameters of the learner. */
export interface LearnOptions {
  readonly bits: number;
  readonly models: number;
  readonly epochs: number;
  readonly rate: number;
  /** Weight decay, applied lazily to the rows that are touched. */
  readonly decay: number;
  readonly seed: number;
  /** How many times to learn, each with an order of its own; the weights are the mean. */
  readonly runs: number;
  /** The models whose features are scaled by what they tell apart by themselves (`tellingScales`). */
  readonly scaled: readonly number[];
}

/** Learned weights: `weights[row * models + model]`, and a bias for each model. */
export interface Learned {
  readonly weights: Float32Array;
  readonly biases: Float64Array;
}

/** mulberry32: a small generator with a 32-bit state. */
export function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The mean of several runs, whose orders of the texts differ: what one order happens to teach weighs little. */
export function learn(samples: readonly Sample[], options: LearnOptions): Learned {
  const { runs, seed } = options;
  const scales = tellingScales(samples, options);
  const mean = learnOnce(samples, options, scales);
  for (let run = 1; run < runs; run++) {
    const { weights, biases } = learnOnce(samples, { ...options, seed: seed + run }, scales);
    for (let w = 0; w < weights.length; w++)
      mean.weights[w] = (mean.weights[w] ?? 0) + (weights[w] ?? 0);
    for (let m = 0; m < biases.length; m++)
      mean.biases[m] = (mean.biases[m] ?? 0) + (biases[m] ?? 0);
  }
  mean.weights.forEach((sum, w) => (mean.weights[w] = sum / runs));
  mean.biases.forEach((sum, m) => (mean.biases[m] = sum / runs));
  return mean;
}

/**
 * Runs the given number of passes over the samples, each in a fresh order, and gives the mean of the weights after each pass of
 * the second half: one order of the texts weighs less then.
 */
function learnOnce(
  samples: readonly Sample[],
  options: LearnOptions,
  scales: Float32Array,
): Learned {
  const { models, rate, decay } = options;
  const size = 2 ** options.bits * models;
  const weights = new Float32Array(size);
  const squares = new Float32Array(size).fill(1e-4);
  const biases = new Float64Array(models);
  const biasSquares = new Float64Array(models).fill(1e-2);
  const order = Int32Array.from(samples.keys());
  const random = generator(options.seed);
  const means = new Float32Array(size);
  const biasMeans = new Float64Array(models);
  const first = Math.ceil(options.epochs / 2);
  const share = 1 / (options.epochs - first);
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    shuffle(order, random);
    const pace = rate * (1 - (0.9 * epoch) / options.epochs);
    for (const at of order) {
      const sample = samples[at];
      if (sample === undefined) continue;
      const { rows } = sample;
      const norm = 1 / Math.sqrt(rows.length);
      for (let m = 0; m < models; m++) {
        const weight = sample.weights[m] ?? 0;
        if (weight === 0) continue;
        let sum = 0;
        for (const row of rows) {
          const w = row * models + m;
          sum += (weights[w] ?? 0) * (scales[w] ?? 1);
        }
        const bias = biases[m] ?? 0;
        const slip = (logistic(sum * norm + bias) - (sample.targets[m] ?? 0)) * weight;
        const biasSquare = (biasSquares[m] ?? 0) + slip * slip;
        biasSquares[m] = biasSquare;
        biases[m] = bias - (pace * 0.5 * slip) / Math.sqrt(biasSquare);
        if (slip < 0.002 && slip > -0.002) continue;
        const slope = slip * norm;
        for (const row of rows) {
          const w = row * models + m;
          const old = weights[w] ?? 0;
          const pull = slope * (scales[w] ?? 1) + decay * old;
          const square = (squares[w] ?? 0) + pull * pull;
          squares[w] = square;
          weights[w] = old - (pace * pull) / Math.sqrt(square);
        }
      }
    }
    if (epoch < first) continue;
    for (let w = 0; w < size; w++) means[w] = (means[w] ?? 0) + (weights[w] ?? 0) * share;
    for (let m = 0; m < models; m++) biasMeans[m] = (biasMeans[m] ?? 0) + (biases[m] ?? 0) * share;
  }
  for (let w = 0; w < size; w++) means[w] = (means[w] ?? 0) * (scales[w] ?? 1);
  return { weights: means, biases: biasMeans };
}

/**
 * A factor for each weight: the root of the log-count ratio of its feature (Wang & Manning 2012, NB-SVM) over the mean root, so
 * that features which both labels have equally are learnt slowly. 1 for the models that are not to be scaled. Rounded, so that the last
 * bit of a logarithm decides nothing.
 */
export function tellingScales(samples: readonly Sample[], options: LearnOptions): Float32Array {
  const { models, scaled } = options;
  const size = 2 ** options.bits;
  const scales = new Float32Array(size * models).fill(1);
  for (const m of scaled) {
    const bad = new Float64Array(size).fill(ONCE);
    const good = new Float64Array(size).fill(ONCE);
    for (const { rows, targets, weights } of samples) {
      const weight = Math.min(weights[m] ?? 0, HEAVIEST) / Math.sqrt(rows.length);
      if (weight === 0) continue;
      const target = targets[m] ?? 0;
      for (const row of rows) {
        bad[row] = (bad[row] ?? 0) + weight * target;
        good[row] = (good[row] ?? 0) + weight * (1 - target);
      }
    }
    const even = total(bad) / total(good);
    const roots = bad.map((count, row) =>
      Math.sqrt(Math.abs(Math.log(count / (good[row] ?? ONCE) / even))),
    );
    const seen = bad.map((count, row) => count + (good[row] ?? 0) - 2 * ONCE);
    const mean = total(roots.map((root, row) => root * (seen[row] ?? 0))) / total(seen);
    roots.forEach((root, row) => {
      const scale = Math.min(LARGEST_SCALE, Math.max(SMALLEST_SCALE, root / mean));
      scales[row * models + m] = Math.round(scale * 1024) / 1024;
    });
  }
  return scales;
}

function total(numbers: Float64Array): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

/** What each feature is taken to have been met before it was, in each label. */
const ONCE = 1;
/** No text counts more than this towards the ratios. */
const HEAVIEST = 4;
const SMALLEST_SCALE = 0.2;
const LARGEST_SCALE = 3;

function shuffle(order: Int32Array, random: () => number): void {
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const kept = order[i] ?? 0;
    order[i] = order[j] ?? 0;
    order[j] = kept;
  }
}
