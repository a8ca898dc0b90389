// A growing tree as the mirror of a log, for tests of publishers and exports.

import type { Mirror } from '../../log/operate/mirror.ts';
import { GrowingTree } from './growing-tree.ts';

export const TREE_ORIGIN = 'log.example/log/live/1';

/** A tree as a mirror. */
export class TreeMirror implements Mirror {
  readonly name = 'the mirror';
  readonly tree: GrowingTree;
  readonly #words: string[];
  /** Bundles from this number on fail, in any order of requests. */
  left = Infinity;

  constructor(tree: GrowingTree, words: string[]) {
    this.tree = tree;
    this.#words = words;
  }

  async checkpoint(): Promise<string> {
    return this.tree.note();
  }

  async tile(level: number, n: number, width: number): Promise<Uint8Array> {
    return this.tree.tile(level, n, width);
  }

  async bundle(n: number, width: number): Promise<readonly Uint8Array[]> {
    if (n >= this.left) throw new Error('broken off');
    return Array.from({ length: width }, (_, i) => {
      const index = n * 256 + i;
      return Buffer.from(`${this.#words[index]!} ${String(index)}`);
    });
  }
}

/** A growing tree and its mirror. */
export function grown(...parts: [count: number, word: string][]): TreeMirror {
  const tree = new GrowingTree(TREE_ORIGIN, 51);
  const words: string[] = [];
  for (const [count, word] of parts) {
    tree.grow(count, word);
    words.push(...new Array<string>(count).fill(word));
  }
  return new TreeMirror(tree, words);
}
