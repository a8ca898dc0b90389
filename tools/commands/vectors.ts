// `actlog vectors`: what this verifier says of test vectors, a line each, so that others compare theirs.

import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Json } from '../../log/index.ts';
import { acting, CommandError, EXIT } from '../command-line.ts';

interface VectorsOptions {
  readonly suite: string;
}

/** Declares the command. */
export function addVectors(program: Command): void {
  program
    .command('vectors <file>')
    .summary('say the verdict on each test vector of a file')
    .description(
      'A file of Ed25519 signatures (an array of {number, key, msg, sig}, hex except the message) or of ' +
        'absence documents (the form of test/vectors/absence.json). One line of JSON for each.',
    )
    .option('--suite <name>', 'native, or portable: what browsers run', 'native')
    .action(acting(EXIT.unknown, run));
}

async function run(file: string, { suite: name }: VectorsOptions): Promise<number> {
  const { suiteOf, verdicts } = await import('../verify/vectors.ts');
  const suite = suiteOf(name);
  if (suite === null) throw new CommandError('--suite is native or portable', EXIT.unknown);
  const vectors = JSON.parse(await readFile(file, 'utf8')) as Json;
  for (const verdict of verdicts(vectors, suite)) {
    console.log(JSON.stringify(verdict));
  }
  return EXIT.ok;
}
