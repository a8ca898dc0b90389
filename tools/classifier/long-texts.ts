// Long texts by many hands: the READMEs of the packages that this project is built with, as they are and with one breach inside.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { LONGEST_TEXT_BYTES } from '../../plugins/classify/engine/index.ts';
import type { Engine } from '../../plugins/classify/engine/index.ts';

/** What texts of about so many words show. */
export interface LongFigures {
  readonly words: number;
  readonly texts: number;
  /** Called anything but SAFE, though all are lawful. */
  readonly alarms: number;
  /** The others with a breach among their sentences, and how many of these are not called SAFE. */
  readonly inserted: number;
  readonly found: number;
}

const SIZES = [100, 300, 1000] as const;
/** Texts of each size, taken evenly from all. */
const MOST = 250;

/** The READMEs below a `node_modules`, in the order of their paths, each once. */
export function readmes(folder: string): string[] {
  const packages = readdirSync(folder).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(folder, name)).map((own) => join(name, own)) : [name],
  );
  const files = packages.sort().flatMap((name) => {
    try {
      return readdirSync(join(folder, name))
        .filter((file) => /^readme\.md$/i.test(file))
        .map((file) => join(folder, name, file));
    } catch {
      return []; // a file such as .package-lock.json
    }
  });
  return [...new Set(files.map((file) => readFileSync(file, 'utf8')))];
}

/** Cuts texts into pieces of whole sentences with at least so many words; what is left of each is dropped. */
export function piecesOf(texts: readonly string[], words: number): string[] {
  const pieces: string[] = [];
  for (const text of texts) {
    let sentences: string[] = [];
    let count = 0;
    for (const sentence of sentencesOf(text)) {
      sentences.push(sentence);
      count += sentence.split(/\s+/).length;
      if (count < words) continue;
      const piece = sentences.join(' ');
      if (Buffer.byteLength(piece) <= LONGEST_TEXT_BYTES) pieces.push(piece);
      sentences = [];
      count = 0;
    }
  }
  return pieces;
}

const sentencesOf = (text: string): string[] => text.split(/(?<=[.!?\n])\s+/);

/** How the engine reads long texts of no trade; the breaches are sentences that it finds when they are alone. */
export function longFigures(
  engine: Engine,
  texts: readonly string[],
  breaches: readonly string[],
): LongFigures[] {
  const alarms = (text: string): boolean =>
    engine.classify(text, 'general').classification !== 'SAFE';
  return SIZES.map((words) => {
    const all = piecesOf(texts, words);
    const step = Math.max(1, Math.ceil(all.length / MOST));
    const pieces = all.filter((_piece, k) => k % step === 0);
    const lawful = pieces.filter((piece) => !alarms(piece));
    const found = lawful.filter((piece, k) => {
      const sentences = sentencesOf(piece);
      const at = Math.floor((sentences.length * (k % 10)) / 10);
      return alarms(sentences.toSpliced(at, 0, breaches[k % breaches.length] ?? '').join(' '));
    });
    return {
      ...{ words, texts: pieces.length, alarms: pieces.length - lawful.length },
      ...{ inserted: lawful.length, found: found.length },
    };
  });
}
