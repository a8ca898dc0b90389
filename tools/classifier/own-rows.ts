// The sets written for this project, in tools/classifier/data, and how they are split: catalogs/classify/MODEL-CARD.md.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bare, draw, lines } from './corpus.ts';
import type { Line, Row } from './corpus.ts';
import { generator } from './learn.ts';

/** Sentences made of each grammar for each label, and how much each weighs beside the written ones. */
const GRAMMARS = [
  {
    file: 'hiring-grammar.json',
    domain: 'hiring',
    count: 10_000,
    weight: 0.6,
  },
  {
    file: 'hiring-grammar-languages.json',
    domain: 'hiring',
    count: 6000,
    weight: 0.6,
  },
  {
    file: 'general-grammar.json',
    domain: 'general',
    count: 6000,
    weight: 0.4,
  },
] as const;
const MADE_SEED = 20261121;

/** What the lines of `taught` count, by model. */
const TAUGHT_SHARES = [1, 1, 0.3] as const;
/** Sets that teach the crisis model nothing: their lawful sadness is what DiaSafety counts as distress. */
const SAD = ['despair', 'distress', 'plain-distress'];

const UNSEEN = ['short', 'dialogue', 'staffing'] as const;

/** The sets written for this project. */
export function ownRows(folder: string): Row[] {
  const rows: Row[] = [];
  const hiring = ['hiring.jsonl', 'hiring-training.jsonl'];
  for (const line of hiring.flatMap((file) => lines(join(folder, file)))) {
    const bad = line['label'] === 'VIOLATION';
    rows.push(own('hiring', line, [bad ? null : 0, bad ? 1 : 0, 0], [bad ? 0 : 1, 8, 3]));
  }
  for (const line of lines(join(folder, 'benign.jsonl'))) {
    rows.push(own('benign', line, [0, 0, 0], [10, 2, 12]));
  }
  for (const line of lines(join(folder, 'crisis.jsonl'))) {
    const crisis = line['label'] === 'CRISIS';
    rows.push(own('crisis', line, [0, 0, crisis ? 1 : 0], [1, 1, 2]));
  }
  for (const line of lines(join(folder, 'domains.jsonl'))) {
    const bad = line['label'] === 'VIOLATION' ? 1 : 0;
    const general = line['domain'] === 'general';
    const targets = general ? [bad, bad === 1 ? null : 0, 0] : [bad === 1 ? null : 0, bad, 0];
    rows.push(own(general ? 'general' : 'domains', line, targets, [4, 3, 4]));
  }
  for (const set of ['fresh', 'field', 'varied'])
    for (const line of lines(join(folder, `${set}.jsonl`))) rows.push(fresh(set, line));
  for (const set of ['hiring-voices', 'hiring-colleagues'])
    for (const line of lines(join(folder, `${set}.jsonl`)))
      rows.push(fresh(set, { ...line, topic: 'hiring' }));
  for (const set of ['guarded', 'everyday'])
    for (const line of lines(join(folder, `${set}.jsonl`))) rows.push(guarded(set, line));
  rows.push(...taughtRows(join(folder, 'taught')));
  for (const line of lines(join(folder, 'machine.jsonl')))
    rows.push(own('machine', line, [0, 0, 0], [2, 1, 6]));
  const held = rows.filter(({ split }) => split === 'test').map(({ text }) => bare(text));
  for (const grammar of GRAMMARS) rows.push(...made(folder, grammar, held));
  return rows;
}

/** Sets of many writers, for training and folds only: every file of the folder. */
function taughtRows(folder: string): Row[] {
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const set = file.replace('.jsonl', '');
      const [violation, policy, crisis] = TAUGHT_SHARES;
      const shares = [violation, policy, SAD.includes(set) ? 0 : crisis];
      return lines(join(folder, file)).map((line): Row => {
        const row = guarded(set, line);
        return { ...row, weights: row.weights.map((weight, m) => weight * (shares[m] ?? 0)) };
      });
    });
}

/** Sets by writers nothing of whom is learnt from: measured only. */
export function unseenRows(folder: string): Row[] {
  return UNSEEN.flatMap((set) =>
    lines(join(folder, 'unseen', `${set}.jsonl`)).map((line): Row => {
      const row = guarded(set, line);
      return { ...row, split: 'test', fold: -1, tag: `${set}, ${row.domain}` };
    }),
  );
}

