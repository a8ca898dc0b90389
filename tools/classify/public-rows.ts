// The public sets of a folder that is given as argument, and how they are split: catalogs/classify/MODEL-CARD.md.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { draw, lines } from './corpus.ts';
import type { Row } from './corpus.ts';

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
