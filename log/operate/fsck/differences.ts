// What fsck finds: each difference with its place, counted without end and listed up to a limit.

/** Which part of a data folder a difference is in. */
export type Part =
  | 'entry'
  | 'rule'
  | 'tile'
  | 'head'
  | 'chain row'
  | 'finding row'
  | 'core row'
  | 'plugin row'
  | 'note'
  | 'state'
  | 'checkpoint file'
  | 'unknown row';

/** Something that is not what the entries say. */
export interface Difference {
  readonly part: Part;
  /** For example `entry 812`, `tile 0/3`, `head of ["session", …]`. */
  readonly where: string;
  readonly detail: string;
}

/** Listed in full up to this many; a database with more is restored, not read through. */
const LISTED = 1000;

/** Collects differences. */
export class Differences {
  readonly listed: Difference[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(part: Part, where: string, detail: string): void {
    this.#count += 1;
    if (this.listed.length < LISTED) this.listed.push({ part, where, detail });
  }
}
