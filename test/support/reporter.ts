// The reporter of `npm test`: mocha's spec, then one closing line that a machine can read.
// A run in which no test ran is a failure, whatever mocha says.

import Mocha from 'mocha';

/** Prints `N passed, N failed` (and `, N skipped`) alone on the last line. */
export default class Closing extends Mocha.reporters.Spec {
  /** Called by mocha once all hooks and global fixtures are through, with the exit status to be. */
  override done(failures: number, finish: (failures: number) => void): void {
    const { passes, pending } = this.stats;
    // A failing global teardown is in `failures` only.
    const failed = Math.max(failures, this.stats.failures);
    if (passes + failed === 0) process.stderr.write('no test ran\n');
    const skipped = pending > 0 ? `, ${String(pending)} skipped` : '';
    process.stdout.write(`${String(passes)} passed, ${String(failed)} failed${skipped}\n`);
    finish(passes + failed === 0 ? 1 : failed);
  }
}
