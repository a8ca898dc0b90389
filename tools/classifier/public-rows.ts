// The public sets of a folder that is given as argument, and how they are split: catalogs/classify/MODEL-CARD.md.
import { existsSync, readFileSync } from 'node:fs';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { digest, draw, lines } from './corpus.ts';
import type { Row } from './corpus.ts';

/** True when the public sets are there. */
export function hasPublicSets(folder: string): boolean {
  return existsSync(join(folder, 'surge.jsonl.gz'));
}

/** What is wrong with the public sets of a folder, by public-sets.json; null when each is there with its bytes. */
export function publicSetsFault(folder: string): string | null {
  const sets = JSON.parse(
    readFileSync(new URL('public-sets.json', import.meta.url), 'utf8'),
  ) as readonly { readonly file: string; readonly sha256: string }[];
  for (const { file, sha256 } of sets) {
    const path = join(folder, file);
    if (!existsSync(path)) return `${path} is missing`;
    const found = hash('sha256', readFileSync(path));
    if (found !== sha256) return `${path} has SHA-256 ${found}, public-sets.json says ${sha256}`;
  }
  return null;
}

/** All public sets of the folder, and texts of them again under labels of our own, in second-labels.txt of the other folder. */
export function publicRows(folder: string, ownSets: string): Row[] {
  const labels = readSecondLabels(join(ownSets, 'second-labels.txt'));
  const again = secondRows(folder, labels);
  const rows = [
    ...davidson(join(folder, 'davidson.jsonl.gz')),
    ...diaSafety(join(folder, 'diasafety.jsonl.gz')),
  ].map((row) => (labels.has(digest(row.text)) ? withoutViolation(row) : row));
  return [
    ...hateCheck(join(folder, 'hatecheck-a.jsonl.gz')),
    ...surge(join(folder, 'surge.jsonl.gz')),
    ...rows,
    ...madlibs(join(folder, 'madlibs.jsonl.gz')),
    ...again,
  ];
}

/** What a second label says: V violation, C crisis, S neither. */
type SecondLabel = 'V' | 'C' | 'S';

/** A line each: the digest of a text, a space, its label. */
function readSecondLabels(file: string): Map<string, SecondLabel> {
  const all = readFileSync(file, 'utf8').trim().split('\n');
  return new Map(all.map((line) => line.split(' ') as [string, SecondLabel]));
}

/** Posts, contexts and answers by what each says by itself; never one that a test or validation split holds. */
function secondRows(folder: string, labels: ReadonlyMap<string, SecondLabel>): Row[] {
  const dialogue = lines(join(folder, 'diasafety.jsonl.gz'));
  const held = new Set(
    dialogue
      .filter(({ split }) => split !== 'train')
      .flatMap(({ context = '', response = '' }) => [context, response]),
  );
  const rows = new Map<string, Row>();
  const add = (set: string, text: string, [violation, crisis]: readonly [number, number]): void => {
    const label = labels.get(digest(text));
    if (label === undefined || rows.has(text) || held.has(text)) return;
    rows.set(text, {
      set,
      text,
      domain: 'general',
      targets: [label === 'V' ? 1 : 0, label === 'V' ? null : 0, label === 'C' ? 1 : 0],
      weights: [violation, 0.1, crisis],
      split: 'train',
      fold: draw(`second ${text}`) % 5,
      tag: label,
    });
  };
  const turns = (side: 'context' | 'response'): string[] =>
    dialogue.map((line) => line[side] ?? '');
  // For crisis a context teaches what its category says, once.
  for (const text of turns('context')) add('turns-again', text, [4, 0]);
  for (const text of turns('response')) add('turns-again', text, [4, 0.3]);
  // Those who labelled tweets agreed less.
  for (const { text = '' } of lines(join(folder, 'davidson.jsonl.gz')))
    add('tweets-again', text, [2, 0.3]);
  return [...rows.values()];
}

const withoutViolation = (row: Row): Row => ({ ...row, weights: [0, ...row.weights.slice(1)] });

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

/** Contexts once each, with the sternest split that has them; responses that offend the user teach violation a little. */
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
