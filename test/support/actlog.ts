// Runs the command line as a child process: the build if it is as new as the sources, otherwise the sources.

import { spawn } from 'node:child_process';
import { programOf } from '../../tools/bench/program.ts';
import type { Body } from './body.ts';

const program = programOf('tools/actlog');

/** The arguments of node that run it. */
export const ACTLOG = program.args;
/** Whether they run the build. */
export const BUILT = program.built;

/** The result of a run. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as JSON. */
  readonly json: Body;
}

/** Options of a run. */
export interface RunOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs to the end, without the environment variables of the caller that are settings. */
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

/** Starts it; the caller reads its output and ends it. */
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
