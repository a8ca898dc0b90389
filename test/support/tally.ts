// The outcomes of the tests in each file of a run.

import type { Runnable, Runner } from 'mocha';

/** The outcome of a file; for failed tests and hooks, their titles. */
export interface Outcome {
  passed: number;
  skipped: number;
  /** Milliseconds in tests and hooks. */
  spent_ms: number;
  readonly failed: string[];
}

/** Fills the map while the runner runs. Failures outside all files are under ''. */
export function tally(runner: Runner): ReadonlyMap<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  const of = ({ file = '' }: Runnable): Outcome => {
    const outcome = outcomes.get(file) ?? { passed: 0, skipped: 0, spent_ms: 0, failed: [] };
    outcomes.set(file, outcome);
    return outcome;
  };
  runner.on('pass', (test) => (of(test).passed += 1));
  runner.on('pending', (test) => (of(test).skipped += 1));
  runner.on('test end', (test) => (of(test).spent_ms += test.duration ?? 0));
  runner.on('hook end', (hook) => (of(hook).spent_ms += hook.duration ?? 0));
  runner.on('fail', (failed) => of(failed).failed.push(failed.fullTitle()));
  return outcomes;
}

/** The sum of the outcomes of several files. */
export function sum(outcomes: Iterable<Outcome>): Outcome {
  const all: Outcome = { passed: 0, skipped: 0, spent_ms: 0, failed: [] };
  for (const { passed, skipped, spent_ms, failed } of outcomes) {
    all.passed += passed;
    all.skipped += skipped;
    all.spent_ms += spent_ms;
    all.failed.push(...failed);
  }
  return all;
}
