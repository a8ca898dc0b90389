#!/usr/bin/env node
// The command line `actlog`. Each command is one file of commands/ that declares its arguments and loads
// what it needs only when it runs.

import { readFileSync } from 'node:fs';
import { ShellCompDirective } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import { Command, CommanderError } from 'commander';
import { acting, EXIT, withKeyIds, withoutReaders } from './command-line.ts';
import { addPluginCommands } from './plugin-commands.ts';
import { addAdopt } from './commands/adopt.ts';
import { addBackup, addRestore } from './commands/restore.ts';
import { addConformance } from './commands/conformance.ts';
import { addCluster } from './commands/cluster.ts';
import { addClearing } from './commands/clearing.ts';
import { addCreatePlugin } from './commands/create-plugin.ts';
import { addExport } from './commands/export.ts';
import { addFsck, addReindex } from './commands/fsck.ts';
import { addKeys } from './commands/keys.ts';
import { addMonitor, addWitness } from './commands/monitor.ts';
import { addMcp } from './commands/mcp.ts';
import { addRefute } from './commands/refute.ts';
import { addServe } from './commands/serve.ts';
import { addTenants } from './commands/tenants.ts';
import { addMeasures } from './commands/measure.ts';
import { addVectors, addVerify } from './commands/verify.ts';
import { addWebhooks } from './commands/webhooks.ts';

/** package.json is in the folder above `tools/`, or above `dist/`. */
function version(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      return (
        JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }
      ).version;
    } catch {
      // the other place
    }
  }
  return 'unknown';
}

const program = new Command('actlog')
  .description(
    'An append-only transparency log: signed receipts, offline proofs of presence and absence.',
  )
  .version(version())
  .showHelpAfterError('(use --help to list the options)')
  .addHelpText(
    'after',
    `
First steps:
  actlog serve                                 serves ./data, prints the first keys
  actlog verify receipt.json --kit kit.json    checks a receipt without the service
  actlog monitor http://localhost:8080         re-verifies everything the service publishes`,
  );

/** Adds `completion`, and the hidden `complete`, which shells call. They read what is declared before. */
function addCompletion(): void {
  const completion = tab(program, { completionCommandName: 'completion' });
  // tab lets no shell complete files. Where it has nothing to offer, what a command takes is a file.
  const { ShellCompDirectiveDefault: files, ShellCompDirectiveNoFileComp: none } =
    ShellCompDirective;
  Object.defineProperty(completion, 'directive', {
    get: () => (completion.completions.length === 0 ? files : none),
    set: () => undefined,
  });
  program.commands
    .find((command) => command.name() === 'completion')
    ?.summary('print the completion script of a shell')
    .description('Prints a script that completes commands, options and their values.')
    .addHelpText(
      'after',
      `
  source <(actlog completion bash)                                     in ~/.bashrc; zsh likewise
  actlog completion fish > ~/.config/fish/completions/actlog.fish`,
    );
}

// Commander gives 1 for a wrong command line; here that is 2, since 1 is an answer of verify and fsck.
program.exitOverride();
for (const add of [
  ...[addServe, addKeys, addTenants, addClearing],
  ...[addVerify, addVectors, addRefute, addMonitor, addWitness, addConformance],
  ...[addFsck, addReindex, addBackup, addRestore, addAdopt, addExport],
  ...[addWebhooks, addCluster, addMeasures, addMcp, addCreatePlugin],
]) {
  add(program);
}

addCompletion();

withoutReaders();
await acting(EXIT.failed, async () => {
  await addPluginCommands(program, process.argv.slice(2));
  return EXIT.ok;
})();
try {
  if (process.exitCode === EXIT.ok) {
    await program.parseAsync(withKeyIds(process.argv.slice(2)), { from: 'user' });
  }
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.unknown;
}
