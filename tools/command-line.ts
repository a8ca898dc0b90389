// What every command shares: exit codes, the settings of a data folder, and expected failures in words.

import { availableParallelism } from 'node:os';
import { Option, type Command } from 'commander';
import type { ConfigSources } from '../gateway/config.ts';
import { LOG_KINDS } from '../log/index.ts';

/** Exit codes. `fsck` and `verify` use 0 to 2, `monitor` all but 1. */
export const EXIT = { ok: 0, failed: 1, unknown: 2, violation: 3, trouble: 4 } as const;

const BRAND = Symbol.for('actlog.CommandError');

/** A failure that the command foresees; its message is all that the user sees. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly [BRAND] = true;
  readonly exit: number;

  constructor(message: string, exit: number = EXIT.failed) {
    super(message);
    this.exit = exit;
  }
}

/** Whether a thrown value is a CommandError. */
export const isCommandError = (thrown: unknown): thrown is CommandError =>
  thrown instanceof Error && BRAND in thrown;

/** Errors that are answers, not defects: they are printed in one line. */
const EXPECTED = new Set([
  ...['CommandError', 'LogError', 'ConfigError', 'AdminError', 'PluginError', 'MirrorTrouble'],
]);

/**
 * Runs an action and leaves its exit code: what it answers with, or `failure` for an expected error.
 * A defect is shown with its stack, since somebody has to find it.
 */
export function acting<A extends unknown[]>(
  failure: number,
  action: (...args: A) => Promise<number | undefined>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      process.exitCode = (await action(...args)) ?? EXIT.ok;
    } catch (error) {
      if (!isExpected(error)) throw error;
      process.stderr.write(`actlog: ${inWords(error)}\n`);
      process.exitCode = isCommandError(error) ? error.exit : failure;
    }
  };
}

function isExpected(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // Of the operating system: no such file, no permission, disk full.
  return EXPECTED.has(error.name) || 'syscall' in error;
}

/**
 * Takes what goes wrong with standard output and standard error, by which no command is cut off, least of all a server.
 * A reader that has seen enough (`| head`) closes the pipe, and the rest is discarded. Any other error, such as a
 * full disk, is printed once, and the command ends with `failed`.
 */
export function withoutReaders(): void {
  let told = false;
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || told) return;
      told = true;
      process.once('exit', () => (process.exitCode = EXIT.failed));
      process.stderr.write(`actlog: ${inWords(error)}\n`);
    });
  }
}

/** Of a file the system says "ENOENT: no such file or directory, open 'x'"; a user reads "x: no such file or directory". */
function inWords(error: Error): string {
  const { path, code = '', syscall = '' } = error as NodeJS.ErrnoException;
  const { message } = error;
  if (path === undefined || !message.startsWith(`${code}: `)) return message;
  return `${path}: ${message.slice(code.length + 2).replace(`, ${syscall} '${path}'`, '')}`;
}

/** A key id is a SHA-256 in base64url (RFC 7638), so one in 64 looks like an option. */
const KID_LIKE_OPTION = /^-[A-Za-z0-9_-]{42}$/;

/** Arguments of `keys` with such key ids last, after `--`: elsewhere they would be unknown options. None is the value of one. */
export function withKeyIds(args: readonly string[]): string[] {
  const kids = args.filter((arg) => KID_LIKE_OPTION.test(arg));
  if (args[0] !== 'keys' || kids.length === 0 || args.includes('--')) return [...args];
  return [...args.filter((arg) => !kids.includes(arg)), '--', ...kids];
}

/** Where the data of a command is. */
export interface DataOptions {
  readonly config?: string;
  readonly data?: string;
}

/** Adds the options that say where the data is. */
export function withData(command: Command): Command {
  return command
    .option(
      '--config <file>',
      'JSON file of settings, as for serve; the environment takes precedence',
    )
    .option('--data <folder>', 'data folder (DATA_DIR, ./data unless set)');
}

/** The option that names one kind of log. */
export const kindOption = (description: string, flag = '--kind'): Option =>
  new Option(`${flag} <kind>`, description).choices(LOG_KINDS);

/** `--log`, which narrows a command to one kind of log; `both` unless given. */
export const logsOption = (): Option =>
  kindOption('which logs', '--log')
    .choices([...LOG_KINDS, 'both'])
    .default('both');

/** Settings as `serve` would read them. */
export async function settingsOf(options: DataOptions): Promise<ConfigSources> {
  const { readConfig } = await import('../gateway/config.ts');
  const env = {
    ...process.env,
    ...(options.data === undefined ? {} : { DATA_DIR: options.data }),
  };
  return readConfig(env, options.config);
}

/** Threads to check signatures with. */
export const threads = (): number => availableParallelism();
