// `actlog refute`: a receipt against an absence document that denies it.

import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Shown } from '../../log/verify.ts';
import { acting, CommandError, EXIT } from '../command-line.ts';
import type { TrustOptions } from '../verify/trust.ts';

interface RefuteOptions extends TrustOptions {
  readonly proof?: string;
  readonly consistency?: string;
  readonly out?: string;
}

/** Declares the command. */
export function addRefute(program: Command): void {
  program
    .command('refute <receipt> <document>')
    .summary('prove with a receipt that an absence document is false')
    .description(
      'Checks both, and whether the document denies the entry of the receipt: on its chain, in its window, in ' +
        'its tree or one that grew from it. The log has signed both, so together they prove to anybody that it lied.',
    )
    .option('--kit <file>', 'the offline verification kit to trust')
    .option(
      '--url <address>',
      'service to fetch missing proofs from, and the kit unless --kit is given',
    )
    .option('--proof <file>', 'tlog-proof of the receipt')
    .option('--consistency <file>', 'answer of proof/consistency between the two checkpoints')
    .option('--chain <kind=members...>', 'chain kinds that entry types declare')
    .option('--out <file>', 'file for the proof (default: standard output)')
    .addHelpText(
      'after',
      `
Exits 3 when the contradiction is proven, 0 when the document does not deny the receipt, 2 when this cannot be decided.

  actlog refute receipt.json absent.json --kit kit.json --url $BASE > lie.json`,
    )
    .action(acting(EXIT.unknown, run));
}

async function run(receipt: string, document: string, options: RefuteOptions): Promise<number> {
  const { refute } = await import('../refute/refute.ts');
  const { pathsOf } = await import('../refute/paths.ts');
  const { isLogError, isUnanswerable, originsOf, parsedOf, recogniseDocuments } =
    await import('../../plugins/verifiers.ts');
  /** A file that cannot be read proves nothing either way. */
  const recognised = async (file: string): Promise<Shown | undefined> => {
    const bytes = await readFile(file);
    try {
      const documents = recogniseDocuments(bytes);
      return documents.length === 1 ? documents[0] : undefined;
    } catch (error) {
      if (!(isLogError(error) || isUnanswerable(error))) throw error;
      const json = isLogError(error) ? 'INVALID: this is not JSON as receipts have it: ' : '';
      throw new CommandError(`${file}: ${json}${error.message}`, EXIT.unknown);
    }
  };
  const { readKit, trustOf } = await import('../verify/trust.ts');
  const shown = await recognised(receipt);
  const denies = await recognised(document);
  if (shown?.kind !== 'receipt') throw new CommandError(`${receipt} is no receipt`, EXIT.unknown);
  if (denies?.kind !== 'absence') {
    throw new CommandError(`${document} is no absence document`, EXIT.unknown);
  }
  // A kit that the caller has kept goes before that of the service.
  const { url: _url, ...kept } = options;
  const kit = await readKit(kept.kit === undefined ? options : kept, null);
  const value = parsedOf(shown.document);
  const { origin } = value;
  if (typeof origin !== 'string' || !originsOf(kit.kit).includes(origin)) {
    throw new CommandError(`${kit.source} does not know the log of the receipt`, EXIT.unknown);
  }
  const tlogProof =
    options.proof === undefined ? shown.tlogProof : await readFile(options.proof, 'utf8');
  const paths = await pathsOf(origin, options);
  try {
    const refutation = await refute({
      receipt: value,
      ...(tlogProof === undefined ? {} : { tlogProof }),
      document: parsedOf(denies.document),
      trust: await trustOf(kit, origin, options),
      ...paths,
    });
    process.stderr.write(`${WORDS[refutation.outcome]}: ${refutation.reason}\n`);
    if (refutation.outcome !== 'proven') return EXITS[refutation.outcome];
    const text = `${JSON.stringify(refutation.proof, null, 2)}\n`;
    if (options.out === undefined) process.stdout.write(text);
    else {
      const { writeDurableFile } = await import('../../log/index.ts');
      await writeDurableFile(options.out, text);
    }
    return EXITS.proven;
  } finally {
    await paths.close();
  }
}

const WORDS = { proven: 'PROVEN', not_denied: 'NOT DENIED', unknown: 'CANNOT TELL' } as const;
const EXITS = { proven: EXIT.violation, not_denied: EXIT.ok, unknown: EXIT.unknown } as const;
