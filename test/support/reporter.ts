// The reporter of `npm test`: the spec reporter of mocha, then one summary line for machines. A run without any test
// fails. If `CI` is set, a file with a failure is run once more, alone; a test that then passes is reported as flaky
// and counts as passed.

import { relative } from 'node:path';
import Mocha from 'mocha';
import { tryAgain } from './second-try.ts';
import { sum, tally } from './tally.ts';
import type { Outcome } from './tally.ts';

/** If more files fail, the failures are not by chance. */
const MAX_FILES = 5;
/** Seconds that a run with its second tries may take, unless the reporter option `until_s` sets another limit. */
const UNTIL_S = 1320;

/** A run with more files lists the slowest of them. */
const FEW = 20;

/** Prints `N passed, N failed` (and `, N skipped`) alone on the last line. */
export default class Closing extends Mocha.reporters.Spec {
  readonly #outcomes: ReadonlyMap<string, Outcome>;
  readonly #until_s: number;

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    this.#outcomes = tally(runner);
    const { until_s } = (options.reporterOptions ?? {}) as { until_s?: string };
    this.#until_s = Number(until_s ?? UNTIL_S);
  }

  /** Called by mocha after all hooks and global fixtures, with the number of failures. */
  override done(failures: number, finish: (failures: number) => void): void {
    void this.#settle(failures).then(finish);
  }

  async #settle(failures: number): Promise<number> {
    const outcomes = new Map(this.#outcomes);
    // A failed global teardown is counted in `failures` only.
    const elsewhere = Math.max(0, failures - sum(outcomes.values()).failed.length);
    const failing = [...outcomes].filter(([, { failed }]) => failed.length > 0);
    const byChance =
      elsewhere === 0 && failing.length <= MAX_FILES && failing.every(([file]) => file !== '');
    if (byChance && (process.env['CI'] ?? '') !== '')
      for (const [file, first] of failing) outcomes.set(file, await this.#again(file, first));
    if (outcomes.size > FEW) process.stdout.write(slowest(outcomes));
    const { passed, skipped, failed } = sum(outcomes.values());
    const all = failed.length + elsewhere;
    if (passed + all === 0) process.stderr.write('no test ran\n');
    const rest = skipped > 0 ? `, ${String(skipped)} skipped` : '';
    process.stdout.write(`${String(passed)} passed, ${String(all)} failed${rest}\n`);
    return passed + all === 0 ? 1 : all;
  }

  /** The outcome of the last valid try of a file. */
  async #again(file: string, first: Outcome): Promise<Outcome> {
    const name = relative(process.cwd(), file);
    process.stdout.write(`\nsecond try: ${name}\n`);
    const left_ms = (this.#until_s - process.uptime()) * 1000;
    const second = left_ms > 0 ? await tryAgain(file, left_ms) : undefined;
    // A try that skipped tests is not valid.
    if (
      second === undefined ||
      second.skipped > first.skipped ||
      second.passed + second.failed.length < Math.max(1, first.passed)
    ) {
      process.stdout.write(`no second outcome: ${name}\n`);
      return first;
    }
    for (const title of first.failed)
      if (!second.failed.includes(title)) process.stdout.write(`flaky: ${name}: ${title}\n`);
    return second;
  }
}

/** The files that took most of the time, slowest first. */
function slowest(outcomes: ReadonlyMap<string, Outcome>): string {
  const lines = [...outcomes]
    .sort(([, a], [, b]) => b.spent_ms - a.spent_ms)
    .slice(0, FEW)
    .map(([file, { spent_ms }]) => {
      const seconds = (spent_ms / 1000).toFixed(1).padStart(7);
      return `${seconds} s  ${relative(process.cwd(), file)}\n`;
    });
  return `\nslowest files:\n${lines.join('')}`;
}
