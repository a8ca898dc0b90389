#!/usr/bin/env node
// The command line `actlog`. Only the file of commands/ that declares the command is loaded, because loading all of them
// takes most of a second; all are loaded for the help, for completion, and for a word that none of them declares.

import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { acting, EXIT, withKeyIds, withoutReaders } from './command-line.ts';

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

type Declare = (program: Command) => void;

/** The files of commands/: the commands that each declares, in the order of the help. */
const FILES: readonly {
  readonly names: readonly string[];
  readonly load: () => Promise<readonly Declare[]>;
}[] = [
  { names: ['serve'], load: async () => [(await import('./commands/serve.ts')).addServe] },
  { names: ['keys'], load: async () => [(await import('./commands/keys.ts')).addKeys] },
  {
    names: ['tenants', 'clock'],
    load: async () => [(await import('./commands/tenants.ts')).addTenants],
  },
  {
    names: ['clear', 'clearing'],
    load: async () => [(await import('./commands/clearing.ts')).addClearing],
  },
  {
    names: ['verify', 'vectors'],
    load: async () => {
      const { addVerify, addVectors } = await import('./commands/verify.ts');
      return [addVerify, addVectors];
    },
  },
  { names: ['refute'], load: async () => [(await import('./commands/refute.ts')).addRefute] },
  {
    names: ['monitor', 'witness'],
    load: async () => {
      const { addMonitor, addWitness } = await import('./commands/monitor.ts');
      return [addMonitor, addWitness];
    },
  },
  {
    names: ['conformance'],
    load: async () => [(await import('./commands/conformance.ts')).addConformance],
  },
  {
    names: ['fsck', 'reindex'],
    load: async () => {
      const { addFsck, addReindex } = await import('./commands/fsck.ts');
      return [addFsck, addReindex];
    },
  },
  {
    names: ['backup', 'restore'],
    load: async () => {
      const { addBackup, addRestore } = await import('./commands/restore.ts');
      return [addBackup, addRestore];
    },
  },
  { names: ['adopt'], load: async () => [(await import('./commands/adopt.ts')).addAdopt] },
  { names: ['export'], load: async () => [(await import('./commands/export.ts')).addExport] },
  { names: ['webhooks'], load: async () => [(await import('./commands/webhooks.ts')).addWebhooks] },
  { names: ['cluster'], load: async () => [(await import('./commands/cluster.ts')).addCluster] },
  {
    names: ['classify', 'bench', 'hammer'],
    load: async () => [(await import('./commands/measure.ts')).addMeasures],
  },
  { names: ['mcp-proxy', 'mcp'], load: async () => [(await import('./commands/mcp.ts')).addMcp] },
  {
    names: ['create-plugin'],
    load: async () => [(await import('./commands/create-plugin.ts')).addCreatePlugin],
  },
];

/** Declares the command of the first word. */
async function declare(args: readonly string[]): Promise<void> {
  const [word = ''] = args;
  const file = FILES.find(({ names }) => names.includes(word));
  for (const { load } of file === undefined ? FILES : [file]) {
    for (const add of await load()) add(program);
  }
  if (file !== undefined) return;
  await addCompletion();
  const { addPluginCommands } = await import('./plugin-commands.ts');
  await addPluginCommands(program, args);
}

/** Adds `completion`, and the hidden `complete`, which shells call. They read what is declared before. */
async function addCompletion(): Promise<void> {
  const [{ ShellCompDirective }, { default: tab }] = await Promise.all([
    import('@bomb.sh/tab'),
    import('@bomb.sh/tab/commander'),
  ]);
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
withoutReaders();
await acting(EXIT.failed, async () => {
  await declare(process.argv.slice(2));
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