/** Sentences of a grammar: in every training, never measured on, and none that equals, contains or is part of a held-out text. */
function made(
  folder: string,
  { file, domain, count, weight }: (typeof GRAMMARS)[number],
  held: readonly string[],
): Row[] {
  const general = domain === 'general';
  const alike = ({ text }: Made): boolean => {
    const own = bare(text);
    return held.some((other) => other.includes(own) || own.includes(other));
  };
  const fit = sentencesOf(join(folder, file), count, MADE_SEED).filter((one) => !alike(one));
  return fit.map(({ text, label }) => {
    const bad = label === 'VIOLATION' ? 1 : 0;
    const unknown = bad === 1 ? null : 0;
    const targets = general ? [bad, unknown, 0] : [unknown, bad, 0];
    const weights = general ? [weight, 0.05, 0.1] : [0.05, weight, 0.2];
    return { ...own(`${domain}-made`, { text, domain }, targets, weights), fold: -1 };
  });
}

/** Sentences from the heads of the policies, written to see how far the rules carry: half to learn from, half to measure. */
function fresh(set: string, line: Line): Row {
  const { topic = '', label } = line;
  const bad = label === 'VIOLATION';
  const general = topic === 'general' || topic === 'crisis';
  const targets = general ? [bad ? 1 : 0, bad ? null : 0] : [bad ? null : 0, bad ? 1 : 0];
  const weights = general ? [4, 3, 4] : [bad ? 0 : 1, 8, 3];
  const row = own(set, line, [...targets, label === 'CRISIS' ? 1 : 0], weights);
  return { ...row, tag: set === 'field' ? `${topic} ${line['language'] ?? 'en'}` : topic };
}

/** Alarming words in lawful company, plain prose, and the same words in earnest: what a guard must tell apart. */
function guarded(set: string, line: Line): Row {
  const bad = line['label'] === 'VIOLATION';
  const crisis = line['label'] === 'CRISIS';
  if (line['domain'] !== 'general') return fresh(set, { ...line, topic: line['domain'] ?? '' });
  const weights = bad || crisis ? [4, 1, 4] : [8, 2, 8];
  return own(set, line, [bad ? 1 : 0, bad ? null : 0, crisis ? 1 : 0], weights);
}

function own(
  set: string,
  line: Line,
  targets: readonly (number | null)[],
  weights: readonly number[],
): Row {
  return {
    set,
    text: line['text'] ?? '',
    domain: line['domain'] ?? 'general',
    targets,
    weights,
    split: line['split'] === 'test' ? 'test' : 'train',
    fold: line['split'] === 'test' ? -1 : draw(`own ${line['pair'] ?? line['text'] ?? ''}`) % 5,
    tag: line['language'] ?? line['domain'] ?? '',
  };
}

interface Grammar {
  readonly VIOLATION: readonly string[];
  readonly SAFE: readonly string[];
  readonly slots: Readonly<Record<string, readonly string[]>>;
}

// Training sentences from grammars (tools/classifier/data/*-grammar*.json): every decision against every group with
// every claim, and the same words in lawful use. They are never used for tests.

/** A sentence of the grammar and its label. */
export interface Made {
  readonly text: string;
  readonly label: 'VIOLATION' | 'SAFE';
}

/** `count` sentences of each label, the frames in turn, without repeats; the same seed gives the same sentences. */
export function sentencesOf(file: string, count: number, seed: number): Made[] {
  const grammar = JSON.parse(readFileSync(file, 'utf8')) as Grammar;
  const random = generator(seed);
  const made = new Map<string, Made>();
  for (const label of ['VIOLATION', 'SAFE'] as const) {
    const frames = grammar[label];
    for (let k = 0; k < count; k++) {
      const text = sentence(expand(frames[k % frames.length] ?? '', grammar.slots, random));
      if (!made.has(text)) made.set(text, { text, label });
    }
  }
  return [...made.values()];
}

function expand(frame: string, slots: Grammar['slots'], random: () => number): string {
  return frame.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const fillers = slots[name] ?? [];
    const filler = fillers[Math.floor(random() * fillers.length)];
    if (filler === undefined) throw new Error(`the grammar has no slot ${name}`);
    return expand(filler, slots, random);
  });
}

/** With a capital first letter and a full stop at the end. */
function sentence(text: string): string {
  const whole = text.replaceAll(
    /(^|[.?!] )([a-z])/g,
    (_match, before: string, letter: string) => before + letter.toUpperCase(),
  );
  return /[.?!]$/.test(whole) ? whole : `${whole}.`;
}
