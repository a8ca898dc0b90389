// The second try of a test file with a failure: alone, in a separate process. This module is also the reporter of
// that process, which writes its outcome to a file instead of a summary line.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Mocha from 'mocha';
import { sum, tally } from './tally.ts';
import type { Outcome } from './tally.ts';

/** The spec reporter of mocha, which also writes the outcome to the file in the reporter option `to`. */
export default class SecondTry extends Mocha.reporters.Spec {
  readonly #outcomes: ReadonlyMap<string, Outcome>;
  readonly #to: string;

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    this.#outcomes = tally(runner);
    this.#to = (options.reporterOptions as { to: string }).to;
  }

  override done(failures: number, finish: (failures: number) => void): void {
    writeFileSync(this.#to, JSON.stringify(sum(this.#outcomes.values())));
    finish(failures);
  }
}

/**
 * Runs a test file with the same mocha and settings, and returns its outcome; undefined if the process did not end in
 * time, or its exit code contradicts its outcome.
 */
export async function tryAgain(file: string, within_ms: number): Promise<Outcome | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'second-try-'));
  const to = join(folder, 'outcome.json');
  const reporter = ['--reporter', fileURLToPath(import.meta.url), '--reporter-option', `to=${to}`];
  const command = [...process.execArgv, process.argv[1] ?? '', '--forbid-only', ...reporter, file];
  try {
    // A separate process group, so that processes started by the tests are killed too.
    const child = spawn(process.execPath, command, { stdio: 'inherit', detached: true });
    const end = (): void => {
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL');
      } catch {
        // The process has exited.
      }
    };
    const timer = setTimeout(end, within_ms);
    const code = await new Promise<number | null>((ended, failed) => {
      child.once('exit', ended).once('error', failed);
    });
    clearTimeout(timer);
    end();
    const outcome = JSON.parse(readFileSync(to, 'utf8')) as Outcome;
    return (code === 0) === (outcome.failed.length === 0) ? outcome : undefined;
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
