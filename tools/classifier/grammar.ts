// Training sentences made from grammars (tools/classifier/data/*-grammar*.json): every decision against every protected reason,
// every group with every claim, and the same words in lawful company. Never tested on.
import { readFileSync } from 'node:fs';
import { generator } from './learn.ts';

interface Grammar {
  readonly VIOLATION: readonly string[];
  readonly SAFE: readonly string[];
  readonly slots: Readonly<Record<string, readonly string[]>>;
}

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

/** Capital first, a full stop where none stands. */
function sentence(text: string): string {
  const whole = text.replaceAll(
    /(^|[.?!] )([a-z])/g,
    (_match, before: string, letter: string) => before + letter.toUpperCase(),
  );
  return /[.?!]$/.test(whole) ? whole : `${whole}.`;
}
