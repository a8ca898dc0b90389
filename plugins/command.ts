// What the operator of the service does to a plugin's part, from the command line or by the clock: never over HTTP.
// plugins/GUIDE.md.

import type { Static, TSchema } from 'typebox';
import type { Appended, AppendOptions, Draft, Json, Kind } from '../log/index.ts';

/** What a command gets. */
export interface CommandState<A = unknown> {
  /** Passed the command's schema. */
  readonly args: A;
  /** Appends one atomic group to the newest log of the kind. */
  readonly append: (
    kind: Kind,
    drafts: readonly Draft[],
    options?: Pick<AppendOptions, 'check'>,
  ) => Promise<readonly Appended[]>;
  /** What stands in the log for a tenant, registered there; `resource_missing` for a name without a key. */
  readonly tenantRef: (tenant: string, kind: Kind) => Promise<string>;
}

/** Bounds of `every_ms`: a second and 366 days. */
export const MIN_EVERY_MS = 1000;
export const MAX_EVERY_MS = 366 * 86_400_000;

/** A command as its author writes it; see `command`. */
export interface CommandDeclaration<A extends TSchema = TSchema> {
  /** `<plugin> <word>`: a verb of the admin socket. */
  readonly name: string;
  readonly summary: string;
  /** A TypeBox object. */
  readonly args: A;
  /** Arguments that work for the sandbox tenant `first`; the contract suite performs them, a week apart. */
  readonly example: Json;
  /**
   * Makes the command a job: the gateway also performs it by itself, without arguments, at its start and then this
   * often, from `MIN_EVERY_MS` to `MAX_EVERY_MS`. One run ends before the next begins; a run that fails is logged, and
   * the next one is at its usual time.
   */
  readonly every_ms?: number;
  /** Answers with what the command line shows; expected failures are ApiErrors. */
  perform(state: CommandState<Static<A>>): Promise<Json>;
}

/** A declared command, whatever its schema. */
export type Command = CommandDeclaration;

/** Types a command by its own schema; returns the declaration as it is. */
export function command<A extends TSchema>(declaration: CommandDeclaration<A>): Command {
  return declaration;
}

/** A command that the gateway also performs by the clock. */
export type Job = Command & { readonly every_ms: number };

/** Types a job by its own schema; returns the declaration as it is. */
export function job<A extends TSchema>(
  declaration: CommandDeclaration<A> & { readonly every_ms: number },
): Job {
  return declaration;
}
