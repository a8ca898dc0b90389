// Tests of tools/classifier/learn.ts.

import assert from 'node:assert/strict';
import { exponential, logistic } from '../../../plugins/classify/engine/arithmetic.ts';
import { generator, learn, tellingScales } from '../../../tools/classifier/learn.ts';
import { areaUnderCurve, figures } from '../../../tools/classifier/measure.ts';

const OPTIONS = {
  bits: 4,
  models: 1,
  epochs: 20,
  rate: 0.3,
  decay: 0,
  seed: 7,
  runs: 2,
  scaled: [],
};
const sample = (rows: number[], target: number) => ({
  rows: Int32Array.from(rows),
  targets: [target],
  weights: [1],
});

describe('learning', () => {
  it('separates a separable set, and gives the same model twice', () => {
    const samples = [sample([1, 2], 1), sample([1, 3], 1), sample([4, 2], 0), sample([4, 3], 0)];
    const first = learn(samples, OPTIONS);
    assert.ok((first.weights[1] ?? 0) > 0.5 && (first.weights[4] ?? 0) < -0.5);
    assert.deepEqual(learn(samples, OPTIONS), first);
    assert.notDeepEqual(learn(samples, { ...OPTIONS, seed: 8 }).weights, first.weights);
  });

  it('scales a feature by how well it separates the labels', () => {
    const samples = [sample([1, 2], 1), sample([1, 3], 1), sample([4, 2], 0), sample([4, 3], 0)];
    const scales = tellingScales(samples, { ...OPTIONS, scaled: [0] });
    assert.equal(scales[1], scales[4]);
    assert.ok((scales[1] ?? 0) > 1);
    assert.ok((scales[2] ?? 1) < 0.3);
    assert.ok(tellingScales(samples, OPTIONS).every((scale) => scale === 1));
    const { weights } = learn(samples, { ...OPTIONS, scaled: [0] });
    assert.ok((weights[1] ?? 0) > 0.5 && (weights[4] ?? 0) < -0.5);
  });

  it('does not change a model for a sample without weight', () => {
    const { weights } = learn([{ rows: Int32Array.of(1), targets: [1], weights: [0] }], OPTIONS);
    assert.ok(weights.every((weight) => weight === 0));
  });

  it('computes exponentials as exactly as Math.exp', () => {
    for (let x = -40; x <= 40; x += 0.37) {
      assert.ok(Math.abs(exponential(x) / Math.exp(x) - 1) < 1e-13);
    }
    assert.equal(logistic(0), 0.5);
    assert.ok(logistic(-1000) > 0 && logistic(1000) <= 1);
  });

  it('draws the numbers of mulberry32', () => {
    const random = generator(1);
    assert.equal(random(), 0.6270739405881613);
  });

  it('measures scores with ties', () => {
    const one = (score: number, positive: boolean) => ({
      score,
      positive,
      caught: score >= 500,
      tag: '',
    });
    const scored = [one(900, true), one(500, true), one(500, false), one(100, false)];
    assert.equal(areaUnderCurve(scored), 0.875);
    assert.deepEqual(figures(scored), {
      texts: 4,
      auc: 0.875,
      precision: 2 / 3,
      recall: 1,
      f1: 0.8,
      false_alarms: 1,
    });
  });
});
