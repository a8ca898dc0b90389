// Runs a verifier in another language in its batch mode: one process that reads and writes lines of JSON
// (tools/clients/go/README.md).

import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Case, Kit } from './corpus.ts';
import type { Answer } from './judge.ts';

const GO = fileURLToPath(new URL('../../tools/clients/go', import.meta.url));

/** Why the Go verifier cannot be built here; null when it can. */
export function goMissing(): string | null {
  try {
    const version = execFileSync('go', ['version'], { encoding: 'utf8' });
    const [, minor = '0'] = /go1\.(\d+)/.exec(version) ?? [];
    return Number(minor) >= 24 ? null : `needs Go 1.24: ${version.trim()}`;
  } catch {
    return 'there is no go command';
  }
}

/** Builds the Go verifier and answers its path. */
export function buildGo(): string {
  const program = join(mkdtempSync(join(tmpdir(), 'actlog-go-')), 'actlog-verify');
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly' };
  execFileSync('go', ['build', '-o', program, './cmd/actlog-verify'], { cwd: GO, env });
  return program;
}

/** A running verifier. Answers come in the order of the questions. */
export class Client {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: ((answer: Answer) => void)[] = [];
  #failure: Error | null = null;
  #fail: (error: Error) => void = () => undefined;
  /** Rejects when the process ends before it has answered everything. */
  readonly failed: Promise<never>;

  constructor(command: string, args: readonly string[]) {
    this.failed = new Promise((_, reject) => (this.#fail = reject));
    this.failed.catch(() => undefined);
    this.#child = spawn(command, [...args]);
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.#waiting.shift()?.(JSON.parse(line) as Answer);
    });
    let stderr = '';
    this.#child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    this.#child.stdin.on('error', () => undefined); // reported by `close`
    this.#child.on('error', (error) => {
      this.#fail(error);
    });
    this.#child.on('close', (code) => {
      this.#failure = new Error(`the verifier ended with ${String(code)}: ${stderr}`);
      if (this.#waiting.length > 0) this.#fail(this.#failure);
    });
  }

  /** Sends these cases under a kit; the answers, in their order. */
  ask(kit: Kit, cases: readonly Case[]): Promise<readonly Answer[]> {
    if (this.#failure !== null) throw this.#failure;
    const answers = cases.map(() => new Promise<Answer>((resolve) => this.#waiting.push(resolve)));
    const lines = cases.map(({ file, ask }) =>
      JSON.stringify({ file: file.toString('base64'), ...ask }),
    );
    this.#child.stdin.write(`${[JSON.stringify(kit), ...lines].join('\n')}\n`);
    return Promise.race([Promise.all(answers), this.failed]);
  }

  end(): void {
    this.#child.stdin.end();
  }
}
