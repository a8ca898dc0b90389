// A labelled text, and the files that hold them. The sets are those of public-rows.ts and own-rows.ts.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

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

/** A line of the file of a set. */
export type Line = Readonly<Record<string, string>>;

/** A number from 0 to 255 that depends on the text alone. */
export function draw(key: string): number {
  return createHash('sha256').update(key).digest()[0] ?? 0;
}

/** The name of a text that may not be shown: the first 16 hex digits of its SHA-256. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The lines of a JSONL file, plain or gzipped. */
export function lines(file: string): Line[] {
  const bytes = readFileSync(file);
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** The words alone, small: two texts with the same ones are one text. */
export function bare(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
