// The second try of a test file in which something failed: alone, in a process of its own. This module is the
// reporter of that process as well, which closes with no line but hands its outcome back in a file.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Mocha from 'mocha';
import { sum, tally } from './tally.ts';
import type { Outcome } from './tally.ts';

/** mocha's spec, and the outcome in the file that the reporter option `to` names. */
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
 * Runs a test file by the same mocha with the same settings and answers with what came of it; with undefined when
 * nothing can be believed: the process did not end in time, or not as its outcome says.
 */
export async function tryAgain(file: string, within_ms: number): Promise<Outcome | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'second-try-'));
  const to = join(folder, 'outcome.json');
  const reporter = ['--reporter', fileURLToPath(import.meta.url), '--reporter-option', `to=${to}`];
  const command = [...process.execArgv, process.argv[1] ?? '', '--forbid-only', ...reporter, file];
  try {
    // A group of its own: what the tests started ends with it.
    const child = spawn(process.execPath, command, { stdio: 'inherit', detached: true });
    const end = (): void => {
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL');
      } catch {
        // It ended by itself.
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
