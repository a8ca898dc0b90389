// Runs the command line as a process of its own, as a user would: built, when the build is as new as the source.

import { spawn } from 'node:child_process';
import { programOf } from '../../tools/bench/program.ts';
import type { Body } from './body.ts';

const program = programOf('tools/actlog');

/** What node is given to run it. */
export const ACTLOG = program.args;
/** Whether that is the build. */
export const BUILT = program.built;

/** What a run left. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as JSON. */
  readonly json: Body;
}

/** How it is run. */
export interface RunOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs to the end. Settings of the caller's environment do not reach it. */
export function actlog(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = start(args, options);
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({ code, stdout, stderr, json: jsonOf(stdout) });
    });
    child.stdin.end(options.stdin ?? '');
  });
}

/** Starts it and leaves it running; the caller reads and ends it. */
export function start(args: readonly string[], { env = {}, cwd }: RunOptions = {}) {
  const { PATH = '', HOME = '', XDG_STATE_HOME = '', NODE_V8_COVERAGE } = process.env;
  const kept = {
    PATH,
    HOME,
    XDG_STATE_HOME,
    ...(NODE_V8_COVERAGE === undefined ? {} : { NODE_V8_COVERAGE }),
  };
  return spawn(process.execPath, [...ACTLOG, ...args], {
    env: { ...kept, NODE_NO_WARNINGS: '1', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
