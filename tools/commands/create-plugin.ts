// `actlog create-plugin`: writes the package of a plugin, with one entry type, one route and its test.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { acting, CommandError, EXIT } from '../command-line.ts';

/** Templates and the files that they become. */
const FILES: readonly (readonly [template: string, file: string])[] = [
  ['package.json', 'package.json'],
  ['tsconfig.json', 'tsconfig.json'],
  ['gitignore', '.gitignore'],
  ['README.md', 'README.md'],
  ['index.ts', 'src/index.ts'],
  ['index.test.ts', 'src/index.test.ts'],
];

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
/** Names of the log's own types, of the gateway, and of packages that the plugin imports. */
const TAKEN = ['log', 'gateway', 'actlog', 'typebox', 'typescript', 'node_modules'];

interface CreateOptions {
  readonly actlog?: string;
}

/** Declares the command. */
export function addCreatePlugin(program: Command): void {
  program
    .command('create-plugin <name>')
    .summary('write the package of a new plugin')
    .description(
      'Writes a TypeScript package into a new folder of this name: a plugin with one entry type and one route, its ' +
        'test on actlog/plugin-test, and a README. plugins/GUIDE.md describes plugins.',
    )
    .option(
      '--actlog <spec>',
      'what the package depends on, as npm writes it: a version, or file:<path> of a folder or tarball',
    )
    .action(
      acting(EXIT.failed, async (name: string, options: CreateOptions) => create(name, options)),
    );
}

async function create(name: string, options: CreateOptions): Promise<number> {
  if (!NAME.test(name)) {
    throw new CommandError(
      `the name of a plugin is 1 to 40 lower-case letters, digits and hyphens, and begins with a letter: ${JSON.stringify(name)} is not`,
    );
  }
  const { catalogUrl, PLUGINS } = await import('../../plugins/index.ts');
  const { Eta } = await import('eta');
  if (TAKEN.includes(name) || PLUGINS.some((plugin) => plugin.name === name)) {
    throw new CommandError(`${name} is a name of actlog itself: choose another one`);
  }
  const folder = resolve(name);
  const values = {
    name,
    title: titleOf(name),
    ...versionsFor(folder, fileURLToPath(new URL('../', catalogUrl(''))), options.actlog),
  };
  const views = fileURLToPath(new URL('../create-plugin/', import.meta.url));
  const eta = new Eta({ views, autoTrim: false });
  const files = FILES.map(
    ([template, file]) => [file, eta.render(`${template}.eta`, values)] as const,
  );
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new CommandError(`there is a ${name} in this folder already: nothing was written`);
  }
  mkdirSync(join(folder, 'src'));
  for (const [file, text] of files) writeFileSync(join(folder, file), text);
  process.stdout.write(
    `${name}/ has a plugin and its test. Next:\n` +
      `  cd ${name} && npm install\n  npm test\n  npm start        serves ./data with the plugin\n`,
  );
  return EXIT.ok;
}

/** `risk-notes` as `Risk notes`. */
const titleOf = (name: string): string =>
  name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ');

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** What the package depends on: the versions that this copy of actlog is built with. */
function versionsFor(folder: string, root: string, spec?: string) {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  const { version, engines, dependencies, devDependencies } = manifest;
  // A copy that no registry installed is a checkout: the package is then linked to it.
  const installed = root.split(sep).includes('node_modules');
  return {
    node: engines.node,
    typebox: dependencies['typebox'],
    types_node: dependencies['@types/node'],
    typescript: devDependencies['typescript'],
    peer: `^${version}`,
    actlog: spec ?? (installed ? `^${version}` : `file:${relative(folder, root)}`),
  };
}
