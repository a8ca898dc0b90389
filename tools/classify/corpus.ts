// The labelled texts: public sets of a folder given as argument, own sets of test/data/classify, and how they are split.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { sentencesOf } from './grammar.ts';
import type { Made } from './grammar.ts';

/** A labelled text. Targets: for violation, policy, crisis; null where the label says nothing. */
export interface Row {
  readonly set: string;
  readonly text: string;
  readonly domain: string;
  readonly targets: readonly (number | null)[];
  /** How much the text counts in training, by model. */
  readonly weights: readonly number[];
  /** `test` is never trained on by anyone; `val` only sets thresholds. */
  readonly split: 'train' | 'val' | 'test';
  /** 0 to 4: left out of the training of that fold. -1: in every training. */
  readonly fold: number;
  readonly tag: string;
}

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

/** Sets by further writers, for training and folds only. */
const LATER = ['voices', 'requests', 'comments', 'despair', 'trades'] as const;
/** By model. In full they cost HateCheck's folds a little; crisis would find less of DiaSafety's distress for them. */
const LATER_SHARES = [0.5, 1, 0];

type Line = Readonly<Record<string, string>>;

/** A number from 0 to 255 that depends on the text alone. */
export function draw(key: string): number {
  return createHash('sha256').update(key).digest()[0] ?? 0;
}

function lines(file: string): Line[] {
  const bytes = readFileSync(file);
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** True when the public sets are there. */
export function hasPublicSets(folder: string): boolean {
  return existsSync(join(folder, 'surge.jsonl.gz'));
}

/** All public sets of the folder. */
export function publicRows(folder: string): Row[] {
  return [
    ...hateCheck(join(folder, 'hatecheck-a.jsonl.gz')),
    ...surge(join(folder, 'surge.jsonl.gz')),
    ...davidson(join(folder, 'davidson.jsonl.gz')),
    ...madlibs(join(folder, 'madlibs.jsonl.gz')),
    ...diaSafety(join(folder, 'diasafety.jsonl.gz')),
  ];
}

/** Folds by template, so that no template is on both sides. */
function hateCheck(file: string): Row[] {
  return lines(file).map((line) => ({
    set: 'hatecheck',
    text: line['text'] ?? '',
    domain: 'general',
    targets: [line['original'] === 'hateful' ? 1 : 0, null, 0],
    weights: [2.5, 0, 0.3],
    split: 'train',
    fold: draw(`hatecheck ${line['functionality'] ?? ''} ${line['templ_id'] ?? ''}`) % 5,
    tag: line['functionality'] ?? '',
  }));
}

function surge(file: string): Row[] {
  return lines(file).map((line) => ({
    set: 'surge',
    text: line['text'] ?? '',
    domain: 'general',
    targets: [line['original'] === 'Toxic' ? 1 : 0, 0, 0],
    weights: [line['original'] === 'Toxic' ? 17 : 7, 0.05, 0.3],
    split: 'train',
    fold: draw(`surge ${line['text'] ?? ''}`) % 5,
    tag: line['original'] ?? '',
  }));
}

/** `offensive` is mostly profanity in dialect: half a label at a low weight, or the models learn the dialect. */
function davidson(file: string): Row[] {
  const of = { hate: [1, 1], offensive: [0.8, 0.15], neither: [0, 0.7] } as const;
  return lines(file).map((line) => {
    const [target, weight] = of[line['original'] as keyof typeof of];
    const text = line['text'] ?? '';
    return {
      set: 'davidson',
      text,
      domain: 'general',
      targets: [target, 0, 0],
      weights: [weight, draw(text) < 50 ? 0.03 : 0, draw(text) < 50 ? 0.5 : 0],
      split: 'train',
      fold: -1,
      tag: line['original'] ?? '',
    };
  });
}

function madlibs(file: string): Row[] {
  return lines(file).map((line) => ({
    set: 'madlibs',
    text: line['text'] ?? '',
    domain: 'general',
    targets: [line['original'] === 'BAD' ? 1 : 0, null, 0],
    weights: [0.25, 0, 0.05],
    split: 'train',
    fold: -1,
    tag: line['original'] ?? '',
  }));
}

/** Contexts once each, with the sternest split they stand in; responses that offend the user teach violation a little. */
function diaSafety(file: string): Row[] {
  const all = lines(file);
  const splits = new Map<string, 'train' | 'val' | 'test'>();
  for (const line of all) {
    const context = line['context'] ?? '';
    const old = splits.get(context);
    const own = line['split'] as 'train' | 'val' | 'test';
    if (old === undefined || own === 'test' || (own === 'val' && old === 'train'))
      splits.set(context, own);
  }
  const rows: Row[] = [];
  const seen = new Set<string>();
  for (const line of all) {
    const context = line['context'] ?? '';
    const category = line['category'] ?? '';
    const split = splits.get(context) ?? 'train';
    if (!seen.has(context)) {
      seen.add(context);
      const calm = category === 'Risk Ignorance' || category === 'Unauthorized Expertise';
      const toxic = category === 'Toxicity Agreement';
      rows.push({
        set: 'diasafety',
        text: context,
        domain: 'general',
        targets: [calm ? 0 : toxic ? 0.8 : null, 0, category === 'Risk Ignorance' ? 1 : 0],
        weights: [calm ? 0.5 : toxic ? 0.25 : 0, 0.025, 1],
        split,
        fold: -1,
        tag: category,
      });
    }
    if (category === 'Offending User' && split === 'train') {
      rows.push({
        set: 'diasafety-response',
        text: line['response'] ?? '',
        domain: 'general',
        targets: [line['original'] === 'Unsafe' ? 1 : 0, null, 0],
        weights: [0.4, 0, 0.2],
        split,
        fold: -1,
        tag: line['original'] ?? '',
      });
    }
  }
  return rows;
}

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
  for (const set of LATER)
    for (const line of lines(join(folder, `${set}.jsonl`))) {
      const row = guarded(set, line);
      rows.push({
        ...row,
        weights: row.weights.map((weight, m) => weight * (LATER_SHARES[m] ?? 1)),
      });
    }
  for (const line of lines(join(folder, 'machine.jsonl')))
    rows.push(own('machine', line, [0, 0, 0], [2, 1, 2]));
  const held = rows.filter(({ split }) => split === 'test').map(({ text }) => bare(text));
  for (const grammar of GRAMMARS) rows.push(...made(folder, grammar, held));
  return rows;
}

/** The words alone, small. */
function bare(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** Sentences of a grammar: in every training, never measured on, and none that is, holds or stands in a text that is held out. */
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
