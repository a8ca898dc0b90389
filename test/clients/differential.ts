// Gives mutated documents to the TypeScript verifier and to those of the clients, and compares verdict and reason. A
// document that only one of two verifiers calls ABSENT is counted separately.
//
//   npm run test:differential -- --count 1000000 --seed 1 [--seconds 900] [--client go] [--client 'python -m actlog.cli --batch']

import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { buildGo, Client } from './client.ts';
import { corpus, kits } from './corpus.ts';
import type { Case } from './corpus.ts';
import { classOf, Judge, wordsOf } from './judge.ts';
import type { Answer } from './judge.ts';
import { mutate } from './mutate.ts';
import { Random } from './random.ts';

const CHUNK = 250;
const FORGED = 40;
/** After so many chunks other logs are forged, and their documents come first. */
const FRESH = 20;

/** A document about which the two do not agree. */
export interface Difference {
  /** The client, by its place in the list. */
  readonly client: number;
  readonly kit: number;
  readonly mutant: Case;
  readonly ours: Answer;
  readonly theirs: Answer;
}

/** The result of a run. */
export interface Tally {
  readonly count: number;
  readonly differences: readonly Difference[];
  /** Documents that one of the two calls ABSENT and the other does not. */
  readonly falseAbsent: number;
  /** Documents whose refusals are worded differently. */
  readonly wordings: number;
  readonly exits: Readonly<Record<string, number>>;
}

/** Options of a run; it ends at `count` documents or after `seconds`. */
export interface RunOptions {
  readonly count: number;
  readonly seed: number;
  readonly seconds?: number;
  /** Called from time to time with the number of compared documents. */
  readonly progress?: (count: number, differences: number) => void;
  /** Called with each difference as soon as it is found. */
  readonly found?: (difference: Difference) => void;
}

const isAbsent = ({ exit, summary = '' }: Answer): boolean =>
  exit === 0 && summary.startsWith('ABSENT: ');

/**
 * Compares all clients with the TypeScript verifier on a corpus and its mutants, and on further ones until the run
 * ends.
 */
export async function compare(clients: readonly Client[], options: RunOptions): Promise<Tally> {
  const { count, seed, seconds = Infinity, progress, found } = options;
  const random = new Random(seed);
  let seeds: readonly Case[] = [];
  let untouched: readonly Case[] = [];
  const judges = kits.map((kit) => new Judge(kit));
  const differences: Difference[] = [];
  const exits: Record<string, number> = {};
  let [done, falseAbsent, wordings] = [0, 0, 0];
  const end = Date.now() + 1000 * seconds;

  for (let chunk = 0; done < count && Date.now() < end; chunk++) {
    // Half of all documents are checked with the kit that they hold with.
    const kit = chunk % 2 === 0 ? 0 : (chunk >> 1) % kits.length;
    if (chunk % FRESH === 0) untouched = seeds = corpus(random, FORGED);
    const length = Math.min(CHUNK, count - done);
    const kept = untouched.slice(0, length);
    untouched = untouched.slice(kept.length);
    const mutants = Array.from({ length: length - kept.length }, () =>
      mutate(random, random.pick(seeds)),
    );
    const cases = [...kept, ...mutants];
    const asked = Promise.all(clients.map((client) => client.ask(kits[kit]!, cases)));
    asked.catch(() => undefined); // thrown below
    const ours: Answer[] = [];
    for (const one of cases) ours.push(await judges[kit]!.answer(one));
    for (const { exit } of ours) exits[exit] = (exits[exit] ?? 0) + 1;
    for (const [client, theirs] of (await asked).entries()) {
      for (const [i, mutant] of cases.entries()) {
        const [a, b] = [ours[i]!, theirs[i]!];
        if (isAbsent(a) !== isAbsent(b)) falseAbsent += 1;
        if (classOf(a) !== classOf(b)) {
          const difference = { client, kit, mutant, ours: a, theirs: b };
          differences.push(difference);
          found?.(difference);
        } else if (wordsOf(a) !== wordsOf(b)) wordings += 1;
      }
    }
    done += cases.length;
    if (chunk % 40 === 39) progress?.(done, differences.length);
  }
  return { count: done, differences, falseAbsent, wordings, exits };
}

/** A description of a difference, for finding its cause. */
export const describeDifference = ({ client, kit, mutant, ours, theirs }: Difference): string =>
  [
    `client ${String(client)}, kit ${String(kit)}, from ${mutant.name}`,
    `  ours   ${JSON.stringify(ours)}`,
    `  theirs ${JSON.stringify(theirs)}`,
    `  ask    ${JSON.stringify(mutant.ask)}`,
    `  file   ${mutant.file.toString('utf8').slice(0, 4000)}`,
  ].join('\n');

const SHOWN = 20;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '10000' },
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '900' },
      client: { type: 'string', multiple: true, default: ['go'] },
    },
  });
  const clients = values.client.map((asked) => {
    if (asked === 'go') return new Client(buildGo(), ['--batch']);
    const [command = '', ...args] = asked.split(' ');
    return new Client(command, args);
  });
  let shown = 0;
  const started = Date.now();
  const tally = await compare(clients, {
    count: Number(values.count),
    seed: Number(values.seed),
    seconds: Number(values.seconds),
    found: (difference) => {
      if (shown++ < SHOWN) console.log(`${describeDifference(difference)}\n`);
    },
    progress: (count, differences) => {
      console.error(`${String(count)} compared, ${String(differences)} differences`);
    },
  });
  for (const client of clients) client.end();
  const { differences, ...counts } = tally;
  const seconds = Math.round((Date.now() - started) / 1000);
  console.log(
    JSON.stringify({
      ...counts,
      differences: differences.length,
      clients: values.client,
      seed: Number(values.seed),
      seconds,
    }),
  );
  process.exitCode = differences.length === 0 && tally.falseAbsent === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
