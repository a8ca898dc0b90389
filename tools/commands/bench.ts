// `actlog bench`: measures what the log must reach, each figure as a ratio within one run.

import { reaches } from '../bench/figure.ts';
import { BENCHES, runBenches } from '../bench/run.ts';
import { jsonOf, lineOf, tableOf } from '../bench/table.ts';

/** What the command line says. */
export interface BenchCommand {
  /** Name of a measurement or figure, or how it begins. */
  readonly only?: string;
  readonly quick?: boolean;
  /** Entries of the large log, as a number in digits. */
  readonly entries?: string;
  /** JSON alone, without the table before it. */
  readonly json?: boolean;
}

/** Prints the table and the JSON; answers with the exit code: 0 when every figure is met, 1 when not, 2 for a name it does not know. */
export async function bench(command: BenchCommand): Promise<number> {
  const { only, quick = false, entries, json = false } = command;
  if (entries !== undefined && !/^[1-9]\d{5,8}$/.test(entries)) {
    process.stderr.write('--entries is a number from 100000 to 999999999\n');
    return 2;
  }
  const figures = await runBenches(
    {
      quick,
      ...(only === undefined ? {} : { only }),
      ...(entries === undefined ? {} : { entries: Number(entries) }),
    },
    {
      begun: (name) => process.stderr.write(`measuring ${name}\n`),
      measured: (figure) => process.stderr.write(`  ${lineOf(figure)}\n`),
    },
  );
  if (figures.length === 0) {
    const names = BENCHES.map(({ name }) => name).join(', ');
    const known = BENCHES.some(({ name }) => name === only?.split('.', 1)[0]);
    process.stderr.write(
      known
        ? `${only ?? ''} measured nothing: what it needs is missing on this machine\n`
        : `no figure is named ${only ?? ''}: there are ${names}\n`,
    );
    return 2;
  }
  if (!json) console.log(tableOf(figures));
  console.log(jsonOf(figures, quick));
  return figures.every((figure) => reaches(figure, figure.at_least)) ? 0 : 1;
}
