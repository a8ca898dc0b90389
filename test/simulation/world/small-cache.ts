// What the product gets in place of lru-cache: the same cache with room for few entries, so that a short run evicts
// some, as a long one would.

import { LRUCache as Real } from 'lru-cache';

const MOST = 16;

export class LRUCache<K extends object | string | number, V extends object> extends Real<K, V> {
  constructor(options: Real.Options<K, V, unknown>) {
    super(options.max === undefined ? options : { ...options, max: Math.min(options.max, MOST) });
  }
}
